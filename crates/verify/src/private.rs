//! Text about persons: beside what is hashed, bound to it, and nothing else.

use referee_api::v1;
use referee_api::v1::action::Kind;
use sha2::{Digest, Sha256};

use crate::limits::SALT_BYTES;
use crate::report::{Report, Subject};

/// A genesis or an event, as far as it is bound to text about persons.
pub(crate) trait Bound: prost::Message + Default + Clone + PartialEq {
    /// What binds the text.
    fn hash(&self) -> &[u8];

    /// Takes out all text about persons that there is.
    fn strip(&mut self);

    /// Says whether a message that was stripped has nothing else.
    fn is_empty(&self) -> bool;
}

impl Bound for v1::Game {
    fn hash(&self) -> &[u8] {
        &self.private_hash
    }

    fn strip(&mut self) {
        self.white_player.clear();
        self.black_player.clear();
        self.labels.clear();
        self.tags.clear();
    }

    fn is_empty(&self) -> bool {
        *self == v1::Game::default()
    }
}

impl Bound for v1::GameEvent {
    fn hash(&self) -> &[u8] {
        &self.private_hash
    }

    fn strip(&mut self) {
        match self.action.as_mut().and_then(|action| action.kind.as_mut()) {
            Some(Kind::OfferDraw(offer)) => offer.condition.clear(),
            Some(Kind::PauseGame(pause)) => pause.reason.clear(),
            Some(Kind::ArbiterDecision(decision)) => {
                decision.arbiter.clear();
                decision.reason.clear();
            }
            _ => {}
        }
        if let Some(update) = &mut self.update {
            update.white_player.clear();
            update.black_player.clear();
            update.labels.clear();
            update.tags.clear();
        }
    }

    /// Around a text there are the messages that it is in.
    fn is_empty(&self) -> bool {
        let mut rest = self.clone();
        let (action, update) = (rest.action.take(), rest.update.take());
        let is_action_empty = action.is_none_or(|mut action| {
            let is_empty = match action.kind.take() {
                Some(Kind::OfferDraw(offer)) => offer == v1::OfferDraw::default(),
                Some(Kind::PauseGame(pause)) => pause == v1::PauseGame::default(),
                Some(Kind::ArbiterDecision(it)) => it == v1::ArbiterDecision::default(),
                _ => false,
            };
            is_empty && action == v1::Action::default()
        });
        let is_update_empty = update.is_none_or(|update| update == v1::GameUpdate::default());
        is_action_empty && is_update_empty && rest == v1::GameEvent::default()
    }
}

/// Checks that a message holds no text about persons itself, and that the text that comes with it
/// is the one that it is bound to. Where that is missing, it was erased.
pub(crate) fn check<M: Bound>(
    sequence: i64,
    message: &M,
    (text, salt): (&[u8], &[u8]),
    report: &mut Report,
) {
    let mut faults = Vec::new();
    let mut fault = |words: &'static str| faults.push(words);
    let mut stripped = message.clone();
    stripped.strip();
    if stripped != *message {
        fault("its hashed bytes hold text about persons, which belongs beside them");
    }
    let hash = message.hash();
    match (hash.is_empty(), text.is_empty()) {
        (true, true) => {}
        (true, false) => fault("there is text about persons that nothing binds to it"),
        (false, true) => {}
        (false, false) => {
            if salt.len() != SALT_BYTES {
                fault("the random bytes of its text about persons are not 16");
            }
            let mut hasher = Sha256::new();
            hasher.update(b"referee.private.v1\n");
            hasher.update(salt);
            hasher.update(text);
            if hasher.finalize()[..] != *hash {
                fault("its text about persons is not the one that it is bound to: it was changed");
            }
            if !is_text_only::<M>(text) {
                fault("its text about persons holds more than that");
            }
        }
    }
    if text.is_empty() && !salt.is_empty() {
        fault("random bytes are left of text about persons that was erased");
    }
    report.erased += u64::from(!hash.is_empty() && text.is_empty());
    for words in faults {
        report.fault(Some(sequence), Subject::Private, words);
    }
}

/// Whether bytes are a message that has nothing but text about persons, written as we write it.
fn is_text_only<M: Bound>(text: &[u8]) -> bool {
    let Ok(mut read) = M::decode(text) else {
        return false;
    };
    if read.encode_to_vec() != text {
        return false;
    }
    read.strip();
    read.is_empty()
}
