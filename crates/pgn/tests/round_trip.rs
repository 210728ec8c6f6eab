//! What is written is read as the game that it was, whatever the game and however the text is cut;
//! and anything at all is read the same, however it is cut.

mod support;

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use referee_chess::{CastlingMode, Position, chess960};
use referee_pgn::{Comment, Eval, Fault, Game, LINE_WIDTH_MAX, Note, Outcome, Parser, Place};
use referee_pgn::{Tag, Tags, Visitor};
use support::{read, read_in_pieces};

/// What goes with a move: a choice among the legal ones, times, an evaluation, glyphs, a comment.
type Played = (
    u16,
    Option<Duration>,
    Option<Duration>,
    Option<Eval>,
    Vec<u8>,
    String,
);

fn times() -> impl Strategy<Value = Duration> {
    let nanos = prop_oneof![Just(0), Just(100_000_000), 0..1_000_000_000u32];
    (0..360_000_000u64, nanos).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

fn evals() -> impl Strategy<Value = Eval> {
    let depth = || option::of(0..100u32);
    prop_oneof![
        (-99_999_999..99_999_999i32, depth())
            .prop_map(|(score, depth)| Eval::Centipawns { score, depth }),
        (-500..500i32, depth()).prop_map(|(moves, depth)| Eval::Mate { moves, depth }),
    ]
}

/// Words as a comment can have them, some that look like something else.
fn comments() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[A-Za-z0-9.,;()!?$%*-]{1,12}",
        "[a-z{}]{1,5}",
        "[äéßЖ中♘]{1,4}",
        Just("[%cal Ge2e4]".to_owned()),
        Just("x[%cal Ge2e4, Gd2d4]".to_owned()),
        Just("[Event".to_owned()),
        Just("\"x\"]".to_owned()),
        Just("1-0".to_owned()),
        "[a-z]{80,120}",
    ];
    prop_oneof![
        3 => Just(String::new()),
        1 => vec(word, 0..20).prop_map(|words| words.join(" ")),
    ]
}

fn played() -> impl Strategy<Value = Played> {
    let nags = prop_oneof![4 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..5)];
    let rarely = |strategy| option::weighted(0.3, strategy);
    (
        any::<u16>(),
        rarely(times()),
        rarely(times()),
        option::weighted(0.2, evals()),
        nags,
        comments(),
    )
}

fn starts() -> impl Strategy<Value = Position> {
    let usual = Just(Position::startpos());
    let chess960 = (0..960u32).prop_map(|number| {
        chess960::startpos(number, CastlingMode::Chess960).expect("there are 960 positions")
    });
    // Any position of a random game can be the start of another, counters and all.
    let later = (0..960u32, any::<bool>(), vec(any::<u16>(), 1..60)).prop_map(
        |(number, is_usual, choices)| {
            let (number, mode) = match is_usual {
                true => (518, CastlingMode::Standard),
                false => (number, CastlingMode::Chess960),
            };
            let mut position = chess960::startpos(number, mode).expect("there are 960 positions");
            for choice in choices {
                let moves = position.legal_moves();
                if moves.is_empty() {
                    break;
                }
                position = position.after_unchecked(moves[usize::from(choice) % moves.len()]);
            }
            position
        },
    );
    prop_oneof![usual, chess960, later]
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::WhiteWins),
        Just(Outcome::BlackWins),
        Just(Outcome::Draw),
        Just(Outcome::Unknown),
        Just(Outcome::BothLose),
        Just(Outcome::WhiteHalf),
        Just(Outcome::BlackHalf),
        Just(Outcome::WhiteWinsForfeit),
        Just(Outcome::BlackWinsForfeit),
        Just(Outcome::BothForfeit),
    ]
}

prop_compose! {
    fn games()(
        start in starts(),
        moves in vec(played(), 0..120),
        outcome in outcomes(),
        roster in vec(".{0,30}", 6),
        others in vec(("[A-Z][A-Za-z0-9_]{0,12}", ".{0,30}"), 0..5),
        comment in comments(),
        start_clock in option::weighted(0.2, times()),
    ) -> Game {
        let mut game = Game::from_position(start);
        let clean = |text: &str| text.replace(char::is_control, "");
        let names = ["Event", "Site", "Date", "Round", "White", "Black"];
        for (name, value) in names.iter().zip(&roster) {
            game.tags.set(name, &clean(value));
        }
        for (name, value) in &others {
            let is_own = ["Result", "Score", "SetUp", "FEN", "Variant"].contains(&&**name);
            if !is_own {
                game.tags.set(name, &clean(value));
            }
        }
        let mut position = game.start.clone();
        for (choice, clock, elapsed, eval, nags, comment) in moves {
            let legal = position.legal_moves();
            if legal.is_empty() {
                break;
            }
            let mv = legal[usize::from(choice) % legal.len()];
            position = position.after_unchecked(mv);
            game.moves.push(mv);
            let note = Note { clock, elapsed, eval, nags, comment };
            if !note.is_empty() {
                *game.notes.get_mut(game.moves.len() - 1) = note;
            }
        }
        game.comment = comment;
        game.start_clock = start_clock;
        game.outcome = outcome;
        game
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read_as_the_game_that_it_was(game in games(), piece in 1..300usize) {
        let text = game.export().to_string();
        let (readings, stray) = read_in_pieces(text.as_bytes(), piece);
        prop_assert!(stray.is_empty(), "{stray:?}\n{text}");
        prop_assert_eq!(readings.len(), 1, "{}", text);
        prop_assert!(readings[0].faults.is_empty(), "{:?}\n{text}", readings[0].faults);
        prop_assert_eq!(&readings[0].game, &game, "{}", text);
        prop_assert_eq!(readings[0].game.export().to_string(), text);
    }

    #[test]
    fn lines_of_moves_are_short(game in games()) {
        let text = game.export().to_string();
        let moves = text.split("\n\n").skip(1).flat_map(str::lines);
        for line in moves {
            // Only a word of a comment that has no room on any line makes one longer.
            let longest = line.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
            let glued = line.contains('[') || line.contains('%') || line.contains(';');
            prop_assert!(
                line.chars().count() <= LINE_WIDTH_MAX || longest >= 70 || glued,
                "{line}"
            );
            prop_assert!(!line.starts_with(['%', '[']), "{line}");
        }
    }

    #[test]
    fn games_in_a_row_stay_apart(games in vec(games(), 2..5)) {
        let texts: Vec<String> = games.iter().map(|game| game.export().to_string()).collect();
        for between in ["\n", "", "\n\n% x\n"] {
            let (readings, stray) = read(texts.join(between).as_bytes());
            prop_assert!(stray.is_empty());
            prop_assert!(readings.iter().map(|reading| &reading.game).eq(&games));
        }
    }

    #[test]
    fn nothing_depends_on_how_a_text_is_cut(text in soup(), piece in 1..40usize) {
        let whole = events(text.as_bytes(), usize::MAX);
        prop_assert_eq!(&whole, &events(text.as_bytes(), piece));
        check_order(&whole)?;
    }

    #[test]
    fn bytes_are_no_harm(bytes in vec(any::<u8>(), 0..400), piece in 1..40usize) {
        prop_assert_eq!(events(&bytes, usize::MAX), events(&bytes, piece));
    }
}

/// Pieces of games, good and bad, in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "[White \"A\"]",
        "[Event \"x\"]",
        "[",
        "]",
        "\"",
        "\\",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "1.",
        "1...",
        "e4",
        "e5",
        "Nf3",
        "O-O",
        "0-0",
        "0-0-0",
        "e8(Q)",
        "exd6e.p.",
        "e.p.",
        "--",
        "Z0",
        "1-0",
        "1/2-1/2",
        "*",
        "½-½",
        "{",
        "}",
        "[%clk 0:01:00]",
        ";",
        "%",
        "(",
        ")",
        "$1",
        "$",
        "!?",
        "?",
        "♘f3",
        "…",
        "\u{feff}",
        "\u{a0}",
        "+/-",
        "N",
        "word",
        "<",
        ".",
        "1",
        "[A b]",
        "[Result \"0-0\"]\n",
        "[FEN \"?\"]\n",
        "\n\n[Event \"x\"]\n[Site \"y\"]\n\n",
        "x\0",
        "é",
    ]);
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Writes down all that a visitor is told.
#[derive(Default)]
struct Recorder(Vec<String>);

impl Visitor for Recorder {
    fn begin_game(&mut self, place: Place) {
        self.0.push(format!("begin {place}"));
    }
    fn tag(&mut self, tag: Tag<'_>) {
        self.0
            .push(format!("tag {} {} {}", tag.name(), tag.value(), tag.place));
    }
    fn begin_moves(&mut self, place: Place) {
        self.0.push(format!("moves {place}"));
    }
    fn move_number(&mut self, number: u32) {
        self.0.push(format!("number {number}"));
    }
    fn move_text(&mut self, text: &[u8], place: Place) {
        self.0.push(format!("move {text:?} {place}"));
    }
    fn nag(&mut self, nag: u8, place: Place) {
        self.0.push(format!("nag {nag} {place}"));
    }
    fn comment(&mut self, comment: Comment<'_>) {
        self.0
            .push(format!("comment {:?} {}", comment.raw, comment.place));
    }
    fn begin_variation(&mut self) {
        self.0.push("(".to_owned());
    }
    fn end_variation(&mut self) {
        self.0.push(")".to_owned());
    }
    fn outcome(&mut self, outcome: Outcome, place: Place) {
        self.0.push(format!("outcome {outcome} {place}"));
    }
    fn end_game(&mut self, place: Place) {
        self.0.push(format!("end {place}"));
    }
    fn fault(&mut self, fault: Fault) {
        self.0.push(format!("fault {fault}"));
    }
}

fn events(text: &[u8], piece: usize) -> Vec<String> {
    let mut recorder = Recorder::default();
    let mut parser = Parser::new();
    for piece in text.chunks(piece) {
        parser.push(piece, &mut recorder);
    }
    parser.finish(&mut recorder);
    recorder.0
}

/// What a visitor is told comes in the order that the trait promises.
fn check_order(events: &[String]) -> Result<(), TestCaseError> {
    let mut stage = "between";
    let mut depth = 0;
    for event in events {
        let word = event.split(' ').next().unwrap_or_default();
        stage = match (stage, word) {
            (_, "fault") => stage,
            ("between", "begin") => "tags",
            ("tags", "tag" | "comment") => "tags",
            ("tags", "moves") => "moves",
            ("moves", "move" | "number" | "nag" | "comment") => "moves",
            ("moves", "(") => {
                depth += 1;
                "moves"
            }
            ("moves", ")") => {
                depth -= 1;
                prop_assert!(depth >= 0);
                "moves"
            }
            ("moves", "outcome") if depth == 0 => "ending",
            ("ending", "comment") => "ending",
            ("tags" | "moves" | "ending", "end") if depth == 0 => "between",
            _ => {
                return Err(TestCaseError::fail(format!(
                    "{event} at {stage}: {events:#?}"
                )));
            }
        };
    }
    prop_assert_eq!(stage, "between");
    Ok(())
}

#[test]
fn tags_of_the_record_are_written_from_the_record() {
    let mut game = Game::new();
    game.tags.set(Tags::FEN, "nonsense");
    game.tags.set(Tags::RESULT, "1-0");
    game.outcome = Outcome::BothLose;
    let text = game.export().to_string();
    assert!(
        text.contains("[Result \"*\"]") && text.contains("[Score \"0-0\"]"),
        "{text}"
    );
}
