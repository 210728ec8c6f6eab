//! What FENs are read as, and what is said of those that are none.

use super::*;

fn issues(text: &str) -> Vec<FenIssue> {
    match Position::from_fen(text, CastlingMode::Standard) {
        Ok(position) => panic!("{text} was read as {position}"),
        Err(error) => error.issues,
    }
}

fn text(field: FenField, offset: usize, fault: FenFault) -> FenIssue {
    FenIssue::Text {
        field,
        offset,
        fault,
    }
}

#[test]
fn every_problem_is_named_at_once() {
    assert_eq!(
        issues("4k3/8/8/8/8/P7/PPPPPPPP/4K2R x KxK e9 -5 1; more"),
        [
            text(FenField::Turn, 29, FenFault::Unexpected { found: 'x' }),
            text(FenField::Castling, 32, FenFault::Unexpected { found: 'x' }),
            text(FenField::Castling, 33, FenFault::Repeated { letter: 'K' }),
            text(FenField::EnPassant, 36, FenFault::Unexpected { found: '9' }),
            text(
                FenField::HalfmoveClock,
                38,
                FenFault::Unexpected { found: '-' }
            ),
            text(
                FenField::FullmoveNumber,
                42,
                FenFault::Unexpected { found: ';' }
            ),
            text(FenField::End, 44, FenFault::Unexpected { found: 'm' }),
            FenIssue::Position(PositionIssue::TooMuchMaterial(Color::White)),
        ]
    );
}

#[test]
fn ranks_are_measured() {
    let board = |offset, fault| text(FenField::Board, offset, fault);
    let rank = |index| Rank::new(index).expect("a rank");
    assert_eq!(
        issues("4k3/7/pppppppppp/44/8/é7/4K3 w - - 0 1"),
        [
            board(0, FenFault::RankCount { ranks: 7 }),
            board(
                4,
                FenFault::RankLength {
                    rank: rank(6),
                    squares: 7
                }
            ),
            board(
                6,
                FenFault::RankLength {
                    rank: rank(5),
                    squares: 10
                }
            ),
            board(18, FenFault::Unexpected { found: '4' }),
            board(22, FenFault::Unexpected { found: 'é' }),
        ]
    );
}

#[test]
fn missing_fields_are_named_one_by_one() {
    let fields = |text| -> Vec<FenField> {
        issues(text)
            .into_iter()
            .map(|issue| match issue {
                FenIssue::Text {
                    field,
                    fault: FenFault::Missing,
                    ..
                } => field,
                other => panic!("{other}"),
            })
            .collect()
    };
    use FenField::{Board, Castling, EnPassant, FullmoveNumber, HalfmoveClock, Turn};
    let all = [
        Board,
        Turn,
        Castling,
        EnPassant,
        HalfmoveClock,
        FullmoveNumber,
    ];
    assert_eq!(fields(""), all);
    assert_eq!(fields(" \t\n"), all);
    assert_eq!(fields("4k3/8/8/8/8/8/8/4K3"), all[1..]);
    assert_eq!(fields("4k3/8/8/8/8/8/8/4K3 w  - 0 1"), [Castling]);
    assert_eq!(fields("4k3/8/8/8/8/8/8/4K3 w - - 0"), [FullmoveNumber]);
    // One counter alone may be either; none is what EPD has.
    let bare = Position::from_fen("4k3/8/8/8/8/8/8/4K3 w - -", CastlingMode::Standard);
    let bare = bare.expect("four fields are enough");
    assert_eq!(bare.to_string(), "4k3/8/8/8/8/8/8/4K3 w - - 0 1");
}

#[test]
fn an_error_says_the_first_few_faults_only() {
    let said = |text| {
        let error = Position::from_fen(text, CastlingMode::Standard);
        error.expect_err("this is no FEN").to_string()
    };
    assert_eq!(
        said("garbage"),
        "piece placement, byte 0: found 1 ranks; expected are eight; side to move, byte 7: \
         missing; expected is w or b; and 9 more"
    );
    assert_eq!(said("").matches("missing").count(), 1);
    assert!(said("xxxxxxxx/8/8/8/8/8/8/8 x y z 0 1").ends_with("; and 8 more"));
    assert!(!said("4k3/8/8/8/8/8/8/4K3 w - - 0").contains("more"));
}

#[test]
fn the_game_begins_where_startpos_says() {
    for mode in [CastlingMode::Standard, CastlingMode::Chess960] {
        let read = Position::from_fen(" startpos ", mode).expect("it is a name of a position");
        assert_eq!(read.to_string(), Position::startpos().to_string());
        assert_eq!(read.castling_mode(), mode);
    }
    assert_eq!(issues("startpo").len(), 11);
}

#[test]
fn the_length_is_checked_first() {
    let long = "4k3/8/8/8/8/8/8/4K3 w - - 0 1".to_owned() + &" ".repeat(FEN_LENGTH_MAX);
    let length = long.len();
    assert_eq!(
        issues(&long),
        [text(FenField::Board, 0, FenFault::TooLong { length })]
    );
}

#[test]
fn lenient_reading_sets_right_what_it_can() {
    for (text, written) in [
        (
            "4k3/8/8/8/8/8/8/4K2R\tw  KKQ d6 ",
            Some("4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
        ),
        (
            "4k3/8/8/8/8/8/8/4K3 w - - 7",
            Some("4k3/8/8/8/8/8/8/4K3 w - - 7 1"),
        ),
        (
            "4k3/8/8/8/8/8/8/4K3 w - - 7 0",
            Some("4k3/8/8/8/8/8/8/4K3 w - - 7 1"),
        ),
        (
            "4k3/8/8/8/8/8/8/4K3 w - - 99999999999 1",
            Some("4k3/8/8/8/8/8/8/4K3 w - - 20000 1"),
        ),
        ("4k3/8/8/8/8/8/8/4K3 w  - 0 1", None),
        ("4k3/8/8/8/8/8/8/4K3_w_-_-_0_1", None),
        ("4k3/8/8/8/8/8/8/4K3/ w - - 0 1", None),
        ("4k3/8/8/8/8/8/8/4K3 w -", None),
        ("4k3/8/8/8/8/8/8/4K3 W - - 0 1", None),
        ("4k3/8/8/8/8/8/8/4K2R w K - bm O-O; id \"x\";", None),
    ] {
        let position = Position::from_fen_with(text, CastlingMode::Standard, Tolerance::LENIENT);
        let position = position.map(|position| position.to_string());
        assert_eq!(position.ok().as_deref(), written, "{text}");
        assert!(Position::from_fen(text, CastlingMode::Standard).is_err());
    }
}

#[test]
fn castling_letters_name_the_same_rooks_in_each_form() {
    let chess960 = |text: &str| {
        let position = Position::from_fen(text, CastlingMode::Chess960);
        position.unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    for (text, xfen, shredder) in [
        ("1r2k1rr/8/8/8/8/8/8/4K3 b gb - 0 1", "gq", "gb"),
        ("1r2k1rr/8/8/8/8/8/8/4K3 b bk - 0 1", "kq", "hb"),
        ("6k1/8/8/8/8/8/8/RR2K3 w B - 0 1", "B", "B"),
        ("4k3/8/8/8/8/6R1/8/4K2R w K - 0 1", "K", "H"),
    ] {
        let setup = chess960(text).to_setup();
        let written = [Fen(&setup).to_string(), ShredderFen(&setup).to_string()];
        for (written, castling) in written.iter().zip([xfen, shredder]) {
            assert_eq!(written.split(' ').nth(2), Some(castling));
            assert_eq!(chess960(written).to_setup(), setup);
        }
    }
    let standard = Position::from_fen(
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 1",
        CastlingMode::Standard,
    );
    assert_eq!(standard, Ok(Position::startpos()));
    let named = |letter: &str| issues(&format!("4k3/8/8/8/8/8/8/4K1R1 w {letter} - 0 1"));
    let rights = |index| {
        let square = Square::new(index).expect("a square");
        [FenIssue::Position(PositionIssue::CastlingRights(
            square.into(),
        ))]
    };
    assert_eq!(named("K"), rights(7));
    assert_eq!(named("G"), rights(6));
}
