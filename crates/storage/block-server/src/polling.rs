//! Whether the server looks for what comes next before it sleeps.
//!
//! To be put to sleep and woken costs more than a short request: on a virtual machine whose processor halts, tens of
//! microseconds. A client that asks for one thing after another waits that long each time. One that asks for many at
//! once does not, and is cheaper taken together after a sleep: its requests do not wait for answers, which shows in how
//! soon they come. So the server looks for a while only where few requests are under way, and not where the next ones
//! come at once. Where nothing comes soon enough it looks less and less often: a server that nobody asks sleeps.

use std::time::Duration;

/// Requests that are few. Our choice: one, and one that came while it was answered.
const FEW: usize = 2;
/// What comes so soon did not wait for an answer: no client is woken, reads it and asks again in that time. Our choice, after
/// trials: of 2, 4, 8 and 12 us each told one under way from four and 32 (docs/developers/adr/0019). A client that never sleeps
/// and answers sooner is slept for, as everybody would be without looks.
const AT_ONCE: Duration = Duration::from_micros(4);
/// So many of these, one after another, are a stream; our choice, as the numbers below.
const STREAM: u32 = 4;
/// Sleeps before it is looked whether a stream is one still.
const STREAM_SLEEPS: u32 = 64;
/// Sleeps at most between two looks, after many in vain.
const SLEEPS_MAX: u32 = 127;

/// What decides on it, of one server.
#[derive(Debug)]
pub(crate) struct Polling {
    /// How long a look lasts at most; none at zero.
    longest: Duration,
    /// Sleeps until the next look.
    sleeps: u32,
    /// How many there were to be after the last look, if that was in vain.
    slept: u32,
    /// What came at once, one after another.
    at_once: u32,
}

impl Polling {
    pub(crate) const fn new(longest: Duration) -> Self {
        Self { longest, sleeps: 0, slept: 0, at_once: 0 }
    }

    /// How long to look, where so many requests were answered since the last wait or are under way, and nothing else has
    /// to be done for so long. Nothing: sleep.
    pub(crate) fn look(&mut self, requests: usize, wait: Option<Duration>) -> Option<Duration> {
        let longest = wait.map_or(self.longest, |wait| wait.min(self.longest));
        if longest.is_zero() || requests > FEW {
            return None;
        }
        let is_time = self.sleeps == 0;
        self.sleeps = self.sleeps.saturating_sub(1);
        is_time.then_some(longest)
    }

    /// A look has ended, with something after so long or in vain.
    pub(crate) fn looked(&mut self, found: Option<Duration>) {
        let is_at_once = found.is_some_and(|after| after < AT_ONCE);
        self.at_once = if is_at_once { self.at_once + 1 } else { 0 };
        // The first in vain may be chance.
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

    /// How many of so many waits are looks that end so.
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
    fn what_comes_at_once_is_slept_for_but_for_four_looks_in_sixty_eight() {
        let mut polling = Polling::new(LONGEST);
        assert_eq!(looks(&mut polling, 680, 1, AT_ONCE), 40);
        assert_eq!(looks(&mut polling, 100, 3, LATER), 0, "nor where many are under way");
    }

    #[test]
    fn where_nothing_comes_it_looks_ever_less_and_each_time_again_when_something_does() {
        let mut polling = Polling::new(LONGEST);
        // Behind them come 0, 2, 6, 14, 30, 62 sleeps, and then 126 each.
        assert_eq!(looks(&mut polling, 7 + 114 + 127 * 9, 1, None), 7 + 9);
        let next = (0..=SLEEPS_MAX).find(|_| polling.look(1, None).is_some());
        assert!(next.is_some(), "it never stops to try");
        polling.looked(LATER);
        assert_eq!(looks(&mut polling, 10, 1, LATER), 10);
    }

    #[test]
    fn a_look_lasts_no_longer_than_there_is_time_and_none_is_had_where_none_is_wanted() {
        let mut polling = Polling::new(LONGEST);
        let (soon, now) = (Duration::from_micros(5), Duration::ZERO);
        assert_eq!(polling.look(0, Some(soon)), Some(soon));
        assert_eq!(polling.look(0, Some(now)), None);
        assert_eq!(Polling::new(now).look(0, None), None);
    }
}
