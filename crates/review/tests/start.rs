//! A game that is read whole is judged as one that is played move by move, also from a position
//! that counts half-moves already.

use referee_chess::{CastlingMode, Position};
use referee_laws::{Action, Game, PROFILE_NAMES, Profile, Start, Termination, Time};
use referee_review::{Finding, Verdict, read_one};

/// Plays moves under a profile, and returns the game where it ended or after the last of them.
fn played(profile: &Profile, fen: &str, moves: &[&str]) -> Game {
    let start = Start {
        base: Position::from_fen(fen, CastlingMode::Standard).expect("a legal FEN"),
        ..Start::default()
    };
    let mut game = Game::new(profile.clone(), &start).expect("there are no moves to refuse");
    for text in moves {
        if game.outcome().is_some() {
            break;
        }
        let action = Action::play(game.position().turn(), text);
        let entry = game.judge(&action, Time::ORIGIN).entry;
        let effects = entry.expect("the move is legal").effects;
        game.apply(&effects).expect("it was judged a moment ago");
    }
    game
}

fn reviewed(profile: &Profile, fen: &str, moves: &[&str]) -> Verdict {
    let text = format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n{} *\n", moves.join(" "));
    let reading = read_one(text.as_bytes()).expect("one game");
    assert_eq!(reading.game.moves.len(), moves.len(), "{text}");
    Verdict::of(&reading, profile)
}

#[test]
fn the_half_moves_before_the_start_count_alike() {
    let moves = ["h3", "h6", "Ra2", "Rb7", "Rd2", "Rb8"];
    for name in PROFILE_NAMES {
        let profile = Profile::named(name).expect("it is a profile");
        for clock in [0, 94, 95, 97, 98, 99, 100, 144, 149] {
            let fen = format!("4k3/r6p/8/8/8/8/7P/R3K3 w - - {clock} 80");
            let game = played(&profile, &fen, &moves);
            let verdict = reviewed(&profile, &fen, &moves);
            let reviewed = (verdict.ply, verdict.outcome.as_ref());
            let played = (game.history().ply(), game.outcome());
            assert_eq!(reviewed, played, "{name} {clock}");
        }
    }
}

#[test]
fn captures_are_counted_from_the_half_move_clock_of_the_start() {
    let profile = Profile::named("house_captures").expect("it is a profile");
    let fen = "4k3/r6p/8/8/8/8/7P/R3K3 w - - 98 80";
    let verdict = reviewed(&profile, fen, &["h3", "h6", "h4"]);
    let played_on = verdict.findings.iter().find_map(|finding| match finding {
        Finding::PlayedOn {
            ply: 2, outcome, ..
        } => Some(outcome),
        _ => None,
    });
    let outcome = played_on.unwrap_or_else(|| panic!("{:?}", verdict.findings));
    assert_eq!(outcome.termination, Termination::FiftyAutomatic);
}
