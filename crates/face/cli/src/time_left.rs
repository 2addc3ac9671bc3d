use std::time::{Duration, Instant};

use bench::progress::{Progress, Whole};
use run_store::run::Verdict;
use units::Nanos;
use units::print::about;

/// Estimate of the time until the whole run ends.
#[derive(Debug, Default)]
pub struct TimeLeft {
    whole: Option<Whole>,
    begun: Option<Instant>,
    /// Maximum time of one step. In a simulation this is virtual time.
    at_most: Option<Duration>,
    /// Start of the first step; `done` is the number of completed steps.
    stepping: Option<Instant>,
    done: u32,
    held: u32,
    failed: Option<u32>,
}

impl TimeLeft {
    /// Updates the estimate with an event.
    pub fn hear(&mut self, event: &Progress<'_>, now: Instant) {
        match event {
            Progress::Planned(overview) => {
                self.whole = Some(overview.whole);
                self.begun = Some(now);
                let repeats = match overview.whole {
                    Whole::Search(repeats) => repeats.max(1),
                    Whole::Time(_) | Whole::Runs(_) => 1,
                };
                let at_most = Duration::from_nanos(overview.step_at_most.0) / repeats;
                self.at_most = (!overview.is_simulated).then_some(at_most);
            }
            Progress::StepBegins { .. } => {
                self.stepping.get_or_insert(now);
            }
            Progress::StepEnds(step) => {
                self.done += 1;
                match step.verdict {
                    Verdict::Passed => self.held = self.held.max(step.tiles),
                    Verdict::Failed => {
                        let least = self.failed.map_or(step.tiles, |tiles| tiles.min(step.tiles));
                        self.failed = Some(least);
                    }
                    Verdict::Inconclusive | Verdict::Interrupted => {}
                }
            }
            _ => {}
        }
    }

    /// Formats the estimate: `about 4 min left`, or for a search without a bound `at least about 20
    /// min left`. `None` before there is an estimate.
    pub fn told(&self, now: Instant) -> Option<String> {
        let (least, time) = match self.whole? {
            Whole::Time(all) => {
                let all = Duration::from_nanos(all.0);
                ("", all.saturating_sub(now.saturating_duration_since(self.begun?)))
            }
            Whole::Runs(all) => ("", self.time_of(all.saturating_sub(self.done), now)?),
            Whole::Search(repeats) => ("at least ", self.time_of(self.search(repeats), now)?),
        };
        let time = Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Some(format!("{least}{} left", about(time)))
    }

    /// Counts the steps that a search still needs if the very next number of tiles fails:
    /// bisection, then repeats.
    fn search(&self, repeats: u32) -> u32 {
        let open = self.failed.map_or(self.held, |failed| failed.saturating_sub(self.held));
        u32::BITS - open.leading_zeros() + repeats
    }

    /// Estimates the time of the remaining steps. Each takes the mean time of the completed steps,
    /// or the maximum time of a step before any is complete. The elapsed time of the current step
    /// is subtracted.
    fn time_of(&self, runs: u32, now: Instant) -> Option<Duration> {
        let Some(begun) = self.stepping.filter(|_| self.done > 0) else {
            return Some(self.at_most? * runs);
        };
        let gone = now.saturating_duration_since(begun);
        let each = gone / (self.done + 1);
        Some((each * (self.done + runs)).saturating_sub(gone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(whole: Whole, begun: Instant) -> TimeLeft {
        let (begun, whole) = (Some(begun), Some(whole));
        TimeLeft { whole, begun, at_most: Some(Duration::from_secs(60)), ..TimeLeft::default() }
    }

    #[test]
    fn a_run_with_a_clock_tells_what_is_left_of_it() {
        let begun = Instant::now();
        let left = heard(Whole::Time(Nanos::from_secs(300)), begun);
        let told = left.told(begun + Duration::from_secs(180));
        assert_eq!(told.as_deref(), Some("about 2 min left"));
        let over = left.told(begun + Duration::from_secs(400));
        assert_eq!(over.as_deref(), Some("less than 1 min left"));
    }

    #[test]
    fn a_range_tells_what_the_steps_so_far_took() {
        let begun = Instant::now();
        let mut left = heard(Whole::Runs(10), begun);
        assert_eq!(left.told(begun).as_deref(), Some("about 10 min left"));
        (left.stepping, left.done) = (Some(begun), 4);
        let told = left.told(begun + Duration::from_secs(600));
        assert_eq!(told.as_deref(), Some("about 10 min left"));
    }

    #[test]
    fn a_search_promises_no_end() {
        let begun = Instant::now();
        let mut left = heard(Whole::Search(3), begun);
        (left.held, left.failed, left.stepping) = (8, Some(16), None);
        assert_eq!(left.told(begun).as_deref(), Some("at least about 7 min left"));
    }
}
