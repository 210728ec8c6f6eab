//! A game that is read whole is judged as one that is played move by move.

use referee_chess::{CastlingMode, Move, Position};
use referee_laws::{
    Action, Finding, Game, PROFILE_NAMES, Profile, Review, Start, Termination, Time,
};

/// Plays moves under a profile, and returns the game where it ended or after the last of them.
fn played(profile: &Profile, base: &Position, moves: &[&str]) -> Game {
    let start = Start {
        base: base.clone(),
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

fn reviewed(profile: &Profile, base: &Position, moves: &[&str]) -> Review {
    let mut position = base.clone();
    let read = |text: &&str| {
        let mv = position.read_move(text).expect("the move is legal");
        position.play_unchecked(mv);
        mv
    };
    let moves: Vec<Move> = moves.iter().map(read).collect();
    Review::of(base, &moves, false, None, profile).expect("there are few moves")
}

#[test]
fn the_half_moves_before_the_start_count_alike() {
    let moves = ["h3", "h6", "Ra2", "Rb7", "Rd2", "Rb8"];
    for name in PROFILE_NAMES {
        let profile = Profile::named(name).expect("it is a profile");
        for clock in [0, 94, 95, 97, 98, 99, 100, 144, 149] {
            let fen = format!("4k3/r6p/8/8/8/8/7P/R3K3 w - - {clock} 80");
            let base = Position::from_fen(&fen, CastlingMode::Standard).expect("a legal FEN");
            let game = played(&profile, &base, &moves);
            let review = reviewed(&profile, &base, &moves);
            let told = (review.ply, review.outcome.as_ref());
            let shown = (game.history().ply(), game.outcome());
            assert_eq!(told, shown, "{name} {clock}");
        }
    }
}

#[test]
fn captures_are_counted_from_the_half_move_clock_of_the_start() {
    let profile = Profile::named("house_captures").expect("it is a profile");
    let fen = "4k3/r6p/8/8/8/8/7P/R3K3 w - - 98 80";
    let base = Position::from_fen(fen, CastlingMode::Standard).expect("a legal FEN");
    let review = reviewed(&profile, &base, &["h3", "h6", "h4"]);
    let [
        Finding::PlayedOn { ply: 2, outcome },
        Finding::ResultMissing { .. },
    ] = &review.findings[..]
    else {
        panic!("{:?}", review.findings);
    };
    assert_eq!(outcome.termination, Termination::FiftyAutomatic);
}
