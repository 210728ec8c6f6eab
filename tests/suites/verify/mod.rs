//! Exported records: what `referee verify` says of sound ones, of those that were tampered with,
//! and of files that are no records.

mod files;
mod games;
mod private;
mod record;
mod tampering;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use referee_api::v1::action::Kind;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::{
    Action, ClaimKind, ClockKeeper, ClockSettings, Game, PlatformTime, RuleProfile, Seat,
    SubmitActionRequest, SubmitActionResponse, TimeControl, platform_time,
};
use referee_tests::authority::write_secret;
use referee_tests::process::{Referee, binary};
use referee_tests::wire;
use tonic::transport::Channel;

use record::Record;

type Games = GameServiceClient<Channel>;

/// The secret of a key: 32 bytes in hexadecimal digits, made up for these tests.
const SECRET: &str = "5b8f0e3c9a71d24e6f15b0c7a3d8e94210fe6b7c5d3a29184756a0b1c2d3e4f5";

/// What a run of the program said.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    /// Asserts an exit code, and that some text was said.
    fn expect(&self, code: i32, text: &str) {
        let Said { out, err, .. } = self;
        assert!(
            self.code == Some(code) && (out.contains(text) || err.contains(text)),
            "not {code} with {text:?}, but {:?}:\n{out}{err}",
            self.code
        );
    }

    fn last_line(&self) -> &str {
        self.out.lines().last().unwrap_or_default()
    }
}

/// Runs the program with something on its standard input.
fn run(arguments: &[&str], input: &[u8]) -> Said {
    let mut child = Command::new(binary())
        .args(arguments)
        .env_remove("REFEREE_SIGNING_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut stdin = child.stdin.take().expect("the input was piped");
    let input = input.to_vec();
    // The program may have seen enough before the end of its input.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("a write does not panic");
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Verifies a text from the standard input.
fn verify_text(text: &[u8], options: &[&str]) -> Said {
    run(&[&["verify", "-"], options].concat(), text)
}

/// A referee with a key in a folder of its own.
fn start_with_key(folder: &Path) -> Referee {
    let key = folder.join("key");
    write_secret(&key, SECRET);
    let key = key.to_str().expect("the folder has a plain name");
    Referee::start_with(folder, &["--signing-key", key])
}

/// Exports a game with the program's own client.
fn export(referee: &Referee, id: &str) -> String {
    let server = format!("http://{}", referee.address());
    let said = run(
        &["export", &format!("games/{id}"), "--server", &server],
        b"",
    );
    said.expect(0, "seal");
    said.out
}

/// A game of which the platform keeps the time.
fn timed(profile: &str, pgn: &str) -> Game {
    let time_control = Some(TimeControl {
        pgn: pgn.to_owned(),
        ..TimeControl::default()
    });
    Game {
        rule_profile: Some(RuleProfile {
            name: profile.to_owned(),
            ..RuleProfile::default()
        }),
        clock_settings: Some(ClockSettings {
            keeper: ClockKeeper::Platform.into(),
            time_control,
            ..ClockSettings::default()
        }),
        ..Game::default()
    }
}

/// Puts an action to the referee, so many milliseconds after the one before.
async fn act(
    games: &mut Games,
    id: &str,
    seat: Seat,
    kind: Kind,
    elapsed_ms: i64,
) -> SubmitActionResponse {
    let elapsed = prost_types::Duration {
        seconds: elapsed_ms / 1_000,
        nanos: (elapsed_ms % 1_000) as i32 * 1_000_000,
    };
    let time = PlatformTime {
        kind: Some(platform_time::Kind::Elapsed(elapsed)),
    };
    let request = SubmitActionRequest {
        name: format!("games/{id}"),
        action: Some(Action {
            platform_time: Some(time),
            ..wire::action(seat, kind)
        }),
    };
    let judged = games.submit_action(request).await;
    judged.expect("the action is judged").into_inner()
}

/// A game with clocks, an illegal move that is penalized, an offer, and a claim that ends it: nine
/// entries.
async fn play_sample(games: &mut Games, id: &str) {
    let created = games
        .create_game(wire::create(id, timed("fide_standard", "300+5")))
        .await;
    created.expect("the game is created");
    for (ply, text) in ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6"]
        .iter()
        .enumerate()
    {
        if ply == 2 {
            // Noted as an offence: Black gets two minutes.
            let answer = act(games, id, Seat::White, wire::make_move("a1a5"), 4_000).await;
            assert!(
                answer.event.is_some(),
                "an illegal move is recorded: {answer:?}"
            );
        }
        let kind = if ply == 3 {
            wire::move_and_offer(text)
        } else {
            wire::make_move(text)
        };
        let answer = act(
            games,
            id,
            wire::on_move(ply),
            kind,
            1_500 * (ply as i64 + 1),
        )
        .await;
        assert!(answer.event.is_some(), "{text}: {answer:?}");
    }
    let answer = act(games, id, Seat::White, wire::make_move("f3g1"), 700).await;
    assert_eq!(answer.sequence, 8);
    let claim = wire::claim(ClaimKind::Threefold, Some("f6g8"));
    let answer = act(games, id, Seat::Black, claim, 2_250).await;
    assert_eq!(answer.sequence, 9);
    let outcome = answer.event.and_then(|event| event.outcome);
    let text = outcome.map(|outcome| outcome.text).unwrap_or_default();
    assert!(text.contains("draw"), "the claim ends the game: {text}");
}

/// The record of a sample game, signed.
async fn sample() -> Record {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = start_with_key(folder.path());
    play_sample(&mut referee.games().await, "sample").await;
    Record::read(&export(&referee, "sample"))
}
