//! The referee: judges what players want by the Laws of Chess, with reasons and evidence.
//!
//! A [`Game`] is the fold of its record. [`Game::judge`] looks at a game and an [`Action`] and
//! answers with a [`Ruling`] and, where something came of the action, the [`Entry`] to be
//! recorded; it changes nothing. [`Game::apply`] takes the effects of an entry and does what was
//! ruled, without judging again, so that an old record gives the same game under a newer referee.
//!
//! Everything here is a pure function of its arguments. Article numbers are those of the FIDE
//! Laws of Chess in force since 1 January 2023.
//!
//! ```
//! use referee_laws::{Action, Color, Game, Profile, Start, Time};
//!
//! let mut game = Game::new(Profile::fide_standard(), &Start::default())?;
//! for (side, text) in [
//!     (Color::White, "f3"), (Color::Black, "e5"), (Color::White, "g4"), (Color::Black, "Qh4"),
//! ] {
//!     let judgment = game.judge(&Action::play(side, text), Time::ORIGIN);
//!     game.apply(&judgment.entry.expect("the move is legal").effects)?;
//! }
//! let outcome = game.outcome().expect("it is mate");
//! assert_eq!(outcome.text, "Black wins by checkmate.");
//! assert_eq!(outcome.citations[0].article, "5.1.1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod action;
mod adjudicate;
mod articles;
mod claim;
mod clock;
mod conduct;
mod counts;
mod deadline;
mod game;
mod history;
mod judge;
mod mate;
mod outcome;
mod profile;
mod question;
mod ruling;

pub use action::{
    Action, ClaimDecision, ClaimIntent, ClaimKind, Decision, Intent, MoveIntent, Score, Seat,
    TouchIntent,
};
pub use adjudicate::{Adjudication, end_by_itself};
pub use articles::{Citation, EDITION};
pub use claim::AvailableClaim;
pub use clock::{
    BONUS_MS_MAX, Bonus, CLOCK_MS_MAX, ClockChange, ClockSetup, ClockSetupError, Clocks, Keeper,
    LedgerCause, LedgerError, LedgerLine, MOVES_MADE_MAX, PERIOD_MOVES_MAX, PERIOD_MS_MAX,
    PERIODS_MAX, Period, PeriodPart, SideClock, TIME_CONTROL_LENGTH_MAX, TIME_MS_MAX, Time,
    TimeControl, TimeControlError, TimeError, adds_up,
};
pub use conduct::{Bound, Breach, Conduct, PendingClaim, Phase, Sides, Touched};
pub use counts::CaptureCount;
pub use game::{ApplyError, Effects, Entry, Game, GameError, Start, Timing};
pub use history::{History, HistoryError, StandError};
pub use judge::{Judgment, MATE_BUDGET_ON_END};
pub use mate::{
    CanMate, MateFinding, NoMate, NoMateKind, SOLVER_BYTES_MAX, Tier, can_mate, cannot_have_won,
};
pub use outcome::{ClockReading, Evidence, GameResult, Outcome, Termination};
pub use profile::{
    AbortRule, Allowed, BothFlags, DisconnectRule, DrawRule, FiftyReset, FlagMode, FlagVsOpenOffer,
    IllegalCounts, IllegalPolicy, MateTest, NoStartRule, OfferDeclinedBy, OfferRepeat, OfferWindow,
    Origin, PROFILE_NAMES, ParameterError, Parameters, Points, PressWithoutMove, Profile,
    ProfileError, PromotionMissing, RapidArticle, RookFirstCastling, Takeback, TouchEnforcement,
    UndeterminedPolicy, UnknownProfileError, Variant,
};
pub use question::{MateQuestion, can_mate_by};
pub use referee_chess::Color;
pub use referee_mate::Budget;
pub use ruling::{Reason, Ruling, Verdict};
