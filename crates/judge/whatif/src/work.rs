use units::Nanos;

/// Assumed number of tiles that meet the limits, if unknown; our choice.
const GUESS: u32 = 8;

/// Cost of simulated steps: each warms its caches, whatever its tiles are, and each of its tiles is
/// simulated.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    steps: f64,
    tiles: f64,
}

impl Cost {
    /// Returns the cost of a search: doubling until beyond the edge, then halving the interval.
    fn of_search(edge: u32) -> Self {
        let edge = f64::from(edge);
        let halvings = edge.log2().max(0.0);
        Self { steps: 2.0 * halvings + 2.0, tiles: 4.0 * edge + 1.5 * edge * halvings }
    }

    /// Returns the cost of a search from a guess: the guessed edge and one more.
    pub fn of_climb_from(guess: u32) -> Self {
        Self { steps: 2.0, tiles: 2.0 * f64::from(guess) + 1.0 }
    }

    pub fn of_step(tiles: u32) -> Self {
        Self { steps: 1.0, tiles: f64::from(tiles) }
    }

    fn plus(self, other: Self, times: f64) -> Self {
        Self { steps: self.steps + times * other.steps, tiles: self.tiles + times * other.tiles }
    }
}

/// Progress of a whole answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Far {
    /// Searches and steps that have ended.
    pub jobs_done: usize,
    /// All searches and steps.
    pub jobs: usize,
    done: Cost,
    left: Cost,
}

/// Speed of the work, from the real time so far.
#[derive(Debug, Default)]
pub struct Pace {
    /// Sums over the observations: steps², steps x tiles, tiles², steps x seconds, tiles x seconds.
    sums: [f64; 5],
}

impl Pace {
    /// Estimates the remaining time: seconds per step and seconds per tile that fit all
    /// observations best (least squares), neither below 0.
    pub fn time_left(&mut self, far: &Far, so_far: Nanos) -> Nanos {
        let (Cost { steps, tiles }, seconds) = (far.done, so_far.as_secs_f64());
        let new = [steps * steps, steps * tiles, tiles * tiles, steps * seconds, tiles * seconds];
        self.sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
        let [ss, st, tt, se, te] = self.sums;
        let both = ss * tt - st * st;
        let (of_step, of_tile) = ((se * tt - te * st) / both, (te * ss - se * st) / both);
        // Steps of only one size do not separate the two; then all time is attributed to tiles.
        let (of_step, of_tile) = match (both > 1e-9 * ss * tt, of_step >= 0.0, of_tile >= 0.0) {
            (true, true, true) => (of_step, of_tile),
            (true, true, false) => (se / ss, 0.0),
            _ => (0.0, te / tt),
        };
        Nanos::from_secs_f64(of_step * far.left.steps + of_tile * far.left.tiles)
    }
}

/// Done and expected work.
#[derive(Debug)]
pub(super) struct Work {
    jobs_done: usize,
    jobs: usize,
    done: Cost,
    expected: Cost,
}

impl Work {
    /// Returns all work. The number of tiles that passed in the run is the guess of the edges.
    pub fn new(guess: Option<u32>, seeds: u32, counts: &[u32]) -> Self {
        let guess = guess.unwrap_or(GUESS).max(1);
        let climbs = 2 * seeds as usize;
        let later = f64::from(seeds.saturating_sub(1));
        let side = Cost::of_search(guess).plus(Cost::of_climb_from(guess), later);
        let steps = counts.iter().map(|tiles| Cost::of_step(*tiles));
        let expected = steps.fold(Cost::default().plus(side, 2.0), |sum, one| sum.plus(one, 1.0));
        Self { jobs_done: 0, jobs: climbs + counts.len(), done: Cost::default(), expected }
    }

    /// Sets the remaining jobs, once known.
    pub fn left(&mut self, jobs: impl Iterator<Item = Cost>) {
        let costs: Vec<Cost> = jobs.collect();
        self.jobs = self.jobs_done + costs.len();
        self.expected = costs.iter().fold(self.done, |sum, one| sum.plus(*one, 1.0));
    }

    pub const fn job_is_done(&mut self) {
        self.jobs_done += 1;
    }

    pub fn step_is_done(&mut self, tiles: u32) -> Far {
        self.done = self.done.plus(Cost::of_step(tiles), 1.0);
        // Work that takes longer than expected is assumed to be nearly over.
        let rest = |expected: f64, done: f64| (expected - done).max(0.02 * done);
        let left = Cost {
            steps: rest(self.expected.steps, self.done.steps),
            tiles: rest(self.expected.tiles, self.done.tiles),
        };
        Far { jobs_done: self.jobs_done, jobs: self.jobs, done: self.done, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_the_work_that_is_done() {
        let mut work = Work::new(Some(4), 5, &[2, 3]);
        assert_eq!(work.jobs, 12);
        // Two searches of 4 x 4 + 1.5 x 4 x 2, eight from a guess of 9, and the steps.
        let all = Cost { steps: 2.0 * 6.0 + 8.0 * 2.0 + 2.0, tiles: 2.0 * 28.0 + 72.0 + 5.0 };
        assert_eq!(work.expected, all);
        let far = work.step_is_done(1);
        assert_eq!(Pace::default().time_left(&far, Nanos::SECOND), Nanos::from_secs(132));
        work.job_is_done();
        work.left([3.0, 4.0].map(|tiles| Cost { steps: 1.0, tiles }).into_iter());
        let far = work.step_is_done(3);
        assert_eq!((far.jobs_done, far.jobs), (1, 3));
        assert_eq!(Pace::default().time_left(&far, Nanos::from_secs(4)), Nanos::from_secs(4));
    }

    /// A first step took long because its caches were warmed, and 89 min were predicted for 17.
    #[test]
    fn what_every_step_costs_is_not_taken_for_the_cost_of_a_tile() {
        let (mut work, mut pace) = (Work::new(Some(8), 5, &[]), Pace::default());
        let (mut seconds, mut left) = (0, Nanos::ZERO);
        for tiles in [1, 2, 4, 8] {
            seconds += 20 + u64::from(tiles);
            left = pace.time_left(&work.step_is_done(tiles), Nanos::from_secs(seconds));
        }
        let rest = Cost { steps: 32.0 - 4.0, tiles: 272.0 - 15.0 };
        let expected = 20.0 * rest.steps + rest.tiles;
        assert!((left.as_secs_f64() - expected).abs() < 1.0, "{left} of {expected} s");
    }

    #[test]
    fn progress_beyond_estimate_keeps_time_left_positive() {
        let mut work = Work::new(Some(1), 1, &[]);
        let far = work.step_is_done(50);
        let left = Pace::default().time_left(&far, Nanos::from_secs(100));
        assert!(left >= Nanos::from_secs(2), "{left}");
    }
}
