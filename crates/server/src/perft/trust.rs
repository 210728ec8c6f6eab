//! What the counts of a job are worth, as it is shown: who has counted, what was counted again, and
//! with what chance a wrong count would have gone unseen.

use prost::Message as _;
use referee_api::v1;
use referee_perft::{Table, TableUse, unseen};
use referee_store::{JobRow, JobState, JobTrust};

use crate::error::ServiceError;
use crate::limits;

/// The numbers of wrong positions for which a chance is told.
const WRONG_POSITIONS: [u64; 3] = [1, 10, 100];

/// Whether something of a job is counted twice.
pub(super) fn counts_twice(spec: &v1::PerftJob) -> bool {
    spec.redundancy > 1 || spec.recheck_share > 0.0
}

/// Shows what the counts of a job are worth.
pub(super) fn show(
    row: &JobRow,
    spec: &v1::PerftJob,
    positions: i64,
    trust: &JobTrust,
) -> Result<v1::PerftTrust, ServiceError> {
    let is_whole = spec.redundancy > 1 && row.state == JobState::Succeeded;
    let credentials = trust.credentials.iter();
    let credentials = credentials.take(limits::PERFT_CREDENTIALS_SHOWN_MAX);
    let credentials = credentials.map(|it| {
        let again = |count: i64| if is_whole { it.positions } else { count };
        v1::PerftCredential {
            credential: it.credential.clone(),
            positions: it.positions,
            rechecked: again(it.rechecked),
            agreed: again(it.agreed),
            shut_out: it.shut_out.clone(),
        }
    });
    // Copies are compared before the job ends, all of them.
    let rechecked = if is_whole { positions } else { trust.rechecked };
    let shown = trust
        .disputes
        .len()
        .saturating_sub(limits::PERFT_DISPUTES_SHOWN_MAX);
    let disputes = trust.disputes[shown..].iter().map(|(bytes, _)| {
        let dispute = v1::PerftDispute::decode(&bytes[..]);
        dispute.map_err(|_| ServiceError::damaged("a dispute of a job"))
    });
    let used = TableUse {
        // A conversion to whole numbers ends at the greatest one.
        probes: trust.probes as u64,
        hits: 0,
    };
    let unseen = WRONG_POSITIONS.map(|wrong| v1::PerftUnseen {
        wrong_positions: wrong.cast_signed(),
        probability: unseen(
            positions.cast_unsigned(),
            rechecked.cast_unsigned(),
            wrong.min(positions.cast_unsigned()),
        ),
    });
    let mut shown = v1::PerftTrust {
        positions,
        rechecked,
        credentials: credentials.collect(),
        unseen: unseen.to_vec(),
        probes: trust.probes,
        collision_bound: Table::error_bound(used),
        disputes: disputes.collect::<Result<_, _>>()?,
        text: String::new(),
    };
    shown.text = text(&shown, spec.redundancy);
    Ok(shown)
}

/// Says in words what the counts are worth.
fn text(trust: &v1::PerftTrust, redundancy: u32) -> String {
    let (rechecked, positions) = (trust.rechecked, trust.positions);
    let mut text = if redundancy > 1 && rechecked == positions {
        format!(
            "Each of {positions} positions was counted by {redundancy} credentials, which agree: \
             a wrong count goes unseen only where all of these have conspired."
        )
    } else if rechecked == 0 {
        format!("None of {positions} positions was counted by a second credential.")
    } else {
        let chance = |at: usize| trust.unseen.get(at).map_or(0.0, |it| it.probability);
        format!(
            "{rechecked} of {positions} positions were counted again by another credential, and \
             agree: unless credentials have conspired, 1 wrong count would have gone unseen with \
             probability {:.4}, 10 with {:.4}, 100 with {:.4}.",
            chance(0),
            chance(1),
            chance(2)
        )
    };
    let out = trust
        .credentials
        .iter()
        .filter(|it| !it.shut_out.is_empty());
    for credential in out {
        let (name, why) = (&credential.credential, &credential.shut_out);
        text.push_str(&format!(" {name} is shut out: it {why}."));
    }
    if trust.probes > 0.0 {
        let bound = trust.collision_bound;
        text.push_str(&format!(
            " A hash table took one position for another with a probability of {bound:.1e} at most."
        ));
    }
    text
}
