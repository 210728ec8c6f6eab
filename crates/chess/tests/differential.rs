//! Random play with four generators side by side: ours, the oracle, cozy-chess and shakmaty. They
//! have to agree on every list of moves and on every position that a move leads to.
//!
//! The games are drawn from fixed seeds, so every run plays the same ones.

mod foreign;

use std::collections::HashMap;

use foreign::{from_cozy, from_shakmaty, to_cozy, to_shakmaty};
use referee_chess::mailbox::{Mailbox, PlainMove};
use referee_chess::{
    Bitboard, CastlingMode, Color, Fen, Move, MoveKind, Piece, Position, PositionKey, Rank, Role,
    Setup, ShredderFen, Square, chess960,
};
use shakmaty::Position as _;

/// Numbers drawn by splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// What the games have come across, so that a test that no longer meets the rare moves fails.
#[derive(Debug, Default)]
struct Tally {
    positions: usize,
    castles: usize,
    en_passants: usize,
    promotions: usize,
    double_checks: usize,
    checkmates: usize,
    stalemates: usize,
    repetitions: usize,
}

/// One position as each generator holds it.
struct Quartet {
    ours: Position,
    oracle: Mailbox,
    cozy: cozy_chess::Board,
    shakmaty: shakmaty::Chess,
}

impl Quartet {
    fn new(setup: &Setup) -> Quartet {
        Quartet {
            ours: Position::from_setup(setup).unwrap_or_else(|error| panic!("{error}: {setup:?}")),
            oracle: Mailbox::from(setup),
            cozy: to_cozy(setup),
            shakmaty: to_shakmaty(setup),
        }
    }

    /// Compares the moves, and returns ours.
    fn compare_moves(&self) -> Vec<Move> {
        let moves = self.ours.legal_moves().to_vec();
        let mut plain: Vec<PlainMove> = moves.iter().copied().map(PlainMove::from).collect();
        plain.sort_unstable();
        let mut oracle = self.oracle.legal_moves();
        oracle.sort_unstable();
        assert_eq!(plain, oracle, "oracle, at {:?}", self.ours);
        let mut cozy = Vec::new();
        self.cozy.generate_moves(|set| {
            cozy.extend(set.into_iter().map(from_cozy));
            false
        });
        cozy.sort_unstable();
        assert_eq!(plain, cozy, "cozy-chess, at {:?}", self.ours);
        let shakmaty = self.shakmaty.legal_moves();
        let mut shakmaty: Vec<PlainMove> = shakmaty.iter().copied().map(from_shakmaty).collect();
        shakmaty.sort_unstable();
        assert_eq!(plain, shakmaty, "shakmaty, at {:?}", self.ours);
        moves
    }

    /// Compares everything else about the position.
    fn compare_state(&self) {
        let ours = &self.ours;
        let setup = ours.to_setup();
        assert_eq!(setup, self.oracle.to_setup(), "at {ours:?}");
        assert_eq!(ours.is_check(), self.oracle.is_check(), "at {ours:?}");
        assert_eq!(ours.checkers().0, self.cozy.checkers().0, "at {ours:?}");
        let own = self.cozy.colors(self.cozy.side_to_move());
        assert_eq!(ours.pinned().0, (self.cozy.pinned() & own).0, "at {ours:?}");

        let fresh = Position::from_setup(&setup).unwrap_or_else(|e| panic!("{e}: at {ours:?}"));
        assert_eq!(&fresh, ours);
        assert_eq!(fresh.checkers(), ours.checkers(), "at {ours:?}");
        assert_eq!(fresh.pinned(), ours.pinned(), "at {ours:?}");
        assert_eq!(fresh.zobrist(), ours.zobrist(), "at {ours:?}");
        assert_eq!(ours.fresh_zobrist(), ours.zobrist(), "at {ours:?}");
        assert_eq!(fresh.exact_key(), ours.exact_key(), "at {ours:?}");
        self.compare_fens(&setup);
    }

    /// Compares the texts: with shakmaty letter by letter, with cozy-chess, which keeps the en
    /// passant square after every double step and counts halfmoves up to 100, the rest.
    fn compare_fens(&self, setup: &Setup) {
        let legal = shakmaty::EnPassantMode::Legal;
        let theirs = shakmaty::fen::Fen::from_position(&self.shakmaty, legal).to_string();
        assert_eq!(Fen(setup).to_string(), theirs);
        let ours = ShredderFen(setup).to_string();
        let theirs = format!("{:#}", self.cozy);
        let fields = |fen: &str| {
            fen.split(' ')
                .take(3)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(fields(&ours), fields(&theirs));
        if setup.halfmove_clock <= 100 {
            assert_eq!(setup.halfmove_clock, u32::from(self.cozy.halfmove_clock()));
        }
        let mode = setup.castling_mode;
        for text in [Fen(setup).to_string(), ours] {
            let read = Position::from_fen(&text, mode).unwrap_or_else(|e| panic!("{e}: {text}"));
            assert_eq!(read.to_setup(), *setup, "{text}");
        }
    }

    fn play(&mut self, mv: Move) {
        let plain = PlainMove::from(mv);
        self.oracle = self.oracle.after_unchecked(plain);
        let is_same = |theirs: &cozy_chess::Move| from_cozy(*theirs) == plain;
        let mut theirs = None;
        self.cozy.generate_moves(|set| {
            theirs = theirs.or(set.into_iter().find(is_same));
            theirs.is_some()
        });
        self.cozy
            .play_unchecked(theirs.expect("the lists of moves agree"));
        let list = self.shakmaty.legal_moves();
        let theirs = list.iter().find(|&&theirs| from_shakmaty(theirs) == plain);
        self.shakmaty
            .play_unchecked(*theirs.expect("the lists of moves agree"));
        self.ours.play(mv).expect("the move is listed");
    }
}

/// The positions met so far, by key and by equality.
#[derive(Default)]
struct Seen {
    by_key: HashMap<PositionKey, Position>,
    by_equality: HashMap<Position, PositionKey>,
}

impl Seen {
    /// Checks that keys are the same exactly where positions are, and returns whether the
    /// position is new.
    fn insert(&mut self, position: &Position) -> bool {
        let key = position.exact_key();
        let by_key = self.by_key.get(&key);
        let by_equality = self.by_equality.get(position);
        assert_eq!(by_key.is_some(), by_equality.is_some(), "at {position:?}");
        assert!(
            by_key.is_none_or(|seen| seen == position),
            "at {position:?}"
        );
        assert!(
            by_equality.is_none_or(|&seen| seen == key),
            "at {position:?}"
        );
        let is_new = by_key.is_none();
        self.by_key.insert(key, position.clone());
        self.by_equality.insert(position.clone(), key);
        is_new
    }
}

/// Chooses a move, the rare kinds more often than they come by chance.
fn choose(moves: &[Move], random: &mut Random) -> Move {
    let is_rare = |mv: &Move| matches!(mv.kind(), MoveKind::Castle | MoveKind::EnPassant);
    let rare: Vec<Move> = moves.iter().copied().filter(is_rare).collect();
    if !rare.is_empty() && random.below(2) == 0 {
        random.pick(&rare)
    } else {
        random.pick(moves)
    }
}

/// Plays one game, comparing everything at each position.
fn play_game(setup: &Setup, plies_max: usize, random: &mut Random, tally: &mut Tally) {
    let mut seen = Seen::default();
    let mut quartet = Quartet::new(setup);
    for _ in 0..plies_max {
        quartet.compare_state();
        let moves = quartet.compare_moves();
        tally.positions += 1;
        tally.repetitions += usize::from(!seen.insert(&quartet.ours));
        tally.double_checks += usize::from(quartet.ours.checkers().more_than_one());
        if moves.is_empty() {
            tally.checkmates += usize::from(quartet.ours.is_checkmate());
            tally.stalemates += usize::from(quartet.ours.is_stalemate());
            return;
        }
        let mv = choose(&moves, random);
        match mv.kind() {
            MoveKind::Castle => tally.castles += 1,
            MoveKind::EnPassant => tally.en_passants += 1,
            MoveKind::Promotion(_) => tally.promotions += 1,
            MoveKind::Ordinary | MoveKind::DoubleStep => {}
        }
        quartet.play(mv);
    }
}

/// Returns the start with a number, or with one number for each side (double Fischer random).
fn start(white: u32, black: u32, mode: CastlingMode) -> Setup {
    let board = |number| {
        let start = chess960::startpos(number, mode).expect("the number is below 960");
        *start.board()
    };
    let mut setup = Setup::empty(mode);
    for (color, board) in [(Color::White, board(white)), (Color::Black, board(black))] {
        for square in board.color(color) {
            let piece = board.piece_at(square).expect("the square is occupied");
            setup.board.put(square, piece);
        }
    }
    setup.castling_rooks = setup.board.role(Role::Rook);
    setup
}

/// The pieces of a drawn endgame, pawns the most likely.
const ENDGAME_ROLES: [Role; 9] = [
    Role::Pawn,
    Role::Pawn,
    Role::Pawn,
    Role::Pawn,
    Role::Knight,
    Role::Bishop,
    Role::Rook,
    Role::Rook,
    Role::Queen,
];

/// Draws an endgame that could arise in play: two kings and 1 to 12 other pieces, half of the
/// time with kings and rooks at home.
fn endgame(random: &mut Random) -> Setup {
    loop {
        let mut setup = Setup::empty(CastlingMode::Chess960);
        let mut place = |color: Color, role: Role, squares: Bitboard, random: &mut Random| {
            let free: Vec<Square> = (squares - setup.board.occupied()).into_iter().collect();
            setup.board.put(random.pick(&free), Piece { color, role });
        };
        let is_at_home = random.below(2) == 0;
        for color in Color::ALL {
            let home = Bitboard::rank(Rank::relative(color, 0));
            if is_at_home {
                place(color, Role::King, home, random);
                place(color, Role::Rook, home, random);
            } else {
                place(color, Role::King, Bitboard::FULL, random);
            }
        }
        for _ in 0..random.below(10) + 1 {
            let (color, role) = (random.pick(&Color::ALL), random.pick(&ENDGAME_ROLES));
            let squares = match role {
                Role::Pawn => !Bitboard::BACK_RANKS,
                _ => Bitboard::FULL,
            };
            place(color, role, squares, random);
        }
        setup.turn = random.pick(&Color::ALL);
        setup.fullmove_number = random.below(200) as u32 + 1;
        setup.halfmove_clock = random.below(60) as u32;
        // Every rook at home has a right, unless there are two on one side of the king.
        for color in Color::ALL {
            let home = Bitboard::rank(Rank::relative(color, 0));
            setup.castling_rooks |= setup.board.pieces(color, Role::Rook) & home;
        }
        if Position::from_setup(&setup).is_err() {
            setup.castling_rooks = Bitboard::EMPTY;
        }
        if Position::from_setup(&setup).is_ok() {
            return setup;
        }
    }
}

/// Plays games from drawn setups, and returns what they have come across.
fn play_games(
    games: usize,
    plies_max: usize,
    seed: u64,
    mut draw: impl FnMut(&mut Random) -> Setup,
) -> Tally {
    let mut random = Random(seed);
    let mut tally = Tally::default();
    for _ in 0..games {
        let setup = draw(&mut random);
        play_game(&setup, plies_max, &mut random, &mut tally);
    }
    println!("{tally:?}");
    tally
}

#[test]
fn standard_games_agree() {
    let tally = play_games(600, 200, 1, |_| start(518, 518, CastlingMode::Standard));
    assert!(tally.positions > 60_000 && tally.castles > 200 && tally.en_passants > 100);
    assert!(tally.promotions > 100 && tally.repetitions > 0 && tally.checkmates > 20);
}

#[test]
fn chess960_games_agree() {
    let mut number = 0;
    let tally = play_games(480, 160, 2, |_| {
        number = (number + 2) % chess960::STARTING_POSITIONS;
        start(number, number, CastlingMode::Chess960)
    });
    assert!(tally.positions > 60_000 && tally.castles > 200 && tally.en_passants > 100);
}

#[test]
fn double_fischer_games_agree() {
    let tally = play_games(400, 160, 3, |random| {
        let number = |random: &mut Random| random.below(960) as u32;
        start(number(random), number(random), CastlingMode::Chess960)
    });
    assert!(tally.positions > 60_000 && tally.castles > 200 && tally.en_passants > 100);
}

#[test]
fn endgames_agree() {
    let tally = play_games(3_000, 60, 4, endgame);
    assert!(tally.positions > 100_000 && tally.promotions > 2_000 && tally.castles > 400);
    assert!(tally.checkmates > 100 && tally.stalemates > 20 && tally.double_checks > 80);
}

#[test]
fn the_960_starting_positions_agree() {
    for number in 0..chess960::STARTING_POSITIONS {
        let ours = start(number, number, CastlingMode::Chess960);
        let quartet = Quartet::new(&ours);
        assert_eq!(
            quartet.cozy,
            cozy_chess::Board::chess960_startpos(number),
            "number {number}"
        );
        assert_eq!(chess960::number_of(&ours.board), Some(number));
        quartet.compare_state();
        quartet.compare_moves();
    }
}
