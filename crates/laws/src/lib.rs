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
//! use referee_laws::{Action, Color, Game, Intent, Profile, Start};
//!
//! let mut game = Game::new(Profile::fide_standard(), &Start::default())?;
//! for (side, text) in [
//!     (Color::White, "f3"), (Color::Black, "e5"), (Color::White, "g4"), (Color::Black, "Qh4"),
//! ] {
//!     let action = Action::player(side, Intent::Move { text: text.into(), offer_draw: false });
//!     let entry = game.judge(&action).entry.expect("the move is legal");
//!     game.apply(&entry.effects)?;
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
mod clock;
mod dead;
mod game;
mod history;
mod judge;
mod outcome;
mod profile;
mod ruling;

pub use action::{Action, DrawClaim, Intent, Seat};
pub use adjudicate::{Adjudication, AvailableClaim};
pub use articles::{Citation, EDITION};
pub use clock::{
    BONUS_MS_MAX, Bonus, CLOCK_MS_MAX, ClockChange, ClockSetup, ClockSetupError, Clocks, Keeper,
    LedgerCause, LedgerError, LedgerLine, MOVES_MADE_MAX, PERIOD_MOVES_MAX, PERIOD_MS_MAX,
    PERIODS_MAX, Period, PeriodPart, SideClock, TIME_CONTROL_LENGTH_MAX, TIME_MS_MAX, Time,
    TimeControl, TimeControlError, TimeError, adds_up,
};
pub use dead::{CanMate, NoMate, NoMateKind, can_mate};
pub use game::{ApplyError, Bound, Effects, Entry, Game, GameError, Start};
pub use history::{History, HistoryError};
pub use judge::Judgment;
pub use outcome::{Evidence, GameResult, Outcome, Termination};
pub use profile::{
    AbortRule, Allowed, BothFlags, DisconnectRule, DrawRule, FiftyReset, FlagMode, FlagVsOpenOffer,
    IllegalCounts, IllegalPolicy, MateTest, NoStartRule, OfferDeclinedBy, OfferRepeat, OfferWindow,
    Origin, PROFILE_NAMES, ParameterError, Parameters, Points, PressWithoutMove, Profile,
    ProfileError, PromotionMissing, RapidArticle, RookFirstCastling, Takeback, TouchEnforcement,
    UndeterminedPolicy, UnknownProfileError, Variant,
};
pub use referee_chess::Color;
pub use ruling::{Reason, Ruling, Verdict};
