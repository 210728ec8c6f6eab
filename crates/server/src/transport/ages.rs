//! How old connections get. A client that keeps one connection stays at one server however many
//! there are, so that connections are asked to end after a time of their own, drawn for each, and
//! clients come back wherever there is room.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::limits;

/// How old connections get.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ages {
    /// After which time a connection is asked to end; none is never.
    pub(crate) max: Option<Duration>,
    /// How long its calls may go on then.
    pub(crate) grace: Duration,
}

/// The age of one connection.
#[derive(Debug)]
pub(crate) struct Age {
    max: Option<Duration>,
    grace: Duration,
    /// Cancelled when streams have to end.
    over: CancellationToken,
}

impl Ages {
    /// Draws how old a connection gets.
    pub(crate) fn draw(self) -> Age {
        Age {
            max: self.max.map(vary),
            grace: vary(self.grace),
            over: CancellationToken::new(),
        }
    }
}

impl Age {
    /// Waits until the connection is to be asked to end.
    pub(crate) async fn is_old(&self) {
        match self.max {
            Some(max) => tokio::time::sleep(max).await,
            None => std::future::pending().await,
        }
    }

    /// Waits, from there on, until whatever still goes on is dropped; streams end before that.
    pub(crate) async fn is_past(&self) {
        tokio::time::sleep(self.grace).await;
        self.over.cancel();
        tokio::time::sleep(limits::CONNECTION_AGE_CUT).await;
    }

    /// Waits until streams have to end.
    pub(crate) async fn is_over(&self) {
        self.over.cancelled().await;
    }
}

/// A time with a tenth more or less, by chance.
fn vary(time: Duration) -> Duration {
    let [low, high, ..] = Uuid::new_v4().into_bytes();
    let drawn = f64::from(u16::from_le_bytes([low, high])) / f64::from(u16::MAX);
    time.mul_f64(0.9 + 0.2 * drawn)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_connection_draws_its_own_age_within_a_tenth() {
        let (max, grace) = (Duration::from_secs(100), Duration::from_secs(10));
        let ages = Ages {
            max: Some(max),
            grace,
        };
        let drawn: Vec<Age> = (0..200).map(|_| ages.draw()).collect();
        for age in &drawn {
            let max = age.max.expect("there is one").as_secs_f64();
            assert!((90.0..=110.0).contains(&max), "{max}");
            let grace = age.grace.as_secs_f64();
            assert!((9.0..=11.0).contains(&grace), "{grace}");
        }
        let different: HashSet<_> = drawn.iter().map(|age| (age.max, age.grace)).collect();
        assert!(different.len() > 190, "{} of 200", different.len());
    }
}
