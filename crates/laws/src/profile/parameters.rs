//! The parameters of a profile: what each means, how it is named, and the values it can have.

use core::fmt;

use super::choices::{
    AbortRule, BothFlags, DisconnectRule, DrawRule, FiftyReset, FlagMode, FlagVsOpenOffer,
    IllegalCounts, IllegalPolicy, MateTest, NoStartRule, OfferDeclinedBy, OfferRepeat, OfferWindow,
    PressWithoutMove, PromotionMissing, RapidArticle, RookFirstCastling, Takeback,
    TouchEnforcement, UndeterminedPolicy,
};
use super::value::{Allowed, Points, Value};

/// Declares the parameters, each once: the fields, their names, reading and writing follow from
/// one list, so that none can be forgotten in one of them. A number has its greatest value behind
/// it.
macro_rules! parameters {
    (@max) => { 0 };
    (@max $max:ident) => { Parameters::$max };
    ($($(#[$doc:meta])* $name:ident: $kind:ty $(, up to $max:ident)?;)+) => {
        /// The parameters of a profile, all of them in force.
        ///
        /// Each can be set and read by its name, in the spelling of the contract and of the
        /// conformance cases.
        ///
        /// ```
        /// use referee_laws::{DrawRule, Parameters, Profile};
        ///
        /// let mut parameters = Profile::fide_standard().parameters;
        /// parameters.set("threefold", "automatic")?;
        /// assert_eq!(parameters.threefold, DrawRule::Automatic);
        /// assert_eq!(parameters.get("illegal_penalty_ms").as_deref(), Some("120000"));
        /// let error = parameters.set("illegal_limit", "many").unwrap_err();
        /// assert_eq!(
        ///     error.to_string(),
        ///     "illegal_limit must be a whole number from 0 to 100"
        /// );
        /// assert!(Parameters::NAMES.contains(&"illegal_limit"));
        /// # Ok::<(), referee_laws::ParameterError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct Parameters {
            $($(#[$doc])* pub $name: $kind,)+
        }

        impl Parameters {
            /// The names of the parameters, in the order of the fields.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// Returns the value of the parameter with a name, as [`Parameters::set`] reads it;
            /// `None` where no parameter has the name.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($name) => Some(self.$name.write()),)+
                    _ => None,
                }
            }

            /// Sets the parameter with a name. No other one is changed: what `rapid_article`
            /// means for others is seen to by [`Profile::resolve`](super::Profile::resolve).
            ///
            /// # Errors
            ///
            /// Where no parameter has the name, or the value is none of those allowed. Nothing is
            /// changed then.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParameterError> {
                match name {
                    $(stringify!($name) => {
                        self.$name = read(stringify!($name), value, parameters!(@max $($max)?))?;
                    })+
                    _ => return Err(ParameterError::UnknownName),
                }
                Ok(())
            }

            /// Returns the values that the parameter with a name can have; `None` where no
            /// parameter has the name.
            #[must_use]
            pub fn allowed(name: &str) -> Option<Allowed> {
                match name {
                    $(stringify!($name) => {
                        Some(<$kind>::allowed(parameters!(@max $($max)?)))
                    })+
                    _ => None,
                }
            }

            /// Reads every parameter from the text that belongs to its name.
            pub(super) fn read_all<'a>(
                text_of: impl Fn(&'static str) -> &'a str,
            ) -> Result<Parameters, ParameterError> {
                Ok(Parameters {
                    $($name: read(
                        stringify!($name),
                        text_of(stringify!($name)),
                        parameters!(@max $($max)?),
                    )?,)+
                })
            }
        }
    };
}

fn read<V: Value>(parameter: &'static str, text: &str, max: u32) -> Result<V, ParameterError> {
    V::read(text, max).ok_or_else(|| ParameterError::Value {
        parameter,
        allowed: V::allowed(max),
    })
}

/// Why a parameter cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// No parameter has the name.
    UnknownName,
    /// The value is none of those allowed.
    Value {
        /// The name of the parameter.
        parameter: &'static str,
        /// What its value can be.
        allowed: Allowed,
    },
    /// The profile does not let it be changed.
    Fixed {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value that it has.
        value: &'static str,
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::UnknownName => write!(
                f,
                "no such parameter; the parameters are {}",
                Parameters::NAMES.join(", ")
            ),
            ParameterError::Value { parameter, allowed } => {
                write!(f, "{parameter} must be {allowed}")
            }
            ParameterError::Fixed { parameter, value } => {
                write!(
                    f,
                    "{parameter} cannot be changed in this profile, it is {value}"
                )
            }
        }
    }
}

impl core::error::Error for ParameterError {}

parameters! {
    /// What becomes of an illegal move (7.5).
    illegal_policy: IllegalPolicy;
    /// The completed illegal move of one player that loses the game (7.5.5); 0 where none does. At
    /// most [`Parameters::ILLEGAL_LIMIT_MAX`].
    illegal_limit: u32, up to ILLEGAL_LIMIT_MAX;
    /// Which illegal moves count towards the limit (7.5.5).
    illegal_counts: IllegalCounts;
    /// The time that the opponent is given for an illegal move, in milliseconds (7.5.5, A.3). At
    /// most [`Parameters::PENALTY_MS_MAX`].
    illegal_penalty_ms: u32, up to PENALTY_MS_MAX;
    /// How many moves back an illegal move can still be corrected: 0 means in the whole game
    /// (7.5.1), 1 until the opponent has made the next move (A.5.2). At most
    /// [`Parameters::ILLEGAL_WINDOW_MOVES_MAX`].
    illegal_window_moves: u32, up to ILLEGAL_WINDOW_MOVES_MAX;
    /// Whether the loss by illegal moves is a draw where the opponent cannot mate (7.5.5).
    illegal_loss_needs_mate_possible: bool;
    /// What becomes of a pawn left on the last rank (7.5.2).
    promotion_missing: PromotionMissing;
    /// What pressing the clock without having moved means (7.5.3).
    press_without_move: PressWithoutMove;
    /// Whether a legal move made with two hands stands, once it was penalized (7.5.4).
    two_hands_move_stands: bool;

    /// Whether a touched piece has to be moved or captured (4.3).
    touch_move: bool;
    /// Who sees to it (4.3, 4.8).
    touch_enforcement: TouchEnforcement;
    /// Whether a piece released on a legal square stays there (4.7).
    release_final: bool;
    /// What touching the rook before the king means for castling (4.4.2).
    rook_first_castling: RookFirstCastling;

    /// When a draw can be offered (9.1.2.1).
    offer_window: OfferWindow;
    /// Whether an offer can be withdrawn (9.1.2.1).
    offer_withdrawable: bool;
    /// What declines an offer (9.1.2.1).
    offer_declined_by: OfferDeclinedBy;
    /// When a player can offer again.
    offer_repeat: OfferRepeat;
    /// The half-moves from one offer of a player to the next, where
    /// [`OfferRepeat::Cooldown`] asks for them. At most [`Parameters::OFFER_COOLDOWN_PLIES_MAX`].
    offer_cooldown_plies: u32, up to OFFER_COOLDOWN_PLIES_MAX;
    /// Whether an offer is a claim as well that the opponent cannot mate, which draws the game
    /// where it is so by the test of `flag_exception`.
    offer_claims_insufficient: bool;
    /// The number of moves that each side must have made before the players can agree to a draw
    /// (5.2.3, 9.1.1). At most [`Parameters::MIN_MOVES_FOR_AGREEMENT_MAX`].
    min_moves_for_agreement: u32, up to MIN_MOVES_FOR_AGREEMENT_MAX;
    /// The number of half-moves of both sides before the players can agree to a draw. At most
    /// [`Parameters::MIN_PLIES_FOR_AGREEMENT_MAX`].
    min_plies_for_agreement: u32, up to MIN_PLIES_FOR_AGREEMENT_MAX;

    /// What the third occurrence of a position means (9.2).
    threefold: DrawRule;
    /// The half-moves after an offer of a draw by either side within which the third occurrence
    /// of a position draws without a claim; 0 where it never does. At most
    /// [`Parameters::THREEFOLD_AFTER_OFFER_PLIES_MAX`].
    threefold_after_offer_plies: u32, up to THREEFOLD_AFTER_OFFER_PLIES_MAX;
    /// What fifty moves of each side without progress mean (9.3).
    fifty: DrawRule;
    /// What progress is (9.3).
    fifty_reset: FiftyReset;
    /// Whether the fifth occurrence of a position ends the game (9.6.1).
    fivefold: bool;
    /// Whether seventy-five moves of each side without a capture or a pawn move end it (9.6.2).
    seventy_five: bool;
    /// Whether a third occurrence is a draw of its own kind where every move of one side since the
    /// first gave check.
    perpetual_check_draw: bool;
    /// Whether a draw can be claimed with a move that is yet to be made (9.2.1, 9.3.1).
    claim_with_intended_move: bool;
    /// The time that the opponent is given for an incorrect claim, in milliseconds (9.5.3, A.3).
    /// At most [`Parameters::PENALTY_MS_MAX`].
    wrong_claim_penalty_ms: u32, up to PENALTY_MS_MAX;
    /// Whether a claim is an offer of a draw as well (9.1.2.3).
    claim_is_offer: bool;
    /// Whether touching a piece loses the right to claim on that move (9.4).
    claim_lost_after_touch: bool;

    /// How a position is found in which neither side can mate (5.2.2).
    dead_position: MateTest;
    /// Whether such a position has to be declared by a player, against an opponent who cannot
    /// mate, rather than ending the game by itself.
    dead_position_claim: bool;
    /// How it is found that the opponent of a fallen flag cannot mate, so that the game is drawn
    /// (6.9).
    flag_exception: MateTest;
    /// Whether a resignation draws where the opponent cannot mate (5.1.2).
    resign_no_mate_draw: bool;
    /// Whether a mate must also be possible before the fifth occurrence of a position or
    /// seventy-five moves would end the game.
    mate_before_automatic_draws: bool;
    /// What is ruled where it cannot be determined whether a side can mate.
    undetermined_policy: UndeterminedPolicy;

    /// When a flag has fallen (6.8).
    flag_mode: FlagMode;
    /// Whether a player can still claim a flag that fell before a later period or an increment
    /// brought time again; the arbiter can find it in any case (6.8, 6.10).
    flag_claim_after_new_time: bool;
    /// What two fallen flags mean (6.8, III.3.1).
    both_flags: BothFlags;
    /// What a flag means while an offer of the opponent stands.
    flag_vs_open_offer: FlagVsOpenOffer;
    /// How late a player can arrive, in milliseconds (6.7.1). At most
    /// [`Parameters::DEFAULT_TIME_MS_MAX`].
    default_time_ms: u32, up to DEFAULT_TIME_MS_MAX;
    /// Whether the increment is added before the first move as well, where the time control does
    /// not say (6.3.1).
    increment_at_start: bool;

    /// Whether moves can be taken back.
    takeback: Takeback;
    /// Whether a game can be called off.
    abort: AbortRule;
    /// The half-moves before which either player can call the game off alone, where
    /// [`AbortRule`] knows an early abort. At most [`Parameters::ABORT_PLIES_MAX`].
    abort_plies: u32, up to ABORT_PLIES_MAX;
    /// What it means that a player is no longer connected.
    disconnect: DisconnectRule;
    /// How long a player can be gone before the opponent can claim, in milliseconds. At most
    /// [`Parameters::DISCONNECT_GRACE_MS_MAX`].
    disconnect_grace_ms: u32, up to DISCONNECT_GRACE_MS_MAX;
    /// What it means that the first move is not made in time.
    no_start: NoStartRule;
    /// Whether the players have to play: a game that never starts is forfeited, not aborted.
    mandatory_pairing: bool;
    /// Whether guidelines III for games without increment were announced.
    guideline_iii: bool;
    /// Whether III.4 (five seconds a move on request) applies where guidelines III do; III.5
    /// applies only where it does not.
    guideline_iii_4: bool;
    /// Which article of appendix A (and B) a game of rapid chess or blitz is under.
    rapid_article: RapidArticle;
    /// Whether the game is played without full supervision, as most rapid chess and blitz is: the
    /// set-up is put right in the first ten moves only (A.5.1), and an illegal position that stood
    /// until the next move is a draw (A.5.4).
    unsupervised: bool;
    /// The points for a win, a draw and a loss (10.1). Each at most
    /// [`Parameters::HALF_POINTS_MAX`].
    points: Points, up to HALF_POINTS_MAX;
}
