//! What holds for any position and any move, however little sense they make.

mod arbitrary;

use arbitrary::{any_square, anything, played, with_kings};
use proptest::collection::vec;
use proptest::prelude::*;
use referee_chess::mailbox::{Mailbox, PlainMove};
use referee_chess::{
    Bitboard, COUNTER_MAX, CastlingMode, Move, MoveKind, MoveList, Position, Role, Setup, Square,
    Tolerance,
};

/// Every kind of move, those that no move can have among them.
const KINDS: [MoveKind; 10] = [
    MoveKind::Ordinary,
    MoveKind::DoubleStep,
    MoveKind::Castle,
    MoveKind::EnPassant,
    MoveKind::Promotion(Role::Pawn),
    MoveKind::Promotion(Role::Knight),
    MoveKind::Promotion(Role::Bishop),
    MoveKind::Promotion(Role::Rook),
    MoveKind::Promotion(Role::Queen),
    MoveKind::Promotion(Role::King),
];

fn any_move() -> impl Strategy<Value = Move> {
    (any_square(), any_square(), 0..KINDS.len())
        .prop_map(|(from, to, kind)| Move::new(from, to, KINDS[kind]))
}

fn sorted(moves: impl IntoIterator<Item = Move>) -> Vec<PlainMove> {
    let mut moves: Vec<PlainMove> = moves.into_iter().map(PlainMove::from).collect();
    moves.sort_unstable();
    moves
}

fn oracle_moves(oracle: &Mailbox) -> Vec<PlainMove> {
    let mut moves = oracle.legal_moves();
    moves.sort_unstable();
    moves
}

/// All ways to ask for the moves give the same answer, for every move that can be written.
fn check_questions(position: &Position) {
    let list = position.legal_moves();
    assert_eq!(
        list.as_slice(),
        position.legal_moves_portable().as_slice(),
        "{position:?}"
    );
    assert_eq!(
        position.count_legal_moves() as usize,
        list.len(),
        "{position:?}"
    );
    assert_eq!(position.has_legal_moves(), !list.is_empty(), "{position:?}");
    let mut by_square = Vec::new();
    for from in Square::all() {
        by_square.extend(&position.legal_moves_from(Bitboard::of(from)));
        for to in Square::all() {
            for kind in KINDS {
                let mv = Move::new(from, to, kind);
                assert_eq!(
                    position.is_legal(mv),
                    list.contains(&mv),
                    "{mv:?} {kind:?} {position:?}"
                );
            }
        }
    }
    assert_eq!(sorted(by_square), sorted(&list), "{position:?}");
    let mut distinct = sorted(&list);
    distinct.dedup();
    assert_eq!(
        distinct.len(),
        list.len(),
        "a move is listed twice: {position:?}"
    );
}

/// What a position knows of itself is what can be found out anew.
fn check_upkeep(position: &Position) {
    assert_eq!(position.zobrist(), position.fresh_zobrist(), "{position:?}");
    let fresh = Position::from_setup_with(&position.to_setup(), Tolerance::PERFT)
        .unwrap_or_else(|error| panic!("{error}: {position:?}"));
    assert_eq!(&fresh, position);
    assert_eq!(fresh.checkers(), position.checkers(), "{position:?}");
    assert_eq!(fresh.pinned(), position.pinned(), "{position:?}");
    // A counter beyond what a setup may say is cut off there.
    let counters = |position: &Position| {
        [position.halfmove_clock(), position.fullmove_number()].map(|n| n.min(COUNTER_MAX))
    };
    assert_eq!(counters(&fresh), counters(position), "{position:?}");
    let king = position.king(position.turn());
    assert_eq!(
        position.checkers(),
        position.attackers(king, !position.turn()),
        "{position:?}"
    );
}

/// Where the setup is taken, the fast generator and the oracle agree on it and on every position
/// one move on. Returns whether it was taken.
fn check_setup(setup: &Setup) -> bool {
    let oracle = Mailbox::from(setup);
    let Ok(position) = Position::from_setup_with(setup, Tolerance::PERFT) else {
        // The oracle takes anything, and must at least come to an end.
        let _ = (oracle.perft(1), oracle.is_check(), oracle.to_setup());
        return false;
    };
    let moves = position.legal_moves();
    assert_eq!(sorted(&moves), oracle_moves(&oracle), "{setup:?}");
    assert_eq!(position.is_check(), oracle.is_check(), "{setup:?}");
    assert_eq!(position.is_checkmate(), oracle.is_checkmate(), "{setup:?}");
    assert_eq!(position.is_stalemate(), oracle.is_stalemate(), "{setup:?}");
    assert_eq!(position.en_passant(), oracle.en_passant(), "{setup:?}");
    check_upkeep(&position);
    for mv in &moves {
        let mut next = position.clone();
        next.play(mv).expect("the move is listed");
        let oracle = oracle.after_unchecked(PlainMove::from(mv));
        assert_eq!(
            sorted(&next.legal_moves()),
            oracle_moves(&oracle),
            "{mv:?} {setup:?}"
        );
        assert_eq!(
            next.to_setup().board,
            oracle.to_setup().board,
            "{mv:?} {setup:?}"
        );
        check_upkeep(&next);
    }
    true
}

proptest! {
    // A failure prints the smallest case it found, to be written down as a test of its own.
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_move_is_legal_where_it_is_listed(position in played()) {
        check_questions(&position);
        check_upkeep(&position);
    }

    #[test]
    fn a_move_that_is_not_listed_is_refused(position in played(), mv in any_move()) {
        let mut after = position.clone();
        match after.play(mv) {
            Ok(()) => {
                prop_assert!(position.legal_moves().contains(&mv));
                prop_assert_ne!(after.turn(), position.turn());
            }
            Err(error) => {
                prop_assert_eq!(error.mv, mv);
                prop_assert!(!position.legal_moves().contains(&mv));
                prop_assert_eq!(after.to_setup(), position.to_setup());
                prop_assert_eq!(after.zobrist(), position.zobrist());
            }
        }
    }

    #[test]
    fn a_setup_that_is_taken_answers_like_one_out_of_play(setup in with_kings()) {
        if let Ok(position) = Position::from_setup_with(&setup, Tolerance::PERFT) {
            check_questions(&position);
        }
    }

    #[test]
    fn no_setup_makes_anything_panic(setup in anything()) {
        for tolerance in [Tolerance::STRICT, Tolerance::LENIENT, Tolerance::PERFT] {
            if let Err(error) = Position::from_setup_with(&setup, tolerance) {
                prop_assert!(!error.issues.is_empty());
                prop_assert!(!error.to_string().is_empty());
            }
        }
        check_setup(&setup);
    }

    #[test]
    fn moves_that_make_no_sense_do_no_harm(
        setup in with_kings(),
        moves in vec(any_move(), 1..200),
    ) {
        let Ok(mut position) = Position::from_setup_with(&setup, Tolerance::PERFT) else {
            return Ok(());
        };
        for mv in moves {
            position.play_unchecked(mv);
            let list = position.legal_moves();
            prop_assert!(list.len() <= MoveList::CAPACITY);
            let _ = (position.exact_key(), position.to_string(), position.has_legal_moves());
        }
    }
}

#[test]
fn drawn_setups_agree_with_the_oracle() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    // Drawn from a fixed seed, so that the share that is taken is the same in every run.
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let setups = with_kings();
    let mut taken = 0;
    for _ in 0..20_000 {
        let tree = setups
            .new_tree(&mut runner)
            .expect("nothing is filtered out");
        taken += usize::from(check_setup(&tree.current()));
    }
    println!("{taken} of 20000 setups were taken");
    assert!(taken > 4_000, "only {taken} of 20000 setups were taken");
}

#[test]
fn a_frame_of_queens_fits_the_list() {
    // More moves than any position out of play has, where 218 is the most.
    let fen = "kBQQQQQQ/BR5Q/Q6Q/Q6Q/Q6Q/Q6Q/Q6Q/KQQQQQQQ w - - 0 1";
    let position = Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT);
    let position = position.expect("perft takes any number of queens");
    assert_eq!(position.legal_moves().len(), 270);
    assert!(check_setup(&position.to_setup()));
}
