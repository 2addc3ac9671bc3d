//! Deliveries of the mails that a server accepted.

use std::time::Duration;

/// Deliveries in one interval, and the length of the queue at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deliveries {
    /// Mails that were accepted.
    pub accepted: u64,
    /// Time from a mail's arrival at the server to its delivery, for each recipient.
    pub delays: Vec<Duration>,
    /// Recipients whose delivery failed for good.
    pub failed: u64,
    /// Delivery attempts that failed temporarily.
    pub deferred: u64,
    /// Mails in the queue at the end of the interval.
    pub queued: u64,
}

impl Deliveries {
    /// Returns the 95th percentile of the delivery times; `None` without deliveries.
    pub fn p95(&self) -> Option<Duration> {
        let mut sorted = self.delays.clone();
        sorted.sort_unstable();
        // Nearest rank: the smallest value that at least 95 % of all do not exceed.
        let rank = (sorted.len() * 95).div_ceil(100);
        sorted.get(rank.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p95_is_the_nearest_rank() {
        let of = |count: u64| Deliveries {
            delays: (1..=count).rev().map(Duration::from_secs).collect(),
            ..Deliveries::default()
        };
        let seconds = |count| of(count).p95().map(|delay| delay.as_secs());
        assert_eq!(
            (seconds(0), seconds(1), seconds(20), seconds(100)),
            (None, Some(1), Some(19), Some(95))
        );
    }
}
