//! Clients that show a certificate instead of a token.

use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_tests::authority::{Authority, Issued, write_secret};
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

async fn connect(referee: &Referee, authority: &Authority, client: &Issued) -> Channel {
    let url = format!("https://localhost:{}", referee.address().port());
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&authority.pem))
        .identity(Identity::from_pem(&client.certificate, &client.key));
    let endpoint = Endpoint::from_shared(url).and_then(|endpoint| endpoint.tls_config(tls));
    let channel = endpoint.expect("it is an address").connect().await;
    channel.expect("the certificate is good")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_says_who_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        let path = folder.path().join(name);
        path.to_str().expect("a plain name").to_owned()
    };
    let authority = Authority::new("everybody");
    let server = authority.server();
    write_secret(folder.path().join("key").as_path(), &server.key);
    std::fs::write(path("certificate"), &server.certificate).expect("it is written");
    std::fs::write(path("ca"), &authority.pem).expect("it is written");
    let subjects = "cn:club platform red club\ncn:hall arbiter red hall event=open\n";
    std::fs::write(path("subjects"), subjects).expect("it is written");
    let options = [
        "--tls-certificate",
        &path("certificate"),
        "--tls-key",
        &path("key"),
        "--tls-client-ca",
        &path("ca"),
        "--client-principals",
        &path("subjects"),
    ];
    let referee = Referee::start_with(folder.path(), &options);
    let club = authority.client("club");
    let mut club = GameServiceClient::new(connect(&referee, &authority, &club).await);
    let created = club.create_game(wire::create("board-1", v1::Game::default()));
    created.await.expect("a platform creates games");
    let e4 = wire::submit("board-1", v1::Seat::White, wire::make_move("e4"));
    let answer = club.submit_action(e4).await.expect("it acts");
    let event = answer.into_inner().event.expect("the move stands");
    assert_eq!(event.principal, "club");

    // An arbiter of other games sees nothing, and nobody knows a stranger.
    let get = || v1::GetGameRequest {
        name: "games/board-1".into(),
    };
    let hall = authority.client("hall");
    let mut hall = GameServiceClient::new(connect(&referee, &authority, &hall).await);
    let refused = hall.get_game(get()).await.expect_err("it is not theirs");
    assert_eq!(refused.code(), Code::NotFound);
    let stranger = authority.client("stranger");
    let mut stranger = GameServiceClient::new(connect(&referee, &authority, &stranger).await);
    let refused = stranger.get_game(get()).await.expect_err("nobody knows it");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(details(&refused).reason, "CREDENTIAL_REFUSED");
}
