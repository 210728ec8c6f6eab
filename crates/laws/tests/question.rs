//! Questions of who can mate: they are put where the answer can change the game, and only there.

use std::fs;

use referee_chess::{CastlingMode, Move, Position};
use referee_laws::{
    Action, Budget, CanMate, Color, Game, Intent, Judgment, Profile, Seat, Start, Termination,
    Tier, Time, Variant, can_mate,
};

const VECTORS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/data/dead/own_vectors.tsv"
);

/// Positions that are visited for an answer.
const NODES: u64 = 200_000;

fn begin(profile: &str, fen: &str) -> Game {
    let profile = Profile::resolve(profile, Variant::Standard, &[]).expect("it is a profile");
    let base = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is legal");
    let start = Start {
        base,
        ..Start::default()
    };
    Game::new(profile, &start).expect("there are no moves to refuse")
}

fn act(game: &mut Game, action: &Action) -> Judgment {
    let judgment = game.judge(action, Time::ORIGIN);
    if let Some(entry) = &judgment.entry {
        let applied = game.apply(&entry.effects);
        applied.expect("it was judged a moment ago");
    }
    judgment
}

/// Plays some legal move that keeps all pieces and pawns where they can come back to.
fn play_quiet(game: &mut Game, number: usize) -> bool {
    let position = game.position();
    let moves = position.legal_moves();
    let quiet: Vec<Move> = (&moves)
        .into_iter()
        .filter(|&mv| position.after_unchecked(mv).halfmove_clock() > 0)
        .collect();
    let Some(&mv) = quiet.get(number % quiet.len().max(1)) else {
        return false;
    };
    let action = Action::play(position.turn(), &position.uci(mv).to_string());
    act(game, &action);
    true
}

/// The positions of the vectors that are dead.
fn dead_positions() -> Vec<String> {
    let text = fs::read_to_string(VECTORS).expect("the vectors are there");
    let rows = text.lines().skip(1).map(|line| line.split('\t'));
    let dead = rows.filter_map(|mut fields| {
        let fen = fields.next()?;
        (fields.nth(2) == Some("yes")).then(|| fen.to_owned())
    });
    dead.collect()
}

#[test]
fn a_dead_position_is_asked_about_where_it_arose() {
    let mut asked = 0;
    for fen in dead_positions() {
        let mut game = begin("fide_standard", &fen);
        assert!(game.mate_question().is_none(), "{fen} has not arisen");
        assert!(!game.asks_about_mate(), "{fen} has not arisen");
        if !play_quiet(&mut game, 0) || game.outcome().is_some() {
            continue;
        }
        asked += 1;
        assert!(game.asks_about_mate(), "{fen}");
        let question = game.mate_question().expect("it may be dead");
        assert_eq!((question.ply, question.winner), (1, None));
        for number in 0..4 {
            if !play_quiet(&mut game, number) || game.outcome().is_some() {
                break;
            }
            let question = game.mate_question().expect("it may be dead");
            // Nothing new is asked where the position is one from which the first comes again.
            let is_new = question.ply == game.history().ply();
            assert_eq!(game.asks_about_mate(), is_new, "{fen}");
        }
        let question = game
            .mate_question()
            .or(Some(question))
            .expect("it was asked");
        let Some(found) = question.answer(NODES, &|| false) else {
            continue;
        };
        assert!(matches!(found.white, CanMate::No(_)), "{fen}");
        assert!(matches!(found.black, CanMate::No(_)), "{fen}");
        let ply = found.ply;
        if game.outcome().is_none() {
            let action = Action {
                seat: Seat::Referee,
                intent: Intent::MateDecided(found),
            };
            act(&mut game, &action);
            let outcome = game.outcome().expect("the position is dead");
            assert_eq!(outcome.termination, Termination::DeadPosition);
            assert_eq!(game.history().ply(), ply);
        }
    }
    assert!(asked >= 3, "only {asked} vectors escape the quick tier");
}

#[test]
fn what_is_not_asked_about_can_be_mated() {
    let starts = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "4k3/pp3ppp/8/8/8/8/PP3PPP/R3K3 w Q - 0 1",
        "4k3/8/2n5/3p4/3P4/2N5/8/4K3 w - - 0 1",
        "8/2k5/8/1p1p1p2/1P1P1P2/8/5K2/2B5 w - - 0 1",
    ];
    let mut number = 5u32;
    for fen in starts {
        for _ in 0..6 {
            let mut game = begin("fide_standard", fen);
            while game.outcome().is_none() && game.history().ply() < 60 {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let position = game.position();
                let moves = position.legal_moves();
                let moves: Vec<Move> = (&moves).into_iter().collect();
                let mv = moves[(number >> 8) as usize % moves.len()];
                let action = Action::play(position.turn(), &position.uci(mv).to_string());
                act(&mut game, &action);
                if game.outcome().is_some() || game.asks_about_mate() {
                    // It would have ended the game, or is looked at for longer.
                    break;
                }
                let can = |side| {
                    let tier = Tier::Full(Budget::of(NODES));
                    matches!(can_mate(game.position(), side, tier), CanMate::Yes(_))
                };
                assert!(
                    can(Color::White) || can(Color::Black),
                    "{}",
                    game.position()
                );
            }
        }
    }
}

#[test]
fn a_provisional_result_is_asked_about_under_every_profile() {
    // The solver is asked for the flag alone in a house that goes by claims for dead positions.
    let game = begin(
        "house_handbook",
        "4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/3BK3 w - - 0 1",
    );
    assert!(!game.asks_about_mate());
    let mut provisional = game.clone();
    let judgment = game.judge(&Action::player(Color::Black, Intent::Resign), Time::ORIGIN);
    let mut effects = judgment.entry.expect("anybody may resign").effects;
    let outcome = effects.outcome.as_mut().expect("it ends the game");
    outcome.provisional = true;
    provisional
        .apply(&effects)
        .expect("it was judged a moment ago");
    assert!(provisional.asks_about_mate());
    let question = provisional
        .mate_question()
        .expect("the result is provisional");
    assert_eq!(question.winner, Some(Color::White));
    let found = question
        .answer(NODES, &|| false)
        .expect("it can be decided");
    assert!(matches!(found.white, CanMate::No(_)), "{found:?}");
    assert_eq!(found.black, CanMate::Unknown);
    assert!(
        question.answer(NODES, &|| true).is_none(),
        "it was cancelled"
    );
}
