//! Covers what tells where something stands in the store: cursors and page tokens. Positions in the
//! log and numbers of rows count what all platforms do, and no platform is to read them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// Places are made as long as the next multiple of this many bytes, so that their length says
/// nothing.
const PLACE_BYTES: usize = 24;

/// Covers places by a key of the store, so that each process over it can read them.
pub(crate) struct Cover(LessSafeKey);

impl fmt::Debug for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cover")
    }
}

impl Cover {
    /// Covers by a key of 32 bytes; nothing where it has another length.
    pub(crate) fn new(key: &[u8]) -> Option<Cover> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).ok()?;
        Some(Cover(LessSafeKey::new(key)))
    }

    /// Covers a place within something of a platform. The same place looks different each time, so
    /// that nobody sees either that others have written nothing. Nothing where the system has no
    /// random bytes.
    pub(crate) fn cover(&self, platform: &str, scope: &[u8], place: &str) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut bytes = place.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(PLACE_BYTES), 0);
        let aad = Aad::from(bound(platform, scope));
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_append_tag(nonce_used, aad, &mut bytes)
            .ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &bytes].concat()))
    }

    /// Returns the place that was covered; nothing where it was so for another platform, within
    /// something else, by another key, or never.
    pub(crate) fn uncover(&self, platform: &str, scope: &[u8], text: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, covered) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut covered = covered.to_vec();
        let aad = Aad::from(bound(platform, scope));
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let place = self.0.open_in_place(nonce, aad, &mut covered).ok()?;
        let place = std::str::from_utf8(place).ok()?;
        Some(place.trim_end_matches('\0').to_owned())
    }
}

/// What a place is bound to, told apart whatever the two are.
fn bound(platform: &str, scope: &[u8]) -> Vec<u8> {
    let length = (platform.len() as u64).to_be_bytes();
    [&length[..], platform.as_bytes(), scope].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_where_it_belongs_and_nowhere_else() {
        let cover = Cover::new(&[7; 32]).expect("a key");
        let other = Cover::new(&[8; 32]).expect("a key");
        assert!(Cover::new(&[7; 31]).is_none());
        for place in ["", "7", "123456789012", &"9".repeat(60)] {
            let text = cover.cover("red", b"cursor", place).expect("it is covered");
            let read = |cover: &Cover, platform, scope: &[u8], text: &str| {
                cover.uncover(platform, scope, text)
            };
            assert_eq!(
                read(&cover, "red", b"cursor", &text).as_deref(),
                Some(place)
            );
            assert_eq!(read(&cover, "blue", b"cursor", &text), None);
            assert_eq!(read(&cover, "red", b"games", &text), None);
            assert_eq!(read(&cover, "redc", b"ursor", &text), None);
            assert_eq!(read(&other, "red", b"cursor", &text), None);
            assert_eq!(read(&cover, "red", b"cursor", &text[1..]), None);
            assert_eq!(read(&cover, "red", b"cursor", place), None);
            let again = cover.cover("red", b"cursor", place).expect("it is covered");
            assert_ne!(again, text, "it looks different each time");
        }
    }

    #[test]
    fn the_length_says_nothing() {
        let cover = Cover::new(&[7; 32]).expect("a key");
        let length = |place: &str| cover.cover("red", b"cursor", place).map(|text| text.len());
        assert_eq!(length("1"), length("1234567890123456789"));
    }
}
