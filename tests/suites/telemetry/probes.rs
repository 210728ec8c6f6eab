//! The admin listener: probes, what is asked wrongly, and those who keep it busy.

use std::fs;
use std::net::TcpStream;

use referee_tests::operator::{ask, get, scrape};

use super::{create, folder, play, soon, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_turns_with_the_store_and_the_process_is_alive() {
    let folder = folder();
    let referee = start(&folder, &[]);
    let admin = referee.admin();
    let mut games = referee.games().await;
    create(&mut games, "ready").await;
    soon("it is ready", || get(admin, "/ready").status == 200).await;
    let (store, away) = (folder.path().join("referee.db"), folder.path().join("away"));
    fs::rename(&store, &away).expect("it is moved");
    soon("readiness turns", || get(admin, "/ready").status == 503).await;
    let answer = get(admin, "/ready");
    assert!(answer.body.len() > 10, "it says why: {answer:?}");
    assert_eq!(get(admin, "/live").status, 200);
    assert_eq!(scrape(admin).value("referee_ready", &[]), 0.0);
    fs::rename(&away, &store).expect("it is moved back");
    soon("readiness comes back", || {
        get(admin, "/ready").status == 200
    })
    .await;
    assert_eq!(scrape(admin).value("referee_ready", &[]), 1.0);
    play(&mut games, "ready", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_wrongly_is_told_so() {
    let folder = folder();
    let referee = start(&folder, &[]);
    let admin = referee.admin();
    for (method, path, status, words) in [
        ("GET", "/", 404, "/metrics"),
        ("GET", "/metrics/", 404, "/metrics"),
        ("POST", "/metrics", 405, "use GET"),
        ("PUT", "/ready", 405, "use GET"),
        ("DELETE", "/log-level", 405, "use GET, HEAD, PUT"),
        ("HEAD", "/live", 200, ""),
    ] {
        let answer = ask(admin, method, path, "", "");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(answer.body.contains(words), "{method} {path}: {answer:?}");
    }
    let scale = get(admin, "/scale");
    assert_eq!(scale.body.trim(), "{\"perft_wanted_threads\":0}");
    assert_eq!(get(admin, "/log-level").body.trim(), "info");
    for (filter, status, words) in [
        ("info,=", 400, "is no filter"),
        ("referee_server=loud", 400, "is no filter"),
        ("", 400, "is empty"),
        (&"x".repeat(1_025), 413, "1024 bytes"),
    ] {
        let answer = ask(admin, "PUT", "/log-level", "", filter);
        assert_eq!(answer.status, status, "{filter}: {answer:?}");
        assert!(answer.body.contains(words), "{filter}: {answer:?}");
        assert_eq!(get(admin, "/log-level").body.trim(), "info", "it stays");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_stop_no_probe() {
    let folder = folder();
    let referee = start(&folder, &[]);
    let admin = referee.admin();
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(admin).expect("it listens"));
        if silent.len() % 50 == 0 {
            assert_eq!(get(admin, "/live").status, 200);
            assert_eq!(get(admin, "/ready").status, 200);
        }
    }
}
