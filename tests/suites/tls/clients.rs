//! Clients that show certificates, and those that show none.

use referee_tests::authority::{Authority, expired};
use tokio::time::timeout;

use super::{Encrypted, PATIENCE, ask, files};

#[tokio::test]
async fn a_client_without_a_good_certificate_is_not_served_where_one_is_required() {
    let clients = Authority::new("the authority of clients");
    let encrypted = Encrypted::start_with(&[], Some(&clients.pem));
    let good = clients.client("club");
    let channel = encrypted.try_connect(Some(&good)).await;
    ask(channel.expect("a connection")).await.expect("served");
    let old = clients.issue(expired);
    let other = Authority::new("another authority").client("club");
    let of_server = encrypted.authority.client("club");
    for (client, what) in [
        (None, "none"),
        (Some(&old), "one that has expired"),
        (Some(&other), "one of another authority"),
        (Some(&of_server), "one of the server's authority"),
    ] {
        let refused = match encrypted.try_connect(client).await {
            Ok(channel) => ask(channel).await.map_err(|status| status.to_string()),
            Err(error) => Err(error.to_string()),
        };
        assert!(refused.is_err(), "{what}");
    }
    let channel = encrypted.try_connect(Some(&good)).await;
    ask(channel.expect("a connection")).await.expect("served");
}

#[tokio::test]
async fn a_client_without_one_is_served_where_it_is_optional_but_not_with_a_wrong_one() {
    let clients = Authority::new("the authority of clients");
    let options = ["--tls-client-auth", "optional"];
    let encrypted = Encrypted::start_with(&options, Some(&clients.pem));
    ask(encrypted.connect().await).await.expect("it is served");
    let good = clients.client("club");
    let channel = encrypted.try_connect(Some(&good)).await;
    ask(channel.expect("a connection")).await.expect("served");
    let other = Authority::new("another authority").client("club");
    let refused = match encrypted.try_connect(Some(&other)).await {
        Ok(channel) => ask(channel).await.map_err(|status| status.to_string()),
        Err(error) => Err(error.to_string()),
    };
    assert!(refused.is_err(), "one of another authority");
}

/// An authority that is taken away takes along the connections of those whom it stood for, and
/// leaves the others alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_that_is_taken_away_ends_the_connections_of_its_clients() {
    let (leaving, staying) = (Authority::new("leaving"), Authority::new("staying"));
    let both = format!("{}{}", leaving.pem, staying.pem);
    let mut encrypted = Encrypted::start_with(&[], Some(&both));
    let of_leaving = encrypted.try_connect(Some(&leaving.client("a"))).await;
    let of_leaving = of_leaving.expect("a connection");
    let of_staying = encrypted.try_connect(Some(&staying.client("b"))).await;
    let of_staying = of_staying.expect("a connection");
    ask(of_leaving.clone()).await.expect("it is served");
    ask(of_staying.clone()).await.expect("it is served");
    let issued = encrypted.issued.clone();
    encrypted.mounted.put(&files(&issued, &staying.pem));
    encrypted
        .until_logged("its client's certificate is good no more", 1)
        .await;
    // It connects again, and is not served.
    let refused = timeout(PATIENCE, async {
        while ask(of_leaving.clone()).await.is_ok() {}
    });
    refused.await.expect("its authority is gone");
    ask(of_staying).await.expect("it goes on");
}

/// A certificate that expires ends its connection.
#[tokio::test]
async fn a_connection_ends_with_the_certificate_of_its_client() {
    let clients = Authority::new("the authority of clients");
    let encrypted = Encrypted::start_with(&[], Some(&clients.pem));
    let short = clients.issue(|params| {
        params.not_after = time::OffsetDateTime::now_utc() + time::Duration::seconds(4);
    });
    let channel = encrypted.try_connect(Some(&short)).await;
    let channel = channel.expect("a connection");
    ask(channel.clone()).await.expect("it is good");
    encrypted
        .until_logged("its client's certificate is good no more", 1)
        .await;
    ask(channel).await.expect_err("it has expired");
}
