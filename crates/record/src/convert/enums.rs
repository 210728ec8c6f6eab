//! The enums of the contract and those of the rules, each pair in one list that both directions
//! are made from: a value that is forgotten on either side does not compile.

use referee_api::v1;
use referee_chess::{Color, IllegalReason, PositionIssue, Role};
use referee_laws::{
    AbortRule, BothFlags, CanMate, ClaimDecision, ClaimKind, DisconnectRule, DrawRule, FiftyReset,
    FlagMode, FlagVsOpenOffer, GameResult, IllegalCounts, IllegalPolicy, Keeper, LedgerCause,
    MateTest, NoMateKind, NoStartRule, OfferDeclinedBy, OfferRepeat, OfferWindow, PressWithoutMove,
    PromotionMissing, RapidArticle, Reason, RookFirstCastling, Score, Seat, Takeback, Termination,
    TouchEnforcement, TouchIntent, UndeterminedPolicy, Variant, Verdict,
};

use crate::error::Error;

/// A value of the rules that an enum of the contract has a value for.
///
/// ```
/// use referee_api::v1;
/// use referee_laws::Variant;
/// use referee_record::convert::InContract;
///
/// assert_eq!(Variant::Chess960.to_v1(), v1::Variant::Chess960);
/// assert_eq!(Variant::from_v1(v1::Variant::Chess960), Some(Variant::Chess960));
/// assert_eq!(Variant::from_v1(v1::Variant::Unspecified), None);
/// ```
pub trait InContract: Copy {
    /// The enum of the contract.
    type Message: Copy;

    /// Returns the value of the contract.
    fn to_v1(self) -> Self::Message;

    /// Returns the value that one of the contract stands for; `None` where it stands for none of
    /// these, as an unspecified one does.
    fn from_v1(message: Self::Message) -> Option<Self>;
}

/// Returns the value of the contract, which is the unspecified one where there is none.
pub fn write_optional<T>(value: Option<T>) -> T::Message
where
    T: InContract,
    T::Message: Default,
{
    value.map(T::to_v1).unwrap_or_default()
}

/// Reads an enum of a record; `None` where it stands for none of the values of the rules, as an
/// unspecified one does.
///
/// # Errors
///
/// Where this program does not know the value, which a later one may have written: what nobody can
/// read must not be taken for nothing.
pub(crate) fn stored_enum<T>(what: &str, number: i32) -> Result<Option<T>, Error>
where
    T: InContract,
    T::Message: TryFrom<i32>,
{
    let message = T::Message::try_from(number);
    message.map(T::from_v1).map_err(|_| unknown(what, number))
}

/// The error of a value that an enum of the contract does not have.
pub(crate) fn unknown(what: &str, number: i32) -> Error {
    Error::damaged(format!("{what} has a value that is not known: {number}"))
}

/// Makes both directions of an enum from one list. A value is named where the contract has another
/// name for it; those of the contract that stand for nothing are listed behind `besides`.
macro_rules! enum_map {
    ($rule:ty => $message:ty, besides $($besides:ident)|+; $($values:tt)+) => {
        enum_map!(@each $rule, $message, [$($besides)+] [] $($values)+);
    };
    ($rule:ty => $message:ty; $($values:tt)+) => {
        enum_map!(@each $rule, $message, [] [] $($values)+);
    };
    (
        @each $rule:ty, $message:ty, $besides:tt [$($done:tt)*]
        $value:ident $(($inner:path))? = $name:ident, $($rest:tt)*
    ) => {
        enum_map!(
            @each $rule, $message, $besides
            [$($done)* ($value $(($inner))?, $name)] $($rest)*
        );
    };
    (
        @each $rule:ty, $message:ty, $besides:tt [$($done:tt)*]
        $value:ident, $($rest:tt)*
    ) => {
        enum_map!(@each $rule, $message, $besides [$($done)* ($value, $value)] $($rest)*);
    };
    (
        @each $rule:ty, $message:ty, [$($besides:ident)*]
        [$(($value:ident $(($inner:path))?, $name:ident))+]
    ) => {
        impl InContract for $rule {
            type Message = $message;

            #[deny(unreachable_patterns)]
            fn to_v1(self) -> $message {
                type Message = $message;
                match self {
                    $(Self::$value $(($inner))? => Message::$name,)+
                }
            }

            #[deny(unreachable_patterns)]
            fn from_v1(message: $message) -> Option<Self> {
                type Message = $message;
                match message {
                    $(Message::$besides => None,)*
                    $(Message::$name => Some(Self::$value $(($inner))?),)+
                }
            }
        }

        #[cfg(test)]
        impl tests::Listed for $rule {
            const ALL: &[Self] = &[$(Self::$value $(($inner))?),+];
            const BESIDES: &[$message] = {
                #[allow(dead_code, reason = "there may be none")]
                type Message = $message;
                &[$(Message::$besides),*]
            };
        }
    };
}

/// Makes the names in the contract of values that carry more than a name, from one list: a value
/// that is forgotten on either side does not compile.
macro_rules! kind_map {
    (
        $(#[$doc:meta])*
        $function:ident: $rule:ty => $message:ty, besides $($besides:ident)|+;
        $($value:ident $(($($inner:pat),+))? => $name:ident,)+
    ) => {
        $(#[$doc])*
        #[must_use]
        #[deny(unreachable_patterns)]
        pub fn $function(value: &$rule) -> $message {
            type Rule = $rule;
            type Message = $message;
            // Each name of the contract stands here once.
            const _: fn(Message) = |message| match message {
                $(Message::$besides => {})+
                $(Message::$name => {})+
            };
            match value {
                $(Rule::$value $(($($inner),+))? => Message::$name,)+
            }
        }
    };
}

enum_map! { Color => v1::Color, besides Unspecified; White, Black, }

enum_map! {
    Seat => v1::Seat, besides Unspecified;
    Player(Color::White) = White,
    Player(Color::Black) = Black,
    Arbiter,
    Referee,
}

enum_map! { Role => v1::PieceKind, besides Unspecified; Pawn, Knight, Bishop, Rook, Queen, King, }

enum_map! { Variant => v1::Variant, besides Unspecified; Standard, Chess960, }

enum_map! { Keeper => v1::ClockKeeper, besides Unspecified; Referee, Platform, }

enum_map! {
    TouchIntent => v1::TouchIntent, besides Unspecified;
    Play = Move, Adjust, Accidental,
}

enum_map! { Score => v1::Score, besides Unspecified; Zero, Half, One, Other, }

enum_map! { ClaimDecision => v1::ClaimDecision, besides Unspecified; Accept, Reject, Postpone, }

enum_map! {
    ClaimKind => v1::ClaimKind, besides Unspecified;
    Threefold, Fifty, PerpetualCheck, OpponentInsufficient, IllegalMove, TouchMove,
    QuickplayIncrement, QuickplayDraw, OpponentGone,
}

enum_map! {
    LedgerCause => v1::LedgerCause, besides Unspecified;
    Start, Move, Increment, NextPeriod, Pause, Resume, Penalty, Grant, ArbiterSet, MoveCount, Flag,
    LateArrival, Reinstated, TakenBack, DownTime, BonusChanged, End,
}

enum_map! {
    GameResult => v1::GameResult, besides Unspecified | Ongoing;
    Win(Color::White) = WhiteWins,
    Win(Color::Black) = BlackWins,
    Draw,
    BothLose,
    Half(Color::White) = WhiteHalf,
    Half(Color::Black) = BlackHalf,
    WinByForfeit(Color::White) = WhiteWinsForfeit,
    WinByForfeit(Color::Black) = BlackWinsForfeit,
    BothForfeit,
    Cancelled,
    Aborted,
}

enum_map! {
    Termination => v1::Termination, besides Unspecified;
    Checkmate, Stalemate, DeadPosition, Resignation, ResignationNoMate, Agreement, ThreefoldClaim,
    ThreefoldAutomatic = ThreefoldAuto,
    Fivefold, FiftyClaim,
    FiftyAutomatic = FiftyAuto,
    SeventyFive, MaterialDraw, PerpetualCheck, TimeForfeit, TimeNoMate, BothFlags, DefaultForfeit,
    DoubleForfeit, NoStart, IllegalMoves, IllegalMovesNoMate, IllegalPositionDraw,
    ClaimOpponentInsufficient, QuickplayClaim, SealedMove, ArbiterDecision, SignedResult,
    Abandonment, WrongInitialPosition, ColorsReversed, Aborted,
}

enum_map! {
    Verdict => v1::ruling::Verdict, besides Unspecified;
    Accepted, Refused, Penalized, Noted,
}

enum_map! {
    Reason => v1::ruling::Reason, besides Unspecified;
    IllegalMove, TouchMove, PromotionMissing, IllegalPromotionQueened, MustPlayIntended,
    NotYourTurn, GameOver, NotRunning, NotAllowed, TooLate, DefaultTime, NoOffer, OfferNotAllowed,
    OfferTooEarly, OfferRepeat, OfferConditional, OfferCannotWithdraw, ClaimIncorrect, ClaimTooLate,
    ClaimNotOnMove, ClaimNotAllowed, ClaimAfterTouch, ClaimCannotWithdraw, UnknownClaim,
    ScoreNotAllowed, Stands, WrongSeat, FlagFallen,
}

enum_map! {
    NoMateKind => v1::no_mate_evidence::Kind, besides Unspecified;
    Material, GameOver, ForcedLine, BlockedStructure, ExhaustedSearch, MoveCount, Table,
}

enum_map! {
    IllegalReason => v1::IllegalReason,
    besides Unspecified | Unreadable | Ambiguous | GameOver | TouchMove;
    EmptySquare, OpponentPiece, PieceMovement, PathBlocked, OwnPiece, NoEnPassant,
    CastlingRightLost, CastlingInCheck, CastlingThroughCheck, PromotionMissing, PromotionInvalid,
    KingIntoCheck, CheckRemains, KingExposed,
}

kind_map! {
    /// Returns the name in the contract of why a setup cannot be played from.
    issue_name: PositionIssue => v1::PositionIssue, besides Unspecified | Unreadable;
    MissingKing(_) => MissingKing,
    TooManyKings(_) => TooManyKings,
    PawnOnBackRank(_) => PawnOnBackRank,
    CastlingRights(_) => CastlingRights,
    EnPassantSquare(_) => EnPassantSquare,
    OpponentInCheck => OpponentInCheck,
    ImpossibleCheck(_) => ImpossibleCheck,
    TooMuchMaterial(_) => TooMuchMaterial,
    Counter => Counter,
}

kind_map! {
    /// Returns the name in the contract of whether a side can mate.
    can_mate_name: CanMate => v1::CanMate, besides Unspecified;
    Yes(_) => Yes,
    No(_) => No,
    Unknown => Unknown,
}

// The parameters of rules that are a choice.

enum_map! { IllegalPolicy => v1::IllegalPolicy, besides Unspecified; Restore, Refuse, }
enum_map! { IllegalCounts => v1::IllegalCounts, besides Unspecified; Every, KingIntoAttack, }
enum_map! {
    PromotionMissing => v1::PromotionMissing, besides Unspecified;
    QueenWithPenalty, Refuse, Queen,
}
enum_map! { PressWithoutMove => v1::PressWithoutMove, besides Unspecified; Illegal, Refuse, }
enum_map! {
    TouchEnforcement => v1::TouchEnforcement, besides Unspecified;
    Automatic = Auto, OnClaim,
}
enum_map! {
    RookFirstCastling => v1::RookFirstCastling, besides Unspecified;
    Forbidden, RookMoveOnly, Allowed,
}
enum_map! {
    OfferWindow => v1::OfferWindow, besides Unspecified;
    Any, AnyTime, WithMove, AfterOwnMove, OwnTurn,
}
enum_map! {
    OfferDeclinedBy => v1::OfferDeclinedBy, besides Unspecified;
    ReplyOrTouch, ReplyOrMove, Reply,
}
enum_map! { OfferRepeat => v1::OfferRepeat, besides Unspecified; Free, Cooldown, Alternate, }
enum_map! {
    DrawRule => v1::DrawRule, besides Unspecified;
    Claim, ClaimByEither, Automatic, Off,
}
enum_map! { FiftyReset => v1::FiftyReset, besides Unspecified; PawnOrCapture, Capture, }
enum_map! {
    MateTest => v1::MateTest, besides Unspecified;
    Full, Material, OwnMaterial, UscfTable, IcsTable, Off,
}
enum_map! {
    UndeterminedPolicy => v1::UndeterminedPolicy, besides Unspecified;
    FlagStands, AskArbiter,
}
enum_map! { FlagMode => v1::FlagMode, besides Unspecified; Observed, Clock, Claimed, }
enum_map! { BothFlags => v1::BothFlags, besides Unspecified; Indicator, Draw, }
enum_map! { FlagVsOpenOffer => v1::FlagVsOpenOffer, besides Unspecified; Flag, DrawIfWinnerOffers, }
enum_map! { Takeback => v1::TakebackRule, besides Unspecified; Never, Mutual, }
enum_map! { AbortRule => v1::AbortRule, besides Unspecified; Never, Early, EarlyThenMutual, }
enum_map! { DisconnectRule => v1::DisconnectRule, besides Unspecified; Ignored, ClaimAfterGrace, }
enum_map! { NoStartRule => v1::NoStartRule, besides Unspecified; Ignored, AbortOrForfeit, }
enum_map! { RapidArticle => v1::RapidArticle, besides Unspecified; A4, A5, }

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Debug;

    use super::*;

    /// The lists that an enum was mapped by.
    pub(super) trait Listed: InContract + 'static {
        const ALL: &[Self];
        const BESIDES: &[Self::Message];
    }

    /// The numbers that are tried as values of an enum of the contract.
    const NUMBERS: std::ops::Range<i32> = 0..200;

    /// Each value goes there and back, no two go to the same, and what the contract knows besides
    /// stands for nothing.
    fn check<T>(name: &str)
    where
        T: Listed + PartialEq + Debug,
        T::Message: TryFrom<i32> + Into<i32> + PartialEq + Debug,
    {
        let mut numbers = BTreeSet::new();
        for &value in T::ALL {
            assert_eq!(T::from_v1(value.to_v1()), Some(value), "{name}");
            assert!(numbers.insert(value.to_v1().into()), "{name}: {value:?}");
        }
        for &message in T::BESIDES {
            assert_eq!(T::from_v1(message), None, "{name}: {message:?}");
            assert!(numbers.insert(message.into()), "{name}: {message:?}");
        }
        let known = NUMBERS.filter(|&number| T::Message::try_from(number).is_ok());
        assert_eq!(known.collect::<BTreeSet<_>>(), numbers, "{name}");
    }

    macro_rules! check_all {
        ($($rule:ty),+ $(,)?) => { $(check::<$rule>(stringify!($rule));)+ };
    }

    #[test]
    fn every_value_goes_there_and_back() {
        check_all!(
            Color,
            Seat,
            Role,
            Variant,
            Keeper,
            TouchIntent,
            Score,
            ClaimDecision,
            ClaimKind,
            LedgerCause,
            GameResult,
            Termination,
            Verdict,
            Reason,
            NoMateKind,
            IllegalReason,
            IllegalPolicy,
            IllegalCounts,
            PromotionMissing,
            PressWithoutMove,
            TouchEnforcement,
            RookFirstCastling,
            OfferWindow,
            OfferDeclinedBy,
            OfferRepeat,
            DrawRule,
            FiftyReset,
            MateTest,
            UndeterminedPolicy,
            FlagMode,
            BothFlags,
            FlagVsOpenOffer,
            Takeback,
            AbortRule,
            DisconnectRule,
            NoStartRule,
            RapidArticle,
        );
    }

    #[test]
    fn names_are_the_same_on_both_sides() {
        // A slip in a list could exchange two values, which would still go there and back.
        fn words(text: &str) -> String {
            let letters = text.chars().filter(|letter| letter.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        }
        fn same<T: Listed + Debug>()
        where
            T::Message: Debug,
        {
            for value in T::ALL {
                let (ours, theirs) = (format!("{value:?}"), format!("{:?}", value.to_v1()));
                assert_eq!(words(&ours), words(&theirs));
            }
        }
        same::<Role>();
        same::<ClaimKind>();
        same::<LedgerCause>();
        same::<Reason>();
        same::<NoMateKind>();
        same::<IllegalReason>();
        same::<MateTest>();
        assert_eq!(
            write_optional::<Color>(None),
            v1::Color::Unspecified,
            "nobody is nobody"
        );
    }
}
