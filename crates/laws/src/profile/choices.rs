//! The parameters that are a choice between ways of ruling.

use super::value::{Allowed, Value};

/// Declares a choice, each of its values with the word that it is written as.
macro_rules! choice {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$value_doc:meta])* $value:ident = $word:literal,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$value_doc])* $value,)+
        }

        impl Value for $name {
            fn read(text: &str, _: u32) -> Option<$name> {
                match text {
                    $($word => Some($name::$value),)+
                    _ => None,
                }
            }

            fn write(self) -> String {
                match self {
                    $($name::$value => $word.to_owned(),)+
                }
            }

            fn allowed(_: u32) -> Allowed {
                Allowed::Words(&[$($word),+])
            }
        }
    };
}

choice! {
    /// What becomes of an illegal move (7.5).
    IllegalPolicy {
        /// The position before it is restored, and it may be penalized.
        Restore = "restore",
        /// It is not accepted, as on a virtual board, and costs nothing.
        Refuse = "refuse",
    }
}

choice! {
    /// Which completed illegal moves count towards the limit.
    IllegalCounts {
        /// Every illegal move (7.5.5).
        Every = "every",
        /// Only a move that puts one's own king into attack or leaves it there.
        KingIntoAttack = "king_into_attack",
    }
}

choice! {
    /// What becomes of a pawn that reached the last rank without a piece being named (7.5.2).
    PromotionMissing {
        /// It becomes a queen, the move stands, and it counts as an illegal move.
        QueenWithPenalty = "queen_with_penalty",
        /// The move is not accepted.
        Refuse = "refuse",
        /// It becomes a queen.
        Queen = "queen",
    }
}

choice! {
    /// What pressing the clock without having moved means (7.5.3).
    PressWithoutMove {
        /// It counts as an illegal move.
        Illegal = "illegal",
        /// It is not accepted.
        Refuse = "refuse",
    }
}

choice! {
    /// Who sees to it that a touched piece is moved or captured (4.3, 4.8).
    TouchEnforcement {
        /// The referee refuses another move.
        Automatic = "auto",
        /// The opponent has to claim, before touching a piece.
        OnClaim = "on_claim",
    }
}

choice! {
    /// What touching or moving the rook before the king means for castling (4.4.2).
    RookFirstCastling {
        /// No castling with that rook on this move; the touched pieces bind as others do.
        Forbidden = "forbidden",
        /// The rook has to move, and the king stays.
        RookMoveOnly = "rook_move_only",
        /// Castling all the same.
        Allowed = "allowed",
    }
}

choice! {
    /// When a draw can be offered (9.1.2.1).
    OfferWindow {
        /// At any time; an offer at another than the proper moment is remarked on.
        Any = "any",
        /// At any time.
        AnyTime = "any_time",
        /// In one's own time, after making the move and before pressing the clock.
        WithMove = "with_move",
        /// After completing one's own move, or with it.
        AfterOwnMove = "after_own_move",
        /// While having the move.
        OwnTurn = "own_turn",
    }
}

choice! {
    /// What declines an offer, beside the end of the game (9.1.2.1).
    OfferDeclinedBy {
        /// Saying so, or touching a piece with the intention of moving or capturing it.
        ReplyOrTouch = "reply_or_touch",
        /// Saying so, or making a move.
        ReplyOrMove = "reply_or_move",
        /// Saying so.
        Reply = "reply",
    }
}

choice! {
    /// When a player can offer a draw again.
    OfferRepeat {
        /// At any time.
        Free = "free",
        /// A number of half-moves after the last offer.
        Cooldown = "cooldown",
        /// After a refusal, only when the opponent has offered and been refused.
        Alternate = "alternate",
    }
}

choice! {
    /// Whether a draw has to be claimed.
    DrawRule {
        /// The player who has the move has to claim it.
        Claim = "claim",
        /// Either player can claim it while the position is on the board.
        ClaimByEither = "claim_by_either",
        /// The referee ends the game without a claim.
        Automatic = "automatic",
        /// It is no draw.
        Off = "off",
    }
}

choice! {
    /// What starts the count of fifty moves anew (9.3).
    FiftyReset {
        /// A pawn move or a capture.
        PawnOrCapture = "pawn_or_capture",
        /// A capture.
        Capture = "capture",
    }
}

choice! {
    /// How it is decided whether a side can still mate.
    MateTest {
        /// It can where any series of legal moves mates (5.2.2, 6.9).
        Full = "full",
        /// By its men and by those of the opponent that could get in their own king's way.
        Material = "material",
        /// By its own men: a king, alone or with one minor piece, cannot. That two knights cannot
        /// mate a bare king draws at once, and not on a flag.
        OwnMaterial = "own_material",
        /// By the table of the US Chess rulebook.
        UscfTable = "uscf_table",
        /// By the table of the Internet Chess Servers.
        IcsTable = "ics_table",
        /// It is not asked.
        Off = "off",
    }
}

choice! {
    /// What is ruled where it cannot be determined whether a side can still mate.
    UndeterminedPolicy {
        /// The game is lost, provisionally.
        FlagStands = "flag_stands",
        /// The arbiter is asked.
        AskArbiter = "ask_arbiter",
    }
}

choice! {
    /// When a flag has fallen (6.8).
    FlagMode {
        /// When the arbiter observes it, or a player validly claims it.
        Observed = "observed",
        /// When the time has run out.
        Clock = "clock",
        /// When the opponent claims it.
        Claimed = "claimed",
    }
}

choice! {
    /// What two fallen flags mean.
    BothFlags {
        /// The indicator of the clock says which one fell first.
        Indicator = "indicator",
        /// The game is drawn.
        Draw = "draw",
    }
}

choice! {
    /// What a flag means while an offer of the opponent stands.
    FlagVsOpenOffer {
        /// The flag decides.
        Flag = "flag",
        /// The game is drawn where the player who would win has offered a draw.
        DrawIfWinnerOffers = "draw_if_winner_offers",
    }
}

choice! {
    /// Whether moves can be taken back.
    Takeback {
        /// Never (4.7).
        Never = "never",
        /// Where both players agree.
        Mutual = "mutual",
    }
}

choice! {
    /// Whether a game can be called off.
    AbortRule {
        /// Never.
        Never = "never",
        /// By either player, early in the game.
        Early = "early",
        /// By either player early in the game, and by both together later.
        EarlyThenMutual = "early_then_mutual",
    }
}

choice! {
    /// What it means that a player is no longer connected.
    DisconnectRule {
        /// Nothing: the clock runs on.
        Ignored = "ignored",
        /// The opponent can claim the game after a grace.
        ClaimAfterGrace = "claim_after_grace",
    }
}

choice! {
    /// What it means that the first move is not made in time.
    NoStartRule {
        /// Nothing, beside the default time (6.7).
        Ignored = "ignored",
        /// The game is aborted, or lost where the pairing is mandatory.
        AbortOrForfeit = "abort_or_forfeit",
    }
}

choice! {
    /// Which article of appendix A (and B, for blitz) a game of rapid chess or blitz is under.
    RapidArticle {
        /// Supervised: the competition rules apply (A.4, B.2).
        A4 = "A.4",
        /// Not fully supervised (A.5, B.3).
        A5 = "A.5",
    }
}
