use units::Nanos;

/// How far a whole answer is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Far {
    /// Searches and steps that are over.
    pub jobs_done: usize,
    /// All of them.
    pub jobs: usize,
    /// Work that is left, as a multiple of what is done; an estimate.
    left: f64,
}

impl Far {
    /// About how much longer it takes, after so long.
    pub fn time_left(&self, so_far: Nanos) -> Nanos {
        Nanos::from_secs_f64(so_far.as_secs_f64() * self.left)
    }
}

/// Work in simulated tiles: a step costs what its tiles do.
#[derive(Debug)]
pub(super) struct Work {
    jobs_done: usize,
    jobs: usize,
    done: f64,
    expected: f64,
}

/// Where nobody knows how many tiles hold; our choice.
const GUESS: u32 = 8;

impl Work {
    /// All of it, with as many tiles as the run held for a guess of the edges.
    pub fn new(guess: Option<u32>, seeds: u32, counts: &[u32]) -> Self {
        let guess = guess.unwrap_or(GUESS).max(1);
        let climbs = 2 * seeds as usize;
        let later = f64::from(seeds.saturating_sub(1)) * Self::of_climb_from(guess);
        let steps: f64 = counts.iter().map(|tiles| Self::of_step(*tiles)).sum();
        let expected = 2.0 * (Self::of_search(guess) + later) + steps;
        Self { jobs_done: 0, jobs: climbs + counts.len(), done: 0.0, expected }
    }

    /// Doubling to beyond the edge, then halving what is between.
    fn of_search(edge: u32) -> f64 {
        let edge = f64::from(edge);
        4.0 * edge + 1.5 * edge * edge.log2().max(0.0)
    }

    /// The edge that was guessed and one more.
    pub fn of_climb_from(guess: u32) -> f64 {
        2.0 * f64::from(guess) + 1.0
    }

    pub fn of_step(tiles: u32) -> f64 {
        f64::from(tiles)
    }

    /// Now it is known what is left.
    pub fn left(&mut self, jobs: impl Iterator<Item = f64>) {
        let costs: Vec<f64> = jobs.collect();
        self.jobs = self.jobs_done + costs.len();
        self.expected = self.done + costs.iter().sum::<f64>();
    }

    pub const fn job_is_done(&mut self) {
        self.jobs_done += 1;
    }

    pub fn step_is_done(&mut self, tiles: u32) -> Far {
        self.done += Self::of_step(tiles);
        // What takes longer than was expected is nearly over, as far as anybody knows.
        let rest = (self.expected - self.done).max(0.02 * self.done);
        Far { jobs_done: self.jobs_done, jobs: self.jobs, left: rest / self.done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_the_work_that_is_done() {
        let mut work = Work::new(Some(4), 5, &[2, 3]);
        assert_eq!(work.jobs, 12);
        // Two searches of 4 x 4 + 1.5 x 4 x 2, eight climbs of 9, and the steps.
        assert!((work.expected - (2.0 * 28.0 + 72.0 + 5.0)).abs() < 1e-9, "{work:?}");
        let far = work.step_is_done(1);
        assert_eq!(far.time_left(Nanos::SECOND), Nanos::from_secs(132));
        work.job_is_done();
        work.left([3.0, 4.0].into_iter());
        let far = work.step_is_done(3);
        assert_eq!((far.jobs_done, far.jobs), (1, 3));
        assert_eq!(far.time_left(Nanos::from_secs(4)), Nanos::from_secs(4));
    }

    #[test]
    fn work_beyond_what_was_expected_never_ends_early_or_runs_backwards() {
        let mut work = Work::new(Some(1), 1, &[]);
        let far = work.step_is_done(50);
        assert_eq!(far.time_left(Nanos::from_secs(100)), Nanos::from_secs(2));
    }
}
