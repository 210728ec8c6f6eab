//! The chain of hashes and the signature over its end, recomputed from what the contract says
//! about them.

use ed25519_dalek::{Signature, VerifyingKey};
use referee_api::v1;
use sha2::{Digest, Sha256};

use crate::report::{Report, SignatureState, Subject};

/// What is asked of signatures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    /// Whether there must be one.
    pub signature: bool,
    /// The Ed25519 key that it must be of.
    pub public_key: Option<[u8; 32]>,
}

/// The chain up to some entry.
pub(crate) struct Chain {
    platform: String,
    game: String,
    link: [u8; 32],
    count: i64,
}

impl Chain {
    /// Begins with the header.
    pub(crate) fn begin(header: &v1::RecordHeader, report: &mut Report) -> Chain {
        let game = header.name.strip_prefix("games/").unwrap_or(&header.name);
        let mut hash = Sha256::new();
        hash.update(b"referee.chain.v1.genesis\n");
        for part in [header.platform.as_bytes(), game.as_bytes(), &header.genesis] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let link: [u8; 32] = hash.finalize().into();
        if header.chain_hash != link[..] {
            report.fault(
                Some(0),
                Subject::Chain,
                "its hash is not that of this genesis under this name: one of them was changed",
            );
        }
        Chain {
            platform: header.platform.clone(),
            game: game.to_owned(),
            link: as_link(&header.chain_hash).unwrap_or(link),
            count: 0,
        }
    }

    /// Adds an entry, and returns whether it is the next one.
    pub(crate) fn add(&mut self, entry: &v1::RecordEntry, report: &mut Report) -> bool {
        let sequence = entry.sequence;
        let is_next = self.count.checked_add(1) == Some(sequence);
        if !is_next {
            report.fault(
                Some(sequence),
                Subject::Chain,
                format!("comes where entry {} has to come", self.count + 1),
            );
        }
        let mut hash = Sha256::new();
        hash.update(b"referee.chain.v1.entry\n");
        hash.update(self.link);
        hash.update(&entry.event);
        let link: [u8; 32] = hash.finalize().into();
        if entry.chain_hash != link[..] {
            report.fault(
                Some(sequence),
                Subject::Chain,
                "its hash is not that of its bytes behind the entry before: one of them was changed",
            );
        }
        // The link that is told goes on, so that one change is told once.
        self.link = as_link(&entry.chain_hash).unwrap_or(link);
        self.count = sequence.max(self.count);
        is_next
    }

    /// Checks the seal.
    pub(crate) fn close(&self, seal: &v1::RecordSeal, demand: &Demand, report: &mut Report) {
        if seal.entry_count != self.count {
            report.fault(
                None,
                Subject::Chain,
                format!(
                    "the seal is for {} entries, but {} came: some were cut or added",
                    seal.entry_count, self.count
                ),
            );
        }
        if seal.head_hash != self.link[..] {
            report.fault(
                None,
                Subject::Chain,
                "the entries do not lead to the head that the seal names",
            );
        }
        let Some(signature) = &seal.signature else {
            if demand.signature || demand.public_key.is_some() {
                report.fault(None, Subject::Signature, "there is none");
            }
            return;
        };
        report.key_id = key_id(&signature.public_key);
        report.signature = SignatureState::Invalid;
        match check_signature(&self.signed_bytes(), signature, demand) {
            Ok(state) => report.signature = state,
            Err(text) => report.fault(None, Subject::Signature, text),
        }
    }

    /// What a signature is over: what was read, not what the seal says.
    fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = b"referee.record.v1.head\n".to_vec();
        for part in [&self.platform, &self.game] {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        bytes.extend(self.count.to_be_bytes());
        bytes.extend(self.link);
        bytes
    }
}

/// Says what a signature over some bytes is worth.
pub(crate) fn check_signature(
    signed: &[u8],
    signature: &v1::RecordSignature,
    demand: &Demand,
) -> Result<SignatureState, &'static str> {
    let key: [u8; 32] = signature.public_key[..]
        .try_into()
        .map_err(|_| "its public key has not 32 bytes")?;
    let bytes: [u8; 64] = signature.signature[..]
        .try_into()
        .map_err(|_| "it has not 64 bytes")?;
    if demand.public_key.is_some_and(|demanded| demanded != key) {
        return Err("it is of another key than --public-key demands");
    }
    let verifying = VerifyingKey::from_bytes(&key).map_err(|_| "its public key is none")?;
    verifying
        .verify_strict(signed, &Signature::from_bytes(&bytes))
        .map_err(|_| "it does not hold for this name, this number of entries and this head")?;
    Ok(match demand.public_key {
        Some(_) => SignatureState::Valid,
        None => SignatureState::ValidForUnknownKey,
    })
}

fn as_link(bytes: &[u8]) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}

pub(crate) fn key_id(public_key: &[u8]) -> String {
    let hash = Sha256::digest(public_key);
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
