//! What people try in games, and the games that they try it in.

use proptest::prelude::*;
use referee_chess::{Role, Square};
use referee_laws::{
    Allowed, Bonus, CanMate, ClaimDecision, ClaimIntent, ClaimKind, ClockSetup, Color, Decision,
    Game, GameResult, Intent, Keeper, MateFinding, MoveIntent, NoMate, NoMateKind, PROFILE_NAMES,
    ParameterError, Parameters, Period, Profile, ProfileError, Score, Seat, TimeControl, Timing,
    TouchIntent, Variant,
};

/// Something that somebody tries. What it is becomes an intent in the game at hand, so that most
/// of them mean something there.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Who tries it.
    pub(crate) seat: u8,
    /// What it is.
    pub(crate) kind: u8,
    /// What it is about.
    pub(crate) numbers: [u32; 3],
    /// The time since the attempt before, in milliseconds; a negative one comes too late.
    pub(crate) wait_ms: i64,
}

pub(crate) fn attempts() -> impl Strategy<Value = Attempt> {
    let wait = prop_oneof![
        6 => 0..20_000i64,
        1 => 20_000..400_000i64,
        1 => -5_000..0i64,
    ];
    // Half of all attempts are moves, or no game would get anywhere.
    let kind = prop_oneof![1 => 0..6u8, 1 => 6..=KINDS];
    (0..16u8, kind, any::<[u32; 3]>(), wait).prop_map(|(seat, kind, numbers, wait_ms)| Attempt {
        seat,
        kind,
        numbers,
        wait_ms,
    })
}

/// The kinds of attempts that [`intent_of`] knows.
const KINDS: u8 = 39;

fn pick<T: Copy>(all: &[T], number: u32) -> T {
    all[number as usize % all.len()]
}

fn bit(number: u32, place: u32) -> bool {
    number >> place & 1 == 1
}

fn side(number: u32) -> Color {
    pick(&Color::ALL, number)
}

/// A piece's square, most often, or any.
fn square(game: &Game, number: u32) -> Square {
    let pieces: Vec<Square> = game.position().board().occupied().into_iter().collect();
    if bit(number, 31) {
        return Square::from_low_bits(number as u8);
    }
    pick(&pieces, number)
}

fn legal(game: &Game, number: u32) -> String {
    let moves: Vec<_> = game.position().legal_moves().into_iter().collect();
    if moves.is_empty() {
        return String::new();
    }
    let mv = pick(&moves, number);
    if bit(number, 30) {
        game.position().san(mv).to_string()
    } else {
        game.position().uci(mv).to_string()
    }
}

fn illegal(game: &Game, number: u32, other: u32) -> String {
    let (from, to) = (square(game, number), Square::from_low_bits(other as u8));
    let promotion = pick(&["", "", "", "q", "n", "k"], number >> 8);
    format!("{from}{to}{promotion}")
}

fn move_of(game: &Game, kind: u8, [a, b, c]: [u32; 3]) -> MoveIntent {
    let text = match kind {
        5 if bit(c, 9) => pick(&["", "?", "O-O", "O-O-O", "e8", "\u{0}"], a).to_owned(),
        5 => illegal(game, a, b),
        _ => legal(game, a),
    };
    let rarely = |place| bit(c, place) && bit(c, place + 1) && bit(c, place + 2);
    MoveIntent {
        text,
        offer_draw: rarely(0),
        completed: !rarely(3),
        two_hands: rarely(6),
        undetected: if kind == 5 { bit(c, 12) } else { rarely(13) },
    }
}

fn claim_of(game: &Game, [a, b, c]: [u32; 3]) -> Intent {
    let all = [
        ClaimKind::Threefold,
        ClaimKind::Fifty,
        ClaimKind::PerpetualCheck,
        ClaimKind::OpponentInsufficient,
        ClaimKind::IllegalMove,
        ClaimKind::TouchMove,
        ClaimKind::QuickplayIncrement,
        ClaimKind::QuickplayDraw,
        ClaimKind::OpponentGone,
    ];
    Intent::Claim(ClaimIntent {
        claim: pick(&all, a),
        intended: match c % 4 {
            0 => Some(legal(game, b)),
            1 => Some(illegal(game, b, c)),
            _ => None,
        },
        ply: bit(c, 5).then(|| if bit(c, 6) { b } else { b % 40 }),
        gone_ms: bit(c, 7).then_some(u64::from(b)),
    })
}

fn decision_of(game: &Game, [a, b, c]: [u32; 3]) -> Decision {
    let score = |number| {
        pick(
            &[Score::Zero, Score::Half, Score::One, Score::Other],
            number,
        )
    };
    let ms = |number: u32| u64::from(number % 600_000);
    // Few of the decisions end a game, so that others are heard.
    match a % 24 {
        0 => Decision::DeclareLost {
            side: side(b),
            opponent_score: score(c),
            device_found: bit(c, 9),
        },
        1 => match b % 4 {
            0 => Decision::DeclareLostByBoth,
            1 => Decision::SetScore {
                white: score(c),
                black: score(c >> 8),
            },
            2 => Decision::DeclareForfeit {
                side: bit(c, 0).then(|| side(c >> 1)),
            },
            _ => Decision::ColorsReversed,
        },
        2 => Decision::WrongInitialPosition,
        3..=4 => Decision::IllegalPositionSeen {
            still_after_next_move: bit(c, 0),
        },
        5..=7 => Decision::SetClocks {
            white_ms: bit(b, 0).then(|| ms(c)),
            black_ms: bit(b, 1).then(|| u64::from(c) << (b % 32)),
        },
        8..=9 => Decision::PenaltyTime {
            side: side(b),
            deduct_ms: ms(c),
            add_opponent_ms: u64::from(b) << (c % 32),
        },
        10 => Decision::ExtraTime {
            side: side(b),
            ms: ms(c),
        },
        11..=13 => Decision::Reinstate {
            ply: c % (game.history().ply() + 2),
        },
        14 => Decision::PermitDrawOffer,
        15..=19 => Decision::DecideClaim(pick(
            &[
                ClaimDecision::Accept,
                ClaimDecision::Reject,
                ClaimDecision::Postpone,
            ],
            b,
        )),
        20..=21 => Decision::SetCounters {
            white_illegal_moves: bit(b, 0).then_some(c % 3),
            black_illegal_moves: bit(b, 1).then_some(c >> 8),
            plies_without_capture: bit(b, 2).then_some(if bit(b, 3) { c } else { c % 120 }),
        },
        22 => Decision::Warn { side: side(b) },
        _ => Decision::Confirm,
    }
}

/// A finding of the mate solver, right or not: the laws take it as it is.
fn finding_of(game: &Game, [a, b, _]: [u32; 3]) -> MateFinding {
    let answer = |side, number: u32| match number % 4 {
        0 => CanMate::No(NoMate {
            side,
            kind: NoMateKind::ExhaustedSearch,
            text: "It was searched.".into(),
        }),
        1 | 2 => CanMate::Yes(Vec::new()),
        _ => CanMate::Unknown,
    };
    MateFinding {
        ply: if bit(b, 4) {
            game.history().ply()
        } else {
            a % (game.history().ply() + 3)
        },
        white: answer(Color::White, a >> 3),
        black: answer(Color::Black, b),
        nodes: 1,
    }
}

pub(crate) fn intent_of(game: &Game, kind: u8, numbers: [u32; 3]) -> Intent {
    let [a, b, c] = numbers;
    match kind {
        0..=24 => play_of(game, kind, numbers),
        25..=37 => talk_of(game, kind, numbers),
        38 => match a % 3 {
            0 => Intent::FlagFell { side: side(b) },
            1 => Intent::MateDecided(finding_of(game, [b, c, a])),
            _ => Intent::WasDown {
                down_ms: u64::from(b),
            },
        },
        _ => Intent::Decide(decision_of(game, numbers)),
    }
}

/// What players do with their hands and say about draws.
fn play_of(game: &Game, kind: u8, numbers: [u32; 3]) -> Intent {
    let [a, b, c] = numbers;
    match kind {
        0..=5 => Intent::Move(move_of(game, kind, numbers)),
        6..=8 => Intent::Press {
            two_hands: bit(a, 0) && bit(a, 1),
        },
        9..=11 => Intent::Touch {
            squares: [a, b, c].map(|number| square(game, number))[..a as usize % 4].to_vec(),
            order_unknown: bit(c, 3),
            intent: pick(
                &[
                    TouchIntent::Play,
                    TouchIntent::Play,
                    TouchIntent::Adjust,
                    TouchIntent::Accidental,
                ],
                c,
            ),
        },
        12 => Intent::Adjust,
        13 => Intent::Release {
            from: square(game, a),
            to: Square::from_low_bits(b as u8),
        },
        14 => Intent::PlacePromotion {
            square: Square::from_low_bits(a as u8),
            role: pick(&Role::ALL, b),
        },
        15 => {
            if bit(a, 0) {
                Intent::Displace
            } else {
                Intent::Restore
            }
        }
        16..=17 => Intent::OfferDraw {
            conditional: a % 8 == 0,
        },
        18 if a % 4 == 0 => Intent::DeclineDraw,
        18 => Intent::AcceptDraw,
        19 => {
            if bit(a, 0) {
                Intent::WithdrawOffer
            } else {
                Intent::WithdrawClaim
            }
        }
        _ => claim_of(game, numbers),
    }
}

/// What is said of the clocks, of being there, and of the end.
fn talk_of(game: &Game, kind: u8, [a, b, c]: [u32; 3]) -> Intent {
    match kind {
        25..=26 => Intent::Flag {
            side: side(a),
            observed: b % 8 == 0,
            moves_completed: bit(c, 0).then_some(c >> 1),
        },
        27 if a % 4 == 3 => Intent::BothFlags {
            first: bit(c, 1).then(|| side(b)),
            last_period: bit(c, 0),
        },
        27 => Intent::AnswerTakeBack { accept: bit(a, 0) },
        28 => Intent::Start,
        29 => {
            if bit(a, 0) {
                Intent::Arrive
            } else {
                Intent::DefaultTime
            }
        }
        30 if a % 4 == 0 => Intent::Pause,
        30..=32 => Intent::Resume {
            absent: if bit(a, 0) { vec![side(b)] } else { Vec::new() },
        },
        33 if a % 8 == 0 => Intent::Resign,
        33 => Intent::NoStart { side: side(a) },
        34 => {
            if a % 4 == 0 {
                Intent::Abort
            } else {
                Intent::TakeBack
            }
        }
        35 => Intent::AnswerTakeBack { accept: bit(a, 0) },
        36 if a % 4 > 0 => Intent::Press { two_hands: false },
        36 => Intent::Seal {
            text: if bit(b, 0) {
                legal(game, a)
            } else {
                illegal(game, a, b)
            },
        },
        37 if a % 8 == 0 => Intent::SignResult {
            result: pick(
                &[
                    GameResult::Draw,
                    GameResult::BothLose,
                    GameResult::Win(side(b)),
                ],
                c,
            ),
        },
        _ => Intent::Connection {
            side: side(a),
            connected: bit(b, 0),
        },
    }
}

/// Most often the seat from which the intent makes sense.
pub(crate) fn seat_of(game: &Game, number: u8, intent: &Intent) -> Seat {
    let turn = game.position().turn();
    if number == 15 {
        return Seat::Referee;
    }
    if number == 14 {
        return Seat::Arbiter;
    }
    match intent {
        Intent::FlagFell { .. } | Intent::MateDecided(_) | Intent::WasDown { .. } => Seat::Referee,
        Intent::Decide(_)
        | Intent::BothFlags { .. }
        | Intent::Start
        | Intent::DefaultTime
        | Intent::Resume { .. }
        | Intent::NoStart { .. }
        | Intent::Connection { .. }
        | Intent::SignResult { .. } => Seat::Arbiter,
        Intent::Move(_) if number > 0 => Seat::Player(turn),
        _ => Seat::Player(if number.is_multiple_of(2) {
            turn
        } else {
            !turn
        }),
    }
}

/// A profile with up to three parameters changed, each to a value that it can have.
pub(crate) fn profiles() -> impl Strategy<Value = (Profile, bool)> {
    let change = (any::<prop::sample::Index>(), any::<u32>());
    (
        0..PROFILE_NAMES.len(),
        any::<bool>(),
        prop::collection::vec(change, 0..4),
    )
        .prop_map(|(number, is_chess960, changes)| {
            let changes: Vec<(&str, String)> = changes
                .into_iter()
                .map(|(index, number)| {
                    let name = *index.get(Parameters::NAMES);
                    let value = match Parameters::allowed(name).expect("it is a parameter") {
                        Allowed::Words(words) => pick(words, number).to_owned(),
                        Allowed::NumberUpTo(max) if bit(number, 31) => {
                            (number % (max + 1)).to_string()
                        }
                        Allowed::NumberUpTo(max) => (number % 4).min(max).to_string(),
                        Allowed::HalfPointsUpTo(_) => "3/1.5/0".to_owned(),
                    };
                    (name, value)
                })
                .collect();
            let changes: Vec<(&str, &str)> = changes
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let variant = if is_chess960 {
                Variant::Chess960
            } else {
                Variant::Standard
            };
            let name = PROFILE_NAMES[number];
            let is_fixed = |change| {
                let resolved = Profile::resolve(name, variant, &[change]);
                matches!(resolved, Err(ProfileError::Overrides(errors))
                    if matches!(errors[..], [(_, ParameterError::Fixed { .. })]))
            };
            let changes: Vec<(&str, &str)> = changes
                .into_iter()
                .filter(|&change| !is_fixed(change))
                .collect();
            let profile = Profile::resolve(name, variant, &changes);
            (profile.expect("the changes are allowed"), is_chess960)
        })
}

fn controls() -> impl Strategy<Value = Option<TimeControl>> {
    let bonus = prop_oneof![
        Just(Bonus::None),
        (1..30_000u64).prop_map(Bonus::Fischer),
        (1..30_000u64).prop_map(Bonus::Bronstein),
        (1..30_000u64).prop_map(Bonus::Delay),
    ];
    let period = |moves| {
        (1_000..300_000u64, bonus.clone()).prop_map(move |(time_ms, bonus)| Period {
            moves,
            time_ms,
            bonus,
        })
    };
    prop_oneof![
        1 => Just(None),
        4 => (
            prop::collection::vec(period(Some(3)), 0..3),
            period(None),
            any::<bool>(),
        )
            .prop_map(|(mut periods, last, at_start)| {
                periods.push(last);
                Some(TimeControl::new(periods, at_start).expect("the periods are in range"))
            }),
    ]
}

pub(crate) fn timings() -> impl Strategy<Value = Timing> {
    let keeper = prop_oneof![Just(Keeper::Platform), Just(Keeper::Referee)];
    let left = prop::option::weighted(0.3, 0..200_000u64);
    (keeper, controls(), controls(), [left.clone(), left]).prop_map(
        |(keeper, white, black, left_ms)| Timing {
            keeper,
            white,
            black,
            setup: ClockSetup {
                left_ms,
                moves: [0, 0],
            },
        },
    )
}

/// Positions that are near an end of some kind, or of castling, promotion or en passant.
pub(crate) const STARTS: [&str; 9] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1",
    "4k3/8/8/8/8/8/8/R3K2R w KQ - 98 80",
    "8/8/3k4/8/2q5/8/5N2/4K3 w - - 146 150",
    "7k/6Q1/8/8/8/8/8/K7 b - - 0 1",
    "8/2P5/8/8/8/k7/8/K7 w - - 0 1",
    "1n5k/P1P5/8/8/8/8/5p1p/4N1NK b - - 0 1",
    "k7/8/5n1p/5Pp1/7K/r7/8/8 w - g6 0 1",
    "8/8/8/8/8/1r6/kr6/2K5 b - - 3 60",
];
