//! Random histories of a store.

use proptest::prelude::*;
use referee_store::{Beat, GameKey, ReplicaId};

pub(crate) const PLATFORMS: [&str; 2] = ["p", "q"];

/// One step of a history.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Questions that are sent in this order, before any answer is waited for.
    Batch(Vec<Question>),
    /// The store is closed and opened again.
    Reopen,
    /// The store is dropped and opened again.
    Drop,
}

#[derive(Debug, Clone)]
pub(crate) enum Question {
    Create {
        game: Game,
        request: u8,
        content: u8,
        label: u8,
        time: i64,
    },
    /// Expects the sequence before the batch plus `ahead`.
    Append {
        game: Game,
        scope: u8,
        request: u8,
        content: u8,
        ahead: i64,
        /// Judged on another past.
        astray: bool,
        refusal: bool,
        state: i32,
        deadline: Option<i64>,
        asks: bool,
        /// A text about persons, where there is one.
        text: Option<u8>,
        /// Describes the game, with this label.
        label: Option<u8>,
    },
    /// Expects the sequence before the batch plus `ahead`.
    Delete {
        game: Game,
        request: u8,
        ahead: i64,
        time: i64,
    },
    /// Expects the sequence before the batch plus `ahead`.
    Postpone {
        game: Game,
        ahead: i64,
        deadline: Option<i64>,
    },
    Beat(Beat),
    /// Claims what is due at this time, in the past of all holds or after them.
    ClaimDue {
        now: i64,
        until: i64,
        limit: usize,
    },
    ClaimQuestions {
        now: i64,
        limit: usize,
    },
    /// Settles the question of the sequence before the batch plus `ahead`.
    Settle {
        game: Game,
        ahead: i64,
    },
}

/// How long the claims of a history hold.
pub(crate) const HOLD_US: i64 = 10;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Game {
    platform: usize,
    name: u8,
}

impl Game {
    pub(crate) fn key(self) -> GameKey {
        GameKey::new(PLATFORMS[self.platform], format!("g{}", self.name))
    }
}

fn game() -> impl Strategy<Value = Game> {
    (0..PLATFORMS.len(), 0..4_u8).prop_map(|(platform, name)| Game { platform, name })
}

fn question() -> impl Strategy<Value = Question> {
    let create = (game(), 0..6_u8, 0..4_u8, 0..2_u8, 0..3_i64).prop_map(
        |(game, request, content, label, time)| Question::Create {
            game,
            request,
            // Mostly the same content.
            content: content / 3,
            label,
            time,
        },
    );
    let deadline = || proptest::option::weighted(0.8, 0..20_i64);
    let append = (
        (game(), 0..2_u8, 0..20_u8, 0..8_u8, -1..5_i64),
        (any::<bool>(), 0..3, deadline(), 0..10_u8, any::<bool>()),
        (
            proptest::option::of(0..4_u8),
            proptest::option::weighted(0.2, 0..2_u8),
        ),
    );
    let append = append.prop_map(
        |(
            (game, scope, request, content, ahead),
            (refusal, state, deadline, astray, asks),
            (text, label),
        )| {
            Question::Append {
                game,
                scope,
                request,
                content: content / 7,
                ahead,
                astray: astray == 0,
                refusal,
                state,
                deadline,
                asks,
                text,
                label,
            }
        },
    );
    let delete = (game(), 0..9_u8, -1..4_i64, 0..9_i64).prop_map(|(game, request, ahead, time)| {
        Question::Delete {
            game,
            request,
            ahead,
            time,
        }
    });
    let postpone =
        (game(), -1..3_i64, deadline()).prop_map(|(game, ahead, deadline)| Question::Postpone {
            game,
            ahead,
            deadline,
        });
    let beat = (0..3_u128, 0..60_i64, 0..10_i64, 0..5_u8).prop_map(
        |(replica, at_us, silence_max_us, stopping)| {
            Question::Beat(Beat {
                replica: ReplicaId(replica),
                at_us,
                silence_max_us,
                stopping: stopping == 0,
            })
        },
    );
    let claim_due = (0..60_i64, 0..25_i64, 1..4_usize)
        .prop_map(|(now, until, limit)| Question::ClaimDue { now, until, limit });
    let claim_questions =
        (0..60_i64, 1..4_usize).prop_map(|(now, limit)| Question::ClaimQuestions { now, limit });
    let settle = (game(), -2..2_i64).prop_map(|(game, ahead)| Question::Settle { game, ahead });
    prop_oneof![
        2 => create,
        12 => append,
        1 => delete,
        2 => postpone,
        1 => beat,
        1 => claim_due,
        1 => claim_questions,
        1 => settle,
    ]
}

pub(crate) fn history() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => proptest::collection::vec(question(), 1..14).prop_map(Step::Batch),
        1 => Just(Step::Reopen),
        1 => Just(Step::Drop),
    ];
    proptest::collection::vec(step, 1..25)
}
