//! Decides whether the server polls for the next request before it sleeps.
//!
//! Sleeping and waking cost more than a short request: tens of microseconds on a virtual machine
//! whose processor halts. A client at queue depth 1 waits that long for each request. A client with
//! a high queue depth does not wait, and serving its requests in a batch after a sleep is cheaper.
//! Such requests do not wait for answers, so they arrive very soon after each other.
//!
//! So the server polls only if few requests are in flight, and not if the next requests arrive at
//! once. If no request arrives soon enough, the server polls less and less often. A server without
//! requests sleeps.

use std::time::Duration;

/// Maximum number of requests in flight at which the server polls. Our choice: one, and one that
/// came while the first was answered.
const FEW: usize = 2;
/// Interval below which a request cannot have waited for an answer: no client wakes, reads the
/// answer and sends again so soon. Our choice, after trials: 2, 4, 8 and 12 us each distinguished
/// queue depth 1 from 4 and 32 (docs/developers/adr/0019). If a client never sleeps and answers
/// sooner, the server sleeps, as it would without polling.
const AT_ONCE: Duration = Duration::from_micros(4);
/// Number of such requests in a row that make a stream. Our choice, like the numbers below.
const STREAM: u32 = 4;
/// Sleeps after which the server polls again to see if a stream continues.
const STREAM_SLEEPS: u32 = 64;
/// Maximum number of sleeps between two polls, after many polls without a request.
const SLEEPS_MAX: u32 = 127;

/// State of the decision to poll or sleep.
#[derive(Debug)]
pub(crate) struct Polling {
    /// Maximum time of a poll; zero turns polling off.
    longest: Duration,
    /// Number of sleeps until the next poll.
    sleeps: u32,
    /// Number of sleeps chosen after the last poll if no request came; zero if one came.
    slept: u32,
    /// Number of requests in a row that came within [`AT_ONCE`].
    at_once: u32,
}

impl Polling {
    pub(crate) const fn new(longest: Duration) -> Self {
        Self { longest, sleeps: 0, slept: 0, at_once: 0 }
    }

    /// Returns the time to poll for; `None` to sleep. `requests` is the number of requests answered
    /// since the last wait plus those in flight. `wait` is the time until something else is due.
    pub(crate) fn look(&mut self, requests: usize, wait: Option<Duration>) -> Option<Duration> {
        let longest = wait.map_or(self.longest, |wait| wait.min(self.longest));
        if longest.is_zero() || requests > FEW {
            return None;
        }
        let is_time = self.sleeps == 0;
        self.sleeps = self.sleeps.saturating_sub(1);
        is_time.then_some(longest)
    }

    /// Records the result of a poll: the time after which a request came, or `None`.
    pub(crate) fn looked(&mut self, found: Option<Duration>) {
        let is_at_once = found.is_some_and(|after| after < AT_ONCE);
        self.at_once = if is_at_once { self.at_once + 1 } else { 0 };
        // A single poll without a request may be chance.
        let next = if self.slept == 0 { 1 } else { (2 * self.slept + 1).min(SLEEPS_MAX) };
        (self.sleeps, self.slept) = match found {
            None => (next - 1, next),
            Some(_) if self.at_once == STREAM => {
                self.at_once = 0;
                (STREAM_SLEEPS, 0)
            }
            Some(_) => (0, 0),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_micros(64);
    const LATER: Option<Duration> = Some(Duration::from_micros(20));
    const AT_ONCE: Option<Duration> = Some(Duration::from_micros(1));

    /// Returns the number of polls among `waits` waits, if each poll ends with `found`.
    fn looks(
        polling: &mut Polling,
        waits: usize,
        requests: usize,
        found: Option<Duration>,
    ) -> usize {
        let one = |_: &usize| {
            let look = polling.look(requests, None);
            look.inspect(|_| polling.looked(found)).is_some()
        };
        (0..waits).filter(one).count()
    }

    #[test]
    fn one_request_after_another_is_looked_for_each_time() {
        let mut polling = Polling::new(LONGEST);
        assert_eq!(looks(&mut polling, 1_000, 1, LATER), 1_000);
    }

    #[test]
    fn stream_of_requests_is_polled_four_times_in_sixty_eight() {
        let mut polling = Polling::new(LONGEST);
        assert_eq!(looks(&mut polling, 680, 1, AT_ONCE), 40);
        assert_eq!(looks(&mut polling, 100, 3, LATER), 0, "nor where many are under way");
    }

    #[test]
    fn idle_server_polls_less_until_a_request_comes() {
        let mut polling = Polling::new(LONGEST);
        // Behind them come 0, 2, 6, 14, 30, 62 sleeps, and then 126 each.
        assert_eq!(looks(&mut polling, 7 + 114 + 127 * 9, 1, None), 7 + 9);
        let next = (0..=SLEEPS_MAX).find(|_| polling.look(1, None).is_some());
        assert!(next.is_some(), "it never stops to try");
        polling.looked(LATER);
        assert_eq!(looks(&mut polling, 10, 1, LATER), 10);
    }

    #[test]
    fn poll_is_bounded_by_the_next_deadline_and_can_be_off() {
        let mut polling = Polling::new(LONGEST);
        let (soon, now) = (Duration::from_micros(5), Duration::ZERO);
        assert_eq!(polling.look(0, Some(soon)), Some(soon));
        assert_eq!(polling.look(0, Some(now)), None);
        assert_eq!(Polling::new(now).look(0, None), None);
    }
}
