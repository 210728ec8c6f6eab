//! Records of whole games: what the service exports, its own verifier finds sound.

#![expect(clippy::disallowed_types, reason = "a process is waited for")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use referee_api::v1::action::Kind;
use referee_api::v1::{
    AnnounceAdjust, ClockKeeper, ExportGameRequest, GetGameRequest, ImportPgnRequest,
    ListGamesRequest, MakeMove, Position, Seat, StartGame, Variant, position,
};
use referee_tests::process::Referee;
use referee_tests::{lines, root, texts, tool, wire};
use tonic::Code;

use super::record::Record;
use super::{act, export, play_sample, run, start_with_key, timed, verify_text};
use crate::pgn_records::{import_of, text_of};

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long the service is away: so long that it is not charged.
const AWAY: Duration = Duration::from_secs(7);

/// Exports games into files and verifies them all.
fn verify_all(referee: &Referee, folder: &Path, ids: &[String]) {
    let mut files = Vec::new();
    for id in ids {
        let file = folder.join(format!("{id}.record"));
        std::fs::write(&file, export(referee, id)).expect("the folder can be written to");
        files.push(file.to_str().expect("a plain name").to_owned());
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let said = run(&[&["verify"], files.as_slice()].concat(), b"");
    said.expect(0, "entries verified");
    let verified = said
        .out
        .lines()
        .filter(|line| line.contains("entries verified"));
    assert_eq!(verified.count(), ids.len(), "{}", said.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn well_known_games_are_sound() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    let mut games = referee.games().await;
    let mut ids = Vec::new();
    for (number, line) in lines("games/masters.jsonl").iter().enumerate() {
        let id = format!("master-{number}");
        let game = timed("fide_standard", "40/7200:3600+30");
        let created = games.create_game(wire::create(&id, game)).await;
        created.expect("the game is created");
        for (ply, text) in texts(&line["moves"]).iter().enumerate() {
            let kind = wire::make_move(text);
            let answer = act(&mut games, &id, wire::on_move(ply), kind, 977).await;
            assert!(answer.event.is_some(), "{id}: {text}");
        }
        ids.push(id);
    }
    assert!(ids.len() > 5, "only {} games were played", ids.len());
    verify_all(&referee, folder.path(), &ids);
}

/// The conformance cases hold every kind of action and ruling that the contract has.
#[tokio::test(flavor = "multi_thread")]
async fn the_games_of_the_conformance_cases_are_sound() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    let cases = ["laws", "own_laws", "arbiters"].map(|name| {
        let path = root().join(format!("tests/data/cases/{name}.jsonl"));
        path.to_str().expect("a plain name").to_owned()
    });
    let [laws, own, arbiters] = cases.each_ref().map(String::as_str);
    let target = format!("http://{}", referee.address());
    run(&["conform", laws, own, arbiters, "--target", &target], b"").expect(0, " 0 failed");
    let mut games = referee.games().await;
    let mut request = ListGamesRequest::default();
    let mut ids = Vec::new();
    loop {
        let page = games.list_games(request.clone()).await;
        let page = page.expect("games can be listed").into_inner();
        let found = page.games.into_iter();
        ids.extend(found.filter_map(|game| Some(game.name.strip_prefix("games/")?.to_owned())));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert!(ids.len() > 450, "only {} games were played", ids.len());
    verify_all(&referee, folder.path(), &ids);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_grpcurl_prints_is_a_record_file() {
    let Some(grpcurl) = tool("REFEREE_GRPCURL", "grpcurl") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    play_sample(&mut referee.games().await, "sample").await;
    let output = Command::new(grpcurl)
        .args(["-plaintext", "-d", r#"{"name": "games/sample"}"#])
        .arg(referee.address().to_string())
        .arg("referee.v1.GameService/ExportGame")
        .output()
        .expect("grpcurl was found before");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let key = referee_record::RecordKey::read(super::SECRET).expect("a key");
    let said = verify_text(&output.stdout, &["--public-key", &key.public_key()]);
    said.expect(0, "-: 9 entries verified");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_without_a_key_is_not_signed_and_may_be_empty() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    let created = games
        .create_game(wire::create("empty", Default::default()))
        .await;
    created.expect("the game is created");
    verify_text(export(&referee, "empty").as_bytes(), &[]).expect(0, "-: 0 entries verified");
    verify_text(export(&referee, "empty").as_bytes(), &[]).expect(0, "note: not signed");

    let output = folder.path().join("empty.record");
    let output = output.to_str().expect("a plain name");
    let server = format!("http://{}", referee.address());
    let arguments = [
        "export",
        "games/empty",
        "--server",
        &server,
        "--output",
        output,
    ];
    run(&arguments, b"").expect(0, "");
    run(&["verify", output], b"").expect(0, "0 entries verified");
    run(&arguments, b"").expect(2, "--output");

    let none = run(&["export", "games/none", "--server", &server], b"");
    none.expect(2, "NotFound");
    let wrong = games
        .export_game(ExportGameRequest {
            name: "none".into(),
        })
        .await;
    let wrong = wrong.expect_err("this is no name");
    assert_eq!(wrong.code(), Code::InvalidArgument);
    assert_eq!(wire::details(&wrong).fields, ["name"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_many_pages_is_whole() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let created = games
        .create_game(wire::create("long", Default::default()))
        .await;
    created.expect("the game is created");
    let knights = ["g1f3", "g8f6", "f3g1", "f6g8"];
    let pawns = [
        "a2a3", "a7a6", "b2b3", "b7b6", "c2c3", "c7c6", "d2d3", "d7d6",
    ];
    // A position stands three times at most before two pawns begin anew.
    let rounds = pawns
        .chunks(2)
        .flat_map(|pawns| [&knights[..], &knights, pawns].concat());
    let mut count = 0;
    for (ply, text) in rounds.enumerate() {
        let seat = wire::on_move(ply);
        let adjust = || Kind::AnnounceAdjust(AnnounceAdjust {});
        let words = (0..8).map(|_| wire::submit("long", seat, adjust()));
        for request in words.chain([wire::submit("long", seat, wire::make_move(text))]) {
            let answer = games.submit_action(request).await;
            let answer = answer.expect("the action is judged").into_inner();
            assert!(answer.event.is_some(), "{ply}: {text}: {answer:?}");
            count += 1;
        }
    }
    assert_eq!(count, 360, "more than a page of the store");
    let mut record = Record::read(&export(&referee, "long"));
    let said = verify_text(&record.text(), &[]);
    said.expect(0, &format!("-: {count} entries verified"));

    // Three problems with each entry are too many in the end, and not all are named.
    for sequence in 1..=count {
        record.change(sequence, |event| event.repetitions += 1);
    }
    let said = verify_text(&record.text(), &[]);
    said.expect(1, "further problems");
    assert!(said.out.lines().count() < 110, "{}", said.out);
    let problems = said.last_line().split(' ').nth(1).expect("a number");
    let problems: usize = problems.parse().expect("a number");
    assert!((1_001..3 * count).contains(&problems), "{problems}");
}

#[tokio::test(flavor = "multi_thread")]
async fn castling_promotion_and_illegal_moves_that_stand_are_sound() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    let mut games = referee.games().await;
    let castling = "r3k2r/P6p/8/8/8/8/7P/R3K2R w KQkq - 0 1";
    let shuffled = "1r2k1r1/P5pp/8/8/8/8/6PP/1R2K1R1 w KQkq - 0 1";
    let cases: [(&str, &str, Variant, &[&str]); 3] = [
        (
            "standard",
            castling,
            Variant::Standard,
            &["e1g1", "e8c8", "a7a8q", "c8d7"],
        ),
        (
            "chess960",
            shuffled,
            Variant::Chess960,
            &["e1g1", "e8b8", "a7a8n", "g8f8"],
        ),
        // All but the first are illegal, and nobody notices.
        (
            "undetected",
            castling,
            Variant::Standard,
            &["e1g1", "e8e6", "f1b5", "h7h4"],
        ),
    ];
    let mut ids = Vec::new();
    for (id, fen, variant, moves) in cases {
        let mut game = timed("fide_standard", "600");
        game.initial_position = Some(Position {
            variant: variant.into(),
            ..wire::from_fen(fen)
        });
        let base = game
            .initial_position
            .as_ref()
            .and_then(|base| base.base.clone());
        assert!(matches!(base, Some(position::Base::Fen(_))));
        let created = games.create_game(wire::create(id, game)).await;
        created.expect("the game is created");
        for (ply, text) in moves.iter().enumerate() {
            let kind = Kind::MakeMove(MakeMove {
                r#move: (*text).to_owned(),
                undetected: id == "undetected",
                ..MakeMove::default()
            });
            let answer = act(&mut games, id, wire::on_move(ply), kind, 60_000).await;
            let has_moved = answer
                .event
                .as_ref()
                .is_some_and(|event| event.r#move.is_some());
            assert!(has_moved, "{id}: {text}: {answer:?}");
        }
        let arbiter = act(&mut games, id, Seat::White, wire::resign(), 5).await;
        assert!(arbiter.event.is_some(), "{id}: {arbiter:?}");
        ids.push(id.to_owned());
    }
    verify_all(&referee, folder.path(), &ids);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_referee_found_by_itself_is_sound() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    let mut games = referee.games().await;
    // In the first game the flag falls by itself; in the second the service is away for a while.
    for (id, pgn) in [("flag", "1"), ("down", "600+2")] {
        let mut game = timed("lichess", pgn);
        let settings = game.clock_settings.get_or_insert_default();
        settings.keeper = ClockKeeper::Referee.into();
        let created = games.create_game(wire::create(id, game)).await;
        created.expect("the game is created");
        for (seat, kind) in [
            (Seat::Arbiter, Kind::StartGame(StartGame {})),
            (Seat::White, wire::make_move("e4")),
            (Seat::Black, wire::make_move("e5")),
        ] {
            let answer = games.submit_action(wire::submit(id, seat, kind)).await;
            answer.expect("the action is judged");
        }
    }
    wait_for_entry(&referee, "flag", 4).await;
    let flag = Record::read(&export(&referee, "flag")).event(4);
    let found = flag.action.and_then(|action| action.kind);
    assert!(matches!(found, Some(Kind::RefereeFinding(_))), "{found:?}");
    referee.kill();
    tokio::time::sleep(AWAY).await;
    let referee = start_with_key(folder.path());
    let resign = wire::submit("down", Seat::White, wire::resign());
    let resigned = referee.games().await.submit_action(resign).await;
    assert_eq!(
        resigned.expect("the action is judged").get_ref().sequence,
        5
    );
    verify_all(&referee, folder.path(), &["flag".into(), "down".into()]);
}

/// Waits until a game has so many entries.
async fn wait_for_entry(referee: &Referee, id: &str, sequence: i64) {
    let end = Instant::now() + PATIENCE;
    let mut games = referee.games().await;
    loop {
        let name = format!("games/{id}");
        let game = games.get_game(GetGameRequest { name }).await;
        let game = game.expect("the game is there").into_inner().game;
        if game.is_some_and(|game| game.sequence >= sequence) {
            return;
        }
        assert!(Instant::now() < end, "{id} has no entry {sequence}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A game that came in as text, with clocks that no time explains, has a record like any other.
#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_an_imported_game_is_sound() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let request = ImportPgnRequest {
        pgn: "[TimeControl \"180+2\"]\n\n1. e4 {[%clk 0:03:01]} 1... e5 {[%clk 0:02:58]} \
              2. Qh5 {[%clk 0:03:09]} 2... Ke7 {[%clk 0:02:50]} 3. Nf3 {[%clk 0:03:05]} 0-1\n"
            .into(),
        game_id: "imported".into(),
        request_id: wire::fresh_id(),
        ..ImportPgnRequest::default()
    };
    games.import_pgn(request).await.expect("imported");
    // Five moves, one clock that the text sets forward, and the result.
    let record = export(&referee, "imported");
    verify_text(record.as_bytes(), &[]).expect(0, "-: 7 entries verified");
}

/// Whatever a text says of clocks and ends, what is made of it can be proved.
#[tokio::test(flavor = "multi_thread")]
async fn the_records_of_imports_of_all_kinds_are_sound() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let mut ids = Vec::new();
    for record in lines("pgn/records.jsonl") {
        let id = record["id"].as_str().expect("a name").to_lowercase();
        let request = import_of(&record, &id, &text_of(&record));
        games.import_pgn(request).await.expect("imported");
        ids.push(id);
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    verify_all(&referee, folder.path(), &ids);
}
