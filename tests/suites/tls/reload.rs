//! Files of certificates that are replaced while the server runs.

use std::fs;
use std::time::Duration;

use referee_tests::authority::{Authority, Issued, expired, for_this_machine};
use referee_tests::process::signal;
use tokio::time::{Instant, sleep};

use super::{Encrypted, PATIENCE, ask, connect, files};

/// What the log says of files that are in force, and of those that are not.
const READ: &str = "the files of TLS were read again";
const KEPT: &str = "what was read before stays in force";

impl Encrypted {
    fn put(&mut self, issued: &Issued) {
        self.mounted.put(&files(issued, ""));
    }

    async fn is_served_by(&self, authority: &Authority) -> bool {
        match connect(&self.referee, authority, None).await {
            Ok(channel) => ask(channel).await.is_ok(),
            Err(_) => false,
        }
    }
}

/// Kubernetes replaces a secret by one symbolic link. No call fails meanwhile: connections that are
/// there go on, and new ones get the new certificate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_replaced_under_load() {
    let mut encrypted = Encrypted::start();
    let kept = encrypted.connect().await;
    let asking = kept.clone();
    let stop = tokio_util::sync::CancellationToken::new();
    let stopped = stop.clone();
    let load = tokio::spawn(async move {
        let mut calls = 0;
        while !stopped.is_cancelled() {
            ask(asking.clone()).await.expect("no call fails");
            calls += 1;
        }
        calls
    });
    let next = Authority::new("the next authority");
    assert!(!encrypted.is_served_by(&next).await, "it is not there yet");
    // Nobody asks for it: the server looks by itself.
    let issued = next.server();
    encrypted.put(&issued);
    let end = Instant::now() + PATIENCE;
    while !encrypted.is_served_by(&next).await {
        assert!(Instant::now() < end, "{}", encrypted.referee.log());
        sleep(Duration::from_millis(50)).await;
    }
    encrypted.until_logged(READ, 1).await;
    let refused = encrypted.try_connect(None).await;
    assert!(refused.is_err(), "the old certificate is shown no more");
    stop.cancel();
    let calls = load.await.expect("no call fails");
    assert!(calls > 100, "only {calls} calls");
    ask(kept).await.expect("a kept connection goes on");
}

/// What does not fit leaves what was there before in force, says so once, and is no lasting damage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_do_not_fit_change_nothing() {
    let mut encrypted = Encrypted::start();
    let next = Authority::new("the next authority");
    let (good, other) = (next.server(), next.server());
    let old = next.issue(|params| {
        for_this_machine(params);
        expired(params);
    });
    let mismatched = Issued {
        certificate: good.certificate.clone(),
        key: other.key,
    };
    let no_key = Issued {
        certificate: good.certificate.clone(),
        key: "no key".to_owned(),
    };
    let mut times = 0;
    for (wrong, says) in [
        (&mismatched, "not the key of the certificate"),
        (&old, "expired"),
        (&no_key, "no private key"),
    ] {
        encrypted.put(wrong);
        signal(encrypted.referee.id(), "HUP");
        times += 1;
        encrypted.until_logged(KEPT, times).await;
        encrypted.until_logged(says, 1).await;
        ask(encrypted.connect().await).await.expect("as before");
        assert!(!encrypted.is_served_by(&next).await, "{says}");
    }
    // A file that is gone.
    let link = encrypted.mounted.path("..data");
    fs::rename(&link, format!("{link}.away")).expect("a link can be moved");
    encrypted.until_logged(KEPT, times + 1).await;
    ask(encrypted.connect().await).await.expect("as before");
    fs::rename(format!("{link}.away"), &link).expect("a link can be moved");
    // What fits is in force by itself.
    encrypted.put(&good);
    encrypted.until_logged(READ, 1).await;
    assert!(encrypted.is_served_by(&next).await);
    // Looks at files that have not changed say nothing more.
    sleep(Duration::from_secs(6)).await;
    let log = encrypted.referee.log();
    assert_eq!(log.matches(READ).count(), 1, "{log}");
    assert!(log.matches(KEPT).count() <= times + 2, "{log}");
}

/// A key that everybody may read is refused, though nothing else is wrong with it.
#[tokio::test]
async fn a_key_that_everybody_may_read_is_not_taken() {
    let encrypted = Encrypted::start();
    let key = encrypted.mounted.path(super::KEY);
    let status = std::process::Command::new("chmod")
        .args(["444", &key])
        .status();
    assert!(status.expect("there is a chmod command").success());
    encrypted
        .until_logged("every user of this machine", 1)
        .await;
    ask(encrypted.connect().await).await.expect("as before");
}

#[tokio::test]
async fn a_certificate_that_expires_soon_is_warned_of() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let authority = Authority::new("the authority of servers");
    let issued = authority.issue(|params| {
        for_this_machine(params);
        params.not_after = time::OffsetDateTime::now_utc() + time::Duration::days(13);
    });
    let mounted =
        referee_tests::authority::Mounted::new(&folder.path().join("tls"), &files(&issued, ""));
    let (certificate, key) = (mounted.path("tls.crt"), mounted.path("tls.key"));
    let options = ["--tls-certificate", &certificate, "--tls-key", &key];
    let referee = referee_tests::process::Referee::start_with(folder.path(), &options);
    let encrypted = Encrypted {
        referee,
        authority,
        issued,
        mounted,
        folder,
    };
    encrypted.until_logged("expires soon", 1).await;
}
