use std::time::{Duration, Instant};

/// Progress of a candidate's search, with its time limit.
pub struct Tally<'a> {
    /// Name of the candidate.
    pub name: &'static str,
    /// Number of parameter sets tried.
    pub tried: u32,
    /// True if the time limit ended the search.
    pub is_cut: bool,
    best: f64,
    ends: Instant,
    said: Instant,
    progress: &'a mut dyn FnMut(&str),
}

/// Minimum interval between progress lines about the same candidate; our choice.
const EVERY: Duration = Duration::from_secs(5);

impl<'a> Tally<'a> {
    /// Starts the timer.
    pub fn new(name: &'static str, at_most: Duration, progress: &'a mut dyn FnMut(&str)) -> Self {
        let said = Instant::now();
        let ends = said + at_most;
        Self { name, tried: 0, is_cut: false, best: f64::INFINITY, ends, said, progress }
    }

    /// Returns true if there is no time for another parameter set.
    pub fn is_over(&mut self) -> bool {
        self.is_cut |= Instant::now() >= self.ends;
        self.is_cut
    }

    /// Counts a parameter set and records its cost.
    pub fn note(&mut self, cost: f64) {
        self.tried += 1;
        self.best = self.best.min(cost);
        if self.said.elapsed() >= EVERY {
            self.say();
        }
    }

    /// Reports the progress, if there is any.
    pub fn say(&mut self) {
        if self.tried == 0 {
            return;
        }
        let Self { name, tried, best, .. } = self;
        let cut = if self.is_cut { ", out of time" } else { "" };
        let percent = *best * 100.0;
        (self.progress)(&format!("{name}: {tried} tried, misfit {percent:.1} %{cut}"));
        self.said = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_told_and_time_ends_it() {
        let mut lines = Vec::new();
        let mut tell = |line: &str| lines.push(line.to_owned());
        let mut tally = Tally::new("any", Duration::from_secs(3600), &mut tell);
        assert!(!tally.is_over());
        tally.note(0.5);
        tally.note(0.75);
        tally.ends = tally.said;
        assert!(tally.is_over());
        tally.say();
        assert_eq!(lines, ["any: 2 tried, misfit 50.0 %, out of time"]);
    }
}
