//! Text about persons, apart from what is hashed.
//!
//! A stored genesis and a stored event hold no text about persons: no name of a player or an
//! arbiter, no label, no tag, no reason or condition in anybody's own words. Such text is taken out
//! into a second message of the same type that has nothing else, and the hashed message keeps a
//! commitment to it, made with a salt. Where salt and text are erased, the hashed bytes stay what
//! they are, and nobody can find out from them what the text was.
//!
//! Messages of Protocol Buffers are read as one where they stand one behind the other, so that the
//! stored bytes with those of the text behind them are the whole message.

use prost::Message;
use prost::bytes::Bytes;
use referee_api::v1;
use referee_api::v1::action::Kind;
use sha2::{Digest, Sha256};

/// The bytes of a salt.
pub const SALT_BYTES: usize = 16;

/// Random bytes that a text is bound with.
pub type Salt = [u8; SALT_BYTES];

/// A text about persons with its salt, as the two are kept and erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Private {
    /// The salt.
    pub salt: Salt,
    /// The text: an encoded message that has nothing else.
    pub text: Vec<u8>,
}

/// A message that may hold text about persons.
pub trait Personal: Message + Default + PartialEq {
    /// Takes the text out; `None` where there is none.
    fn take_personal(&mut self) -> Option<Self>;

    /// Sets what binds the text.
    fn set_private_hash(&mut self, hash: Bytes);
}

impl Personal for v1::Game {
    fn take_personal(&mut self) -> Option<v1::Game> {
        let text = v1::Game {
            white_player: std::mem::take(&mut self.white_player),
            black_player: std::mem::take(&mut self.black_player),
            labels: std::mem::take(&mut self.labels),
            tags: std::mem::take(&mut self.tags),
            ..v1::Game::default()
        };
        (text != v1::Game::default()).then_some(text)
    }

    fn set_private_hash(&mut self, hash: Bytes) {
        self.private_hash = hash;
    }
}

impl Personal for v1::GameEvent {
    fn take_personal(&mut self) -> Option<v1::GameEvent> {
        let action = self.action.as_mut().and_then(take_from_action);
        let update = self.update.as_mut().and_then(take_from_update);
        if action.is_none() && update.is_none() {
            return None;
        }
        Some(v1::GameEvent {
            action,
            update,
            ..v1::GameEvent::default()
        })
    }

    fn set_private_hash(&mut self, hash: Bytes) {
        self.private_hash = hash;
    }
}

/// The texts of an action that people write in their own words.
fn texts_of(action: &mut v1::Action) -> [Option<&mut String>; 2] {
    match &mut action.kind {
        Some(Kind::OfferDraw(offer)) => [Some(&mut offer.condition), None],
        Some(Kind::PauseGame(pause)) => [Some(&mut pause.reason), None],
        Some(Kind::ArbiterDecision(decision)) => {
            [Some(&mut decision.arbiter), Some(&mut decision.reason)]
        }
        _ => [None, None],
    }
}

/// Takes the texts out of an action.
pub(crate) fn take_from_action(action: &mut v1::Action) -> Option<v1::Action> {
    let taken = texts_of(action).map(|text| text.map(std::mem::take).unwrap_or_default());
    if taken.iter().all(String::is_empty) {
        return None;
    }
    let [first, second] = taken;
    let kind = match &action.kind {
        Some(Kind::OfferDraw(_)) => Kind::OfferDraw(v1::OfferDraw { condition: first }),
        Some(Kind::PauseGame(_)) => Kind::PauseGame(v1::PauseGame { reason: first }),
        _ => Kind::ArbiterDecision(v1::ArbiterDecision {
            arbiter: first,
            reason: second,
            kind: None,
        }),
    };
    Some(v1::Action {
        kind: Some(kind),
        ..v1::Action::default()
    })
}

fn take_from_update(update: &mut v1::GameUpdate) -> Option<v1::GameUpdate> {
    let text = v1::GameUpdate {
        white_player: std::mem::take(&mut update.white_player),
        black_player: std::mem::take(&mut update.black_player),
        labels: std::mem::take(&mut update.labels),
        tags: std::mem::take(&mut update.tags),
        ..v1::GameUpdate::default()
    };
    (text != v1::GameUpdate::default()).then_some(text)
}

/// Says which texts of an action there are, and not what they say: what the hash of a request may
/// tell of them.
pub(crate) fn presence(action: &mut v1::Action) -> [bool; 2] {
    texts_of(action).map(|text| text.is_some_and(|text| !text.is_empty()))
}

/// Takes the text about persons out of a message for its storing: returns the bytes that are hashed
/// and, where there is any, the text. The message stays whole, with what binds the text. A salt is
/// drawn only where there is a text.
pub fn split<M: Personal>(
    message: &mut M,
    salt: impl FnOnce() -> Salt,
) -> (Vec<u8>, Option<Private>) {
    let Some(text) = message.take_personal() else {
        return (message.encode_to_vec(), None);
    };
    let private = Private {
        salt: salt(),
        text: text.encode_to_vec(),
    };
    message.set_private_hash(bind(&private).to_vec().into());
    let bytes = message.encode_to_vec();
    // What was just encoded can be read.
    let _read = message.merge(private.text.as_slice());
    (bytes, Some(private))
}

/// Returns what binds a text, as `GameEvent.private_hash` states it.
fn bind(private: &Private) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(b"referee.private.v1\n");
    hasher.update(private.salt);
    hasher.update(&private.text);
    hasher.finalize().into()
}

/// Returns the text that an action would be kept with, encoded as that of its event; `None` where
/// it has none.
#[must_use]
pub fn text_of_action(action: &v1::Action) -> Option<Vec<u8>> {
    let action = take_from_action(&mut action.clone())?;
    let event = v1::GameEvent {
        action: Some(action),
        ..v1::GameEvent::default()
    };
    Some(event.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision() -> v1::GameEvent {
        let decision = v1::ArbiterDecision {
            arbiter: "Ada".into(),
            reason: "a phone".into(),
            kind: Some(v1::arbiter_decision::Kind::Warn(v1::Warn { side: 1 })),
        };
        v1::GameEvent {
            sequence: 7,
            action: Some(v1::Action {
                seat: v1::Seat::Arbiter.into(),
                request_id: "one".into(),
                kind: Some(Kind::ArbiterDecision(decision)),
                ..v1::Action::default()
            }),
            ..v1::GameEvent::default()
        }
    }

    #[test]
    fn a_message_and_its_text_are_the_whole_message() {
        let mut event = decision();
        let (bytes, private) = split(&mut event, || [3; 16]);
        let private = private.expect("it has a text");
        assert!(!bytes.windows(3).any(|part| part == b"Ada"));
        let whole = [bytes, private.text.clone()].concat();
        assert_eq!(v1::GameEvent::decode(whole.as_slice()), Ok(event.clone()));
        assert_eq!(event.private_hash[..], bind(&private));
        let action = event.action.expect("it has one");
        assert_eq!(text_of_action(&action), Some(private.text));
    }

    #[test]
    fn a_message_without_text_draws_no_salt_and_is_stored_as_it_is() {
        let mut event = v1::GameEvent {
            sequence: 7,
            ..v1::GameEvent::default()
        };
        let before = event.clone();
        let (bytes, private) = split(&mut event, || panic!("no salt is needed"));
        assert_eq!((bytes, private), (before.encode_to_vec(), None));
        assert_eq!(event, before);
    }

    /// The expected value was computed with coreutils' `sha256sum` over the documented bytes.
    #[test]
    fn what_binds_a_text_is_as_documented() {
        let private = Private {
            salt: *b"0123456789abcdef",
            text: b"text".to_vec(),
        };
        let hash: String = bind(&private)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hash,
            "0eac809a994a5d4d839d34f64f98621a73ed2d4b3160241f526989a174b10312"
        );
    }
}
