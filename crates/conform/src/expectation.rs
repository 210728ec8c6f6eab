//! What a case expects after its last event, and what is wrong with the game that came of it.

use referee_api::v1;

use crate::fields::{CaseError, Fields, line_milliseconds, milliseconds};
use crate::verdict::Failure;
use crate::words;

/// What is expected of the clock of one side.
#[derive(Debug, Default)]
struct ClockExpectation {
    left_ms: Option<i64>,
    ruled_ms: Option<i64>,
}

/// What a case expects after its last event.
#[derive(Debug, Default)]
pub(crate) struct Expectation {
    /// Why the position is to be refused, where it is.
    pub(crate) rejected: bool,
    /// How often the position has occurred after the move that is announced with a claim.
    pub(crate) repetitions_after_intended: Option<u64>,
    result: Option<v1::GameResult>,
    is_over: Option<bool>,
    termination: Option<v1::Termination>,
    clocks: [ClockExpectation; 2],
    bonus_mode: Option<v1::BonusMode>,
    bonus_ms: Option<i64>,
    illegal_moves: [Option<u32>; 2],
    plies: Option<u64>,
    halfmove_clock: Option<u64>,
    placed: Vec<(String, char)>,
    half_points: [Option<u32>; 2],
    fen: Option<String>,
    placement: Option<String>,
    repetitions: Option<u64>,
    can_mate: [Option<bool>; 2],
}

/// What became of a game.
#[derive(Debug)]
pub(crate) struct End {
    /// The game as it stands.
    pub(crate) game: v1::Game,
    /// The time that has passed since the last event, in milliseconds.
    pub(crate) waited_ms: i64,
    /// Every change of a clock.
    pub(crate) ledger: Vec<v1::LedgerLine>,
    /// Whether White and Black can still mate; `None` where the position cannot be asked about.
    pub(crate) can_mate: Option<[v1::CanMate; 2]>,
}

/// The two sides, as the fields of cases name them.
const SIDES: [(usize, &str, v1::Color); 2] =
    [(0, "w", v1::Color::White), (1, "b", v1::Color::Black)];

/// The changes of a clock that are rulings and not the passing of time.
const RULED: [v1::LedgerCause; 4] = [
    v1::LedgerCause::Penalty,
    v1::LedgerCause::Grant,
    v1::LedgerCause::ArbiterSet,
    v1::LedgerCause::TakenBack,
];

impl Expectation {
    /// Reads what a case expects, and the facts that it states.
    pub(crate) fn read(fields: &Fields) -> Result<Expectation, CaseError> {
        let mut expected = Expectation::default();
        expected.read_end(&fields.required_object("expect")?)?;
        if let Some(facts) = fields.object("facts")? {
            expected.read_facts(&facts)?;
        }
        Ok(expected)
    }

    fn read_end(&mut self, fields: &Fields) -> Result<(), CaseError> {
        self.result = words::result(fields, "result")?;
        self.is_over = fields.flag("over")?;
        self.termination = words::termination(fields, "termination")?;
        self.rejected = fields.text("start_rejected")?.is_some();
        self.plies = fields.number("plies")?;
        self.halfmove_clock = fields.number("halfmove")?;
        if let Some(clock) = fields.object("clock")? {
            for (index, side, _) in SIDES {
                self.clocks[index] = ClockExpectation {
                    left_ms: clock.signed_number(&format!("{side}_ms"))?,
                    ruled_ms: clock.signed_number(&format!("{side}_delta_ms"))?,
                };
            }
            if clock.value("mode").is_some() {
                self.bonus_mode = Some(words::bonus_mode(&clock, "mode")?);
            }
            self.bonus_ms = clock.signed_number("inc_ms")?;
            refuse_unread(&clock)?;
        }
        if let Some(illegal) = fields.object("illegal")? {
            for (index, side, _) in SIDES {
                self.illegal_moves[index] = illegal.small_number(side)?;
            }
            refuse_unread(&illegal)?;
        }
        if let Some(points) = fields.object("points")? {
            for (index, side, _) in SIDES {
                self.half_points[index] = half_points(&points, side)?;
            }
            refuse_unread(&points)?;
        }
        if let Some(placed) = fields.object("position_contains")? {
            for square in placed.names() {
                let piece = placed.required_text(square)?;
                let mut letters = piece.chars();
                match (letters.next(), letters.next()) {
                    (Some(letter), None) => self.placed.push((square.to_owned(), letter)),
                    _ => return Err(placed.error(square, "must be one letter, such as B")),
                }
            }
        }
        refuse_unread(fields)
    }

    fn read_facts(&mut self, fields: &Fields) -> Result<(), CaseError> {
        self.fen = fields.text("final_fen")?.map(str::to_owned);
        self.placement = fields.text("after_fen_board")?.map(str::to_owned);
        self.repetitions = fields.number("repetitions")?;
        self.repetitions_after_intended = fields.number("repetitions_after_intended")?;
        if let Some(halfmove_clock) = fields.number("halfmove")? {
            self.halfmove_clock = Some(halfmove_clock);
        }
        if let Some(can_mate) = fields.object("helpmate_possible")? {
            self.can_mate = [can_mate.flag("white")?, can_mate.flag("black")?];
        }
        self.rejected |= fields.flag("start_illegal")?.unwrap_or_default();
        // It is about how the facts were checked.
        fields.flag("skip_start_check")?;
        refuse_unread(fields)
    }

    /// Whether the game is to be over.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over == Some(true)
    }

    /// Whether the facts ask who can still mate.
    pub(crate) fn asks_can_mate(&self) -> bool {
        self.can_mate.iter().any(Option::is_some)
    }

    /// Whether anything is expected of what rulings do to the clocks.
    pub(crate) fn asks_ledger(&self) -> bool {
        self.clocks.iter().any(|clock| clock.ruled_ms.is_some())
    }

    /// Returns what is not as expected.
    pub(crate) fn check(&self, end: &End) -> Vec<Failure> {
        let mut wrong = Vec::new();
        self.check_outcome(&end.game, &mut wrong);
        self.check_clocks(end, &mut wrong);
        self.check_board(&end.game, &mut wrong);
        if let Some(found) = end.can_mate {
            for (index, side, _) in SIDES {
                let found = match found[index] {
                    v1::CanMate::Yes => "true",
                    v1::CanMate::No => "false",
                    v1::CanMate::Unknown => "not decided",
                    v1::CanMate::Unspecified => "not asked",
                };
                let what = format!("facts: {side} can mate");
                expect(&mut wrong, &what, self.can_mate[index], found.to_owned());
            }
        }
        wrong
    }

    /// Returns what is not as expected of a game that was never created.
    pub(crate) fn check_rejected(&self) -> Vec<Failure> {
        let mut wrong = Vec::new();
        let expected = self.result.map(words::result_word);
        let ongoing = words::result_word(v1::GameResult::Ongoing);
        expect(&mut wrong, "result", expected, ongoing.to_owned());
        expect(&mut wrong, "over", self.is_over, false.to_string());
        wrong
    }

    fn check_outcome(&self, game: &v1::Game, wrong: &mut Vec<Failure>) {
        let outcome = game.outcome.clone().unwrap_or_default();
        let result = words::result_word(outcome.result());
        let expected = self.result.map(words::result_word);
        expect(wrong, "result", expected, result.to_owned());
        let is_over = outcome.result() != v1::GameResult::Ongoing;
        expect(wrong, "over", self.is_over, is_over.to_string());
        let is_finished = game.state() == v1::game::State::Finished;
        expect(
            wrong,
            "state of the game is over",
            Some(is_over),
            is_finished.to_string(),
        );
        let found = words::termination_word(outcome.termination());
        let expected = self.termination.map(words::termination_word);
        expect(wrong, "termination", expected, found);
        let points = [outcome.white_half_points, outcome.black_half_points];
        for (index, side, _) in SIDES {
            let found = points[index].map_or("none".to_owned(), |points| points.to_string());
            let what = format!("half-points {side}");
            expect(wrong, &what, self.half_points[index], found);
        }
    }

    fn check_clocks(&self, end: &End, wrong: &mut Vec<Failure>) {
        let conduct = end.game.conduct.clone().unwrap_or_default();
        let clocks = conduct.clocks.unwrap_or_default();
        let both = [clocks.white, clocks.black];
        let both = both.map(Option::unwrap_or_default);
        let has_time = both.iter().any(|clock| clock.time_left.is_some());
        for (index, side, color) in SIDES {
            let expected = &self.clocks[index];
            let clock = &both[index];
            let left = left_ms(&conduct, color, end.waited_ms)
                .map_or("none".to_owned(), |ms| ms.to_string());
            expect(wrong, &format!("clock {side}_ms"), expected.left_ms, left);
            let ruled: i64 = end
                .ledger
                .iter()
                .filter(|line| line.side() == color && RULED.contains(&line.cause()))
                .map(|line| {
                    let ms = |time: &Option<_>| time.as_ref().map_or(0, milliseconds);
                    ms(&line.credited) - ms(&line.charged)
                })
                .sum();
            let what = format!("clock {side}_delta_ms");
            expect(wrong, &what, expected.ruled_ms, ruled.to_string());
            // A side that plays without a clock gets nothing for its moves.
            let is_timed = clock.time_left.is_some() || !has_time;
            if !is_timed {
                continue;
            }
            let mode = words::bonus_mode_word(clock.bonus_mode());
            let expected = self.bonus_mode.map(words::bonus_mode_word);
            expect(
                wrong,
                &format!("clock mode of {side}"),
                expected,
                mode.to_owned(),
            );
            let bonus = clock.bonus.as_ref().map_or(0, milliseconds);
            let what = format!("clock inc_ms of {side}");
            expect(wrong, &what, self.bonus_ms, bonus.to_string());
        }
        let count = |side: &Option<v1::SideConduct>| side.map_or(0, |side| side.illegal_moves);
        let counts = [count(&conduct.white), count(&conduct.black)];
        for (index, side, _) in SIDES {
            let what = format!("illegal {side}");
            expect(
                wrong,
                &what,
                self.illegal_moves[index],
                counts[index].to_string(),
            );
        }
    }

    fn check_board(&self, game: &v1::Game, wrong: &mut Vec<Failure>) {
        let plies = game.moves.len().to_string();
        expect(wrong, "plies", self.plies, plies);
        let placement = game.fen.split(' ').next().unwrap_or_default();
        let halfmove_clock = game.fen.split(' ').nth(4).unwrap_or_default();
        expect(
            wrong,
            "halfmove",
            self.halfmove_clock,
            halfmove_clock.to_owned(),
        );
        expect(
            wrong,
            "facts: final_fen",
            self.fen.as_ref(),
            game.fen.clone(),
        );
        let what = "facts: after_fen_board";
        expect(wrong, what, self.placement.as_ref(), placement.to_owned());
        for (square, letter) in &self.placed {
            let found = piece_on(placement, square).unwrap_or('-');
            let what = format!("position_contains {square}");
            expect(wrong, &what, Some(letter), found.to_string());
        }
        let adjudication = game.adjudication.clone().unwrap_or_default();
        let repetitions = adjudication.repetitions.to_string();
        expect(wrong, "facts: repetitions", self.repetitions, repetitions);
    }
}

/// An expectation that is not checked would pass whatever the referee does.
fn refuse_unread(fields: &Fields) -> Result<(), CaseError> {
    match fields.unread().first() {
        Some(path) => Err(CaseError::new(
            path,
            "is not known, so it cannot be checked",
        )),
        None => Ok(()),
    }
}

/// Reads points as half-points.
fn half_points(fields: &Fields, name: &str) -> Result<Option<u32>, CaseError> {
    let Some(value) = fields.value(name) else {
        return Ok(None);
    };
    let halves = value.as_f64().map(|points| points * 2.0);
    let halves = halves.filter(|halves| halves.fract() == 0.0 && (0.0..=1e6).contains(halves));
    let wrong = || fields.error(name, "must be a number of points, whole or a half");
    // It is whole and in range, so nothing is lost.
    halves.map(|halves| Some(halves as u32)).ok_or_else(wrong)
}

/// Notes a failure unless what was found is what is expected; nothing where nothing is expected.
fn expect<T: ToString>(wrong: &mut Vec<Failure>, what: &str, expected: Option<T>, found: String) {
    if let Some(expected) = expected {
        let expected = expected.to_string();
        if expected != found {
            wrong.push(Failure::new(what, expected, found));
        }
    }
}

/// The time that a side has left so long after the last event.
fn left_ms(conduct: &v1::Conduct, side: v1::Color, waited_ms: i64) -> Option<i64> {
    let clocks = conduct.clocks.as_ref()?;
    let clock = match side {
        v1::Color::Black => clocks.black.as_ref()?,
        _ => clocks.white.as_ref()?,
    };
    let left = milliseconds(clock.time_left.as_ref()?);
    if clocks.running() != side || clocks.paused {
        return Some(left);
    }
    let ms = |time: &Option<_>| time.as_ref().map_or(0, milliseconds);
    let line = |time: &Option<_>| time.as_ref().map_or(0, line_milliseconds);
    let run = (line(&conduct.time) + waited_ms - line(&clocks.since_time)).max(0);
    // A delay runs before the time itself does.
    let free = match clock.bonus_mode() {
        v1::BonusMode::Delay => (ms(&clock.bonus) - ms(&clocks.spent)).max(0),
        _ => 0,
    };
    Some((left - (run - free).max(0)).max(0))
}

/// Returns the letter of the piece on a square of a placement as FEN writes it.
fn piece_on(placement: &str, square: &str) -> Option<char> {
    let mut letters = square.chars();
    let file = u32::from(letters.next()?).checked_sub(u32::from('a'))?;
    let rank = letters.next()?.to_digit(10)?;
    let row = placement
        .split('/')
        .nth(usize::try_from(8u32.checked_sub(rank)?).ok()?)?;
    let mut at = 0;
    for letter in row.chars() {
        match letter.to_digit(10) {
            Some(empty) => at += empty,
            None if at == file => return Some(letter),
            None => at += 1,
        }
    }
    None
}
