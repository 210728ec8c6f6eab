//! The sums of a record, from its counts and the paths that the plan has.

use referee_api::v1;

use super::report::PerftReport;

/// Sums by first move; none where one has no room.
pub(super) struct Sums {
    names: Vec<String>,
    sums: Option<Vec<u128>>,
}

impl Sums {
    pub(super) fn new(names: Vec<String>) -> Sums {
        Sums {
            sums: Some(vec![0; names.len()]),
            names,
        }
    }

    /// Adds a count as often as paths lead to its position; false where there is no room.
    pub(super) fn add(&mut self, count: u128, shares: impl Iterator<Item = (u32, u64)>) -> bool {
        let Some(sums) = &mut self.sums else {
            return true;
        };
        for (owner, paths) in shares {
            let sum = sums.get_mut(owner as usize);
            let added = sum.and_then(|sum| {
                *sum = sum.checked_add(count.checked_mul(u128::from(paths))?)?;
                Some(())
            });
            if added.is_none() {
                self.sums = None;
                return false;
            }
        }
        true
    }

    /// Compares the sums with what the record says.
    pub(super) fn compare(&self, outcome: &v1::PerftJob, report: &mut PerftReport) {
        let Some(sums) = &self.sums else { return };
        let total = sums.iter().try_fold(0u128, |sum, &it| sum.checked_add(it));
        let total = total.map(|total| total.to_string()).unwrap_or_default();
        if outcome.nodes != total {
            let text = format!(
                "sum: the counts add up to {total}, not to {}",
                outcome.nodes
            );
            report.fault(None, text);
        }
        let told = outcome
            .divide
            .iter()
            .map(|it| (&it.r#move, it.nodes.clone()));
        let found = self.names.iter().zip(sums.iter().map(u128::to_string));
        if !told.eq(found) {
            report.fault(
                None,
                "sum: the paths by first move are not those of the counts",
            );
        }
    }
}
