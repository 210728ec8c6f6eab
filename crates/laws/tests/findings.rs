//! What is found out about mate after a ruling that could not wait for it.

use referee_chess::{CastlingMode, Position};
use referee_laws::{
    Action, CanMate, Color, Game, GameResult, Intent, MateFinding, NoMate, NoMateKind, Profile,
    Reason, Seat, Start, Termination, Time, Variant,
};

const PAWN_WALL: &str = "4k3/8/8/p2p2p1/P5P1/3P4/8/4K3 w - - 0 1";

fn game(profile: &str, fen: &str, moves: &[&str]) -> Game {
    let profile = Profile::resolve(profile, Variant::Standard, &[]).expect("it is a profile");
    let base = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is legal");
    let start = Start {
        base,
        ..Start::default()
    };
    let mut game = Game::new(profile, &start).expect("there are no moves to refuse");
    for text in moves {
        let side = game.position().turn();
        act(&mut game, Action::play(side, text));
    }
    game
}

fn act(game: &mut Game, action: Action) -> Option<Reason> {
    let judgment = game.judge(&action, Time::ORIGIN);
    if let Some(entry) = judgment.entry {
        game.apply(&entry.effects)
            .expect("it was judged a moment ago");
    }
    judgment.ruling.reason
}

fn nobody_mates(ply: u32) -> Action {
    let no = |side| {
        CanMate::No(NoMate {
            side,
            kind: NoMateKind::BlockedStructure,
            text: format!("{side} cannot mate."),
        })
    };
    Action {
        seat: Seat::Referee,
        intent: Intent::MateDecided(MateFinding {
            ply,
            white: no(Color::White),
            black: no(Color::Black),
            nodes: 1,
        }),
    }
}

#[test]
fn a_dead_position_that_is_found_later_ends_the_game_where_it_arose() {
    let mut game = game(
        "fide_standard",
        "4k3/7p/8/8/8/8/P7/4K3 w - - 0 1",
        &["a2a4", "h7h5", "a4a5"],
    );
    assert_eq!(act(&mut game, nobody_mates(2)), None);
    let outcome = game.outcome().expect("it is over");
    assert_eq!(outcome.termination, Termination::DeadPosition);
    assert_eq!(
        (outcome.result, game.history().ply()),
        (GameResult::Draw, 2)
    );
}

#[test]
fn it_ends_no_game_that_the_profile_judges_otherwise() {
    // Material alone, a claim alone, and a position that did not arise by a move.
    let games = [
        ("chesscom", 1),
        ("lichess", 1),
        ("house_handbook", 1),
        ("fide_standard", 0),
    ];
    for (profile, ply) in games {
        let mut game = match ply {
            0 => game(profile, PAWN_WALL, &[]),
            _ => game(profile, "4k3/7p/8/8/8/8/P7/4K3 w - - 0 1", &["a2a4"]),
        };
        let reason = act(&mut game, nobody_mates(ply));
        assert_eq!(
            (reason, game.outcome()),
            (Some(Reason::NotAllowed), None),
            "{profile}"
        );
    }
}

#[test]
fn it_comes_before_what_ended_the_game_later_but_not_before_the_arbiter() {
    let fen = "4k3/7p/8/8/8/8/P7/4K3 w - - 0 1";
    let mut resigned = game("fide_standard", fen, &["a2a4", "h7h5"]);
    act(&mut resigned, Action::player(Color::White, Intent::Resign));
    assert_eq!(act(&mut resigned, nobody_mates(1)), None);
    let termination = resigned.outcome().map(|outcome| outcome.termination);
    assert_eq!(termination, Some(Termination::DeadPosition));
    // One that the arbiter has decided stays decided.
    let mut decided = game("fide_standard", fen, &["a2a4", "h7h5"]);
    let both = Intent::Decide(referee_laws::Decision::DeclareLostByBoth);
    act(&mut decided, Action::arbiter(both));
    assert_eq!(act(&mut decided, nobody_mates(1)), Some(Reason::NotAllowed));
}
