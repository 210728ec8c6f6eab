//! The tags of a game: its own, and those that say what the referee knows.

use referee_api::v1;
use referee_chess::Color;
use referee_laws::{GameResult, Termination, TimeControl};
use referee_pgn::{Outcome, Tags};
use referee_record::FoldedGame;
use referee_record::convert::InContract;
use time::OffsetDateTime;

/// How a game stood: its result, and how it came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct End(Option<(GameResult, Termination)>);

impl End {
    /// Reads how a game stood from an outcome.
    pub(super) fn of(outcome: Option<&v1::Outcome>) -> End {
        let read = |outcome: &v1::Outcome| {
            let result = GameResult::from_v1(outcome.result())?;
            Some((result, Termination::from_v1(outcome.termination())?))
        };
        End(outcome.and_then(read))
    }
}

/// Writes the tags. What the game has of its own comes before what is made of the rest.
pub(super) fn write_tags(
    live: &FoldedGame,
    begun_us: Option<i64>,
    imported_end: Option<End>,
    tags: &mut Tags,
) {
    let genesis = &live.genesis;
    for tag in &genesis.tags {
        tags.set(&tag.name, &tag.value);
    }
    let label = |name: &str| genesis.labels.get(name).map(String::as_str);
    let mut set = |name, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty())
            && tags.get(name).is_none()
        {
            tags.set(name, value);
        }
    };
    set(Tags::EVENT, label("event").or(label("tournament")));
    set(Tags::SITE, label("site"));
    set(Tags::ROUND, label("round"));
    set(Tags::WHITE, Some(&genesis.white_player));
    set(Tags::BLACK, Some(&genesis.black_player));
    let begun = begun_us.and_then(date_of);
    set(Tags::DATE, label("date").or(begun.as_deref()));
    let clocks = &live.game.conduct().clocks;
    let control = clocks.white.control.as_ref();
    let same = control == clocks.black.control.as_ref();
    let control = control.filter(|_| same).and_then(TimeControl::to_pgn);
    set(Tags::TIME_CONTROL, control.as_deref());
    let outcome = live.game.outcome();
    let end = End(outcome.map(|outcome| (outcome.result, outcome.termination)));
    let written = termination(tags.get(Tags::TERMINATION), end, imported_end);
    match written.map(ToOwned::to_owned) {
        Some(termination) => tags.set(Tags::TERMINATION, &termination),
        None => {
            tags.remove(Tags::TERMINATION);
        }
    }
}

/// The day of a time, as the tag has it (PGN standard 8.1.1.3); `None` beyond the year 9999.
fn date_of(time_us: i64) -> Option<String> {
    let date = OffsetDateTime::from_unix_timestamp(time_us.div_euclid(1_000_000));
    let date = date.ok()?.date();
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    Some(format!("{year:04}.{month:02}.{day:02}"))
}

/// The result as the notation has it.
pub(super) fn written_outcome(result: GameResult) -> Outcome {
    match result {
        GameResult::Win(Color::White) => Outcome::WhiteWins,
        GameResult::Win(Color::Black) => Outcome::BlackWins,
        GameResult::Draw => Outcome::Draw,
        GameResult::BothLose => Outcome::BothLose,
        GameResult::Half(Color::White) => Outcome::WhiteHalf,
        GameResult::Half(Color::Black) => Outcome::BlackHalf,
        GameResult::WinByForfeit(Color::White) => Outcome::WhiteWinsForfeit,
        GameResult::WinByForfeit(Color::Black) => Outcome::BlackWinsForfeit,
        GameResult::BothForfeit => Outcome::BothForfeit,
        GameResult::Cancelled | GameResult::Aborted => Outcome::Unknown,
    }
}

/// What the tag `Termination` says (PGN standard 9.8.1): the words that the game has of its own as
/// long as they are about the end that stands, or else what follows from that end.
fn termination(own: Option<&str>, end: End, imported_end: Option<End>) -> Option<&str> {
    let is_as_imported = imported_end == Some(end);
    let Some((_, how)) = end.0 else {
        return own.filter(|_| imported_end.is_none() || is_as_imported);
    };
    let word = word_of(how);
    match own {
        Some(own) if is_as_imported || word.is_none() || word == Some(own) => Some(own),
        // That an imported game ended in the ordinary way is for its text to say.
        None if is_as_imported && word == Some(NORMAL) => None,
        _ => word,
    }
}

const NORMAL: &str = "normal";

/// The word of the standard for an end; `None` for a result of which only the result is known.
fn word_of(termination: Termination) -> Option<&'static str> {
    Some(match termination {
        Termination::SignedResult => return None,
        Termination::TimeForfeit | Termination::TimeNoMate | Termination::BothFlags => {
            "time forfeit"
        }
        Termination::IllegalMoves
        | Termination::IllegalMovesNoMate
        | Termination::DefaultForfeit
        | Termination::DoubleForfeit => "rules infraction",
        Termination::ArbiterDecision
        | Termination::QuickplayClaim
        | Termination::SealedMove
        | Termination::IllegalPositionDraw => "adjudication",
        Termination::Abandonment
        | Termination::NoStart
        | Termination::WrongInitialPosition
        | Termination::ColorsReversed
        | Termination::Aborted => "abandoned",
        _ => NORMAL,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_ones_own_stand_as_long_as_they_are_about_the_end() {
        let signed = End(Some((GameResult::Draw, Termination::SignedResult)));
        let mate = End(Some((
            GameResult::Win(Color::White),
            Termination::Checkmate,
        )));
        let decided = End(Some((GameResult::Draw, Termination::ArbiterDecision)));
        let open = End(None);
        for (own, end, imported, expected) in [
            (None, open, None, None),
            (Some("unterminated"), open, Some(open), Some("unterminated")),
            (None, mate, None, Some("normal")),
            (None, mate, Some(mate), None),
            (None, mate, Some(open), Some("normal")),
            (Some("unterminated"), mate, Some(open), Some("normal")),
            (
                Some("Anna won by checkmate"),
                mate,
                Some(mate),
                Some("Anna won by checkmate"),
            ),
            (None, signed, None, None),
            (Some("death"), signed, None, Some("death")),
            (
                Some("time forfeit"),
                signed,
                Some(signed),
                Some("time forfeit"),
            ),
            (
                Some("time forfeit"),
                decided,
                Some(signed),
                Some("adjudication"),
            ),
            (None, decided, Some(decided), Some("adjudication")),
        ] {
            assert_eq!(
                termination(own, end, imported),
                expected,
                "{own:?} {end:?} {imported:?}"
            );
        }
    }

    #[test]
    fn days_are_those_of_utc() {
        assert_eq!(date_of(0).as_deref(), Some("1970.01.01"));
        assert_eq!(date_of(-1).as_deref(), Some("1969.12.31"));
        assert_eq!(date_of(i64::MAX), None);
    }
}
