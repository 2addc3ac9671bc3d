use std::collections::BTreeMap;

use run_store::run::Stop;
use units::Nanos;

use crate::ladder::plateau::{self, Plateau};
use crate::ladder::{Edge, Judgement, Rung, StepResult};

/// Strategy for climbing the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Climb {
    /// Grow until a step fails. Then repeatedly run the most informative number of tiles about the
    /// edge, until the interval of the edge is narrow.
    Search,
    /// Double until a step fails, then halve the gap. No number of tiles runs twice, because the
    /// result would be the same (one seed in virtual time).
    Bisect,
    /// Run every number of tiles from `first` to `last`, until the edge is surely below the next
    /// number.
    Range {
        /// First number of tiles, at least 1.
        first: u32,
        /// Last number of tiles, at least `first`.
        last: u32,
    },
    /// Run every number of tiles from `first` to `last`, whatever the results are: for a curve
    /// beyond the edge, if steps are cheap.
    Every {
        /// First number of tiles, at least 1.
        first: u32,
        /// Last number of tiles, at least `first`.
        last: u32,
    },
}

impl Climb {
    /// Returns the first and last number of tiles, if they are known before the climb.
    pub const fn range(self) -> Option<(u32, u32)> {
        match self {
            Self::Search | Self::Bisect => None,
            Self::Range { first, last } | Self::Every { first, last } => Some((first, last)),
        }
    }
}

/// Options of a climb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LadderOptions {
    /// Strategy of the climb.
    pub climb: Climb,
    /// Minimum number of runs for each number of tiles of a range, and for the held number of
    /// tiles.
    pub repeats: u32,
    /// Maximum width of the interval of held tiles, as a share of the held tiles, at which a search
    /// ends. A width of one tile is always enough.
    pub precision: f64,
    /// True if steps take real time. Then repeats differ more than the slices of one step. Storage
    /// may need time to recover, so a number of tiles that passed before the first overload is run
    /// again after it.
    pub in_real_time: bool,
    /// Number of tiles in the first step of a search, at least 1.
    pub first: u32,
    /// Maximum number of tiles in a step.
    pub tiles_max: u32,
    /// Minimum work per added tile, as a share of the work of a single tile. With less, the added
    /// tiles count as adding nothing.
    pub gain_min: f64,
    /// Time since the start by which every step should have ended. Later steps are not started.
    pub budget: Option<Nanos>,
}

impl LadderOptions {
    /// Default of `gain_min`: a tile that adds under 2 % of the work of a single tile adds nothing.
    /// Below saturation a tile adds 100 %, and repeats of a warm step differ by less than 3 % (the
    /// rule of the EMC study in `workloads` section 1.2). So 2 % of one tile is far from full gain,
    /// and repeats cannot distinguish it from zero.
    pub const GAIN_MIN: f64 = 0.02;
}

/// Distance to the closest limit above which the edge counts as far away. Waiting in a queue at
/// half of its capacity doubles a response time (M/M/1), so a quarter of the limit means that the
/// storage is far from full.
const FAR: f64 = 0.75;
/// Maximum number of runs of one number of tiles in a search. Further runs would measure the
/// current minute and not the storage.
const RUNS_MAX: usize = 9;
/// Maximum number of retries of a disturbed step. Three disturbed runs in a row are not an
/// accident.
const RETRIES: usize = 2;
/// Number of last steps whose mean duration is the forecast for the next step.
const ALIKE: usize = 3;
/// Maximum number of disturbed numbers of tiles that are left unresolved while neighbouring numbers
/// are tried.
const DISTURBED_MAX: usize = 2;
/// Maximum number of candidates among which the most informative is chosen.
const CANDIDATES_MAX: u32 = 40;

/// Next step to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Number of tiles in the step.
    pub tiles: u32,
    /// Number of the run with this many tiles, counted from 0.
    pub repeat: u32,
}

/// Runner of steps. The real one drives an engine, and tests use fakes.
pub trait StepRunner {
    /// Error that ends a climb early.
    type Error;

    /// Runs `tiles` tiles for the `repeat`-th time (counted from 0), and judges them.
    fn run_step(&mut self, tiles: u32, repeat: u32) -> Result<StepResult, Self::Error>;

    /// Called with the ladder after each recorded step.
    ///
    /// # Errors
    ///
    /// Error that ends the climb.
    fn ran(&mut self, _ladder: &Ladder) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Steps so far, and the rules for the next one. A ladder assumes nothing about the storage: a step
/// may fail although one with more tiles passes.
#[derive(Debug, Clone)]
pub struct Ladder {
    options: LadderOptions,
    rungs: BTreeMap<u32, Rung>,
    /// Numbers of tiles in the order of execution.
    order: Vec<u32>,
    /// Duration of each step, in the same order.
    took: Vec<Nanos>,
    spent: Nanos,
    out_of_time: bool,
}

impl Ladder {
    /// Creates a ladder without steps.
    pub fn new(options: LadderOptions) -> Self {
        Self {
            options,
            rungs: BTreeMap::new(),
            order: Vec::new(),
            took: Vec::new(),
            spent: Nanos::ZERO,
            out_of_time: false,
        }
    }

    /// Climbs until there is nothing left to run. After an error, the steps so far remain.
    pub fn climb<R: StepRunner>(&mut self, runner: &mut R) -> Result<(), R::Error> {
        self.climb_until(runner, |_| false)
    }

    /// Climbs until there is nothing left to run, or until `is_over` is true after a step. A later
    /// climb continues from there.
    ///
    /// # Errors
    ///
    /// Error that ends the climb.
    pub fn climb_until<R: StepRunner>(
        &mut self,
        runner: &mut R,
        is_over: impl Fn(&Self) -> bool,
    ) -> Result<(), R::Error> {
        while let Some(next) = self.next_step() {
            if self.is_over_budget() {
                self.out_of_time = true;
                break;
            }
            let result = runner.run_step(next.tiles, next.repeat)?;
            self.record(next.tiles, result);
            runner.ran(self)?;
            if is_over(self) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the held number of tiles, and the next larger number that broke a limit or added no
    /// work. `None` if the latter is more than twice the held number.
    pub fn bracket(&self) -> Option<(u32, u32)> {
        let edge = self.edge();
        let Some(Stop::Limit { tiles } | Stop::Flat { tiles, .. }) = edge.stop else { return None };
        let is_close = edge.held > 0 && tiles <= edge.held.saturating_mul(2);
        is_close.then_some((edge.held, tiles))
    }

    /// Returns the mean duration of a step, including its preparation; `None` before the first
    /// step.
    pub fn mean_step(&self) -> Option<Nanos> {
        let sum = self.took.iter().fold(Nanos::ZERO, |sum, took| sum.saturating_add(*took));
        sum.0.checked_div(self.took.len() as u64).map(Nanos)
    }

    /// Returns the total duration of all steps, plus the time added by [`Ladder::spend`].
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    /// Returns true if the steps show where the edge is.
    pub fn is_telling(&self) -> bool {
        let edge = self.edge();
        edge.held > 0 || matches!(edge.stop, Some(Stop::Limit { .. } | Stop::Flat { .. }))
    }

    /// Adds time before or between steps (prefill), which also counts against the budget.
    pub fn spend(&mut self, time: Nanos) {
        self.spent = self.spent.saturating_add(time);
    }

    /// Records a completed step. A disturbed step that passed with no more work than fewer tiles is
    /// recorded as inconclusive.
    pub fn record(&mut self, tiles: u32, result: StepResult) {
        let result = if self.options.in_real_time { result.in_real_time() } else { result };
        let is_weak = result.disturbed && result.judgement == Judgement::Passed;
        let adds = || plateau::adds(&self.rungs, (tiles, result.throughput), self.options.gain_min);
        let result = if is_weak && !adds() { result.silenced() } else { result };
        self.spend(result.took);
        self.order.push(tiles);
        self.took.push(result.took);
        self.rungs.entry(tiles).or_default().runs.push(result);
    }

    /// Returns the next step to run; `None` if the edge is known.
    pub fn next_step(&self) -> Option<Next> {
        if let Some(next) = self.retry() {
            return Some(next);
        }
        match self.options.climb {
            Climb::Search => self.next_of_search(),
            Climb::Bisect => self.next_of_bisect(),
            Climb::Range { first, last } => self.next_of_range(first, last),
            Climb::Every { first, last } => self.next_of_every(first, last),
        }
    }

    /// Returns the last step again if it was inconclusive for a temporary reason.
    fn retry(&self) -> Option<Next> {
        let rung = self.rungs.get(self.order.last()?)?;
        // A count that another run has decided needs no retry.
        if rung.runs.iter().any(|run| run.judgement != Judgement::Inconclusive) {
            return None;
        }
        // A range only repeats as the plan says. A growing search needs an answer for this very
        // count. Near a known edge, another count may tell more than a retry of undecided samples.
        let is_open = || !matches!(self.edge().stop, Some(Stop::Limit { .. } | Stop::Flat { .. }));
        let searches = || self.options.climb == Climb::Search && is_open();
        let is_wanted = |run: &&StepResult| run.try_again && (run.failed.is_none() || searches());
        let in_vain = rung.runs.iter().rev().take_while(is_wanted).count();
        (1..=RETRIES).contains(&in_vain).then(|| self.again(*self.order.last().unwrap_or(&1)))
    }

    /// Returns the completed steps, by number of tiles.
    pub fn rungs(&self) -> &BTreeMap<u32, Rung> {
        &self.rungs
    }

    /// Returns the maximum number of tiles of the climb.
    pub fn tiles_max(&self) -> u32 {
        self.options.tiles_max
    }

    /// Returns the edge according to the steps so far.
    pub fn edge(&self) -> Edge {
        Edge::of(&self.rungs, self.options.gain_min, self.options.tiles_max)
    }

    /// Ends the climb because time is up, regardless of its own budget.
    pub fn end_for_time(&mut self) {
        self.out_of_time = true;
    }

    /// Returns true if the climb ended because time was up.
    pub fn ran_out_of_time(&self) -> bool {
        self.out_of_time
    }

    /// Returns true if the climb ended only because more tiles were not allowed or did not fit.
    pub fn hit_the_cap(&self) -> bool {
        self.edge().stop.is_none() && self.rungs.contains_key(&self.options.tiles_max)
    }

    /// Returns true if the interval of held tiles is as narrow as requested.
    pub fn is_narrow(&self) -> bool {
        self.narrow(&self.edge())
    }

    /// Returns the tested numbers of tiles above the held one that passed.
    pub fn passed_above(&self) -> Vec<u32> {
        let edge = self.edge();
        let above = self.rungs.range(edge.held + 1..);
        match edge.stop {
            Some(Stop::Limit { .. }) => judged(above, Judgement::Passed),
            _ => Vec::new(),
        }
    }

    /// Returns the tested numbers of tiles below the held one that failed.
    pub fn failed_below(&self) -> Vec<u32> {
        judged(self.rungs.range(..self.edge().held), Judgement::Failed)
    }

    /// Returns a number of tiles that passed before the first overload but failed after it, and the
    /// number of tiles of the overload.
    pub fn hysteresis(&self) -> Option<(u32, u32)> {
        let (overload, before) = self.first_overload()?;
        let runs = &self.rungs.get(&before)?.runs;
        let earlier = self.order[..overload].iter().filter(|tiles| **tiles == before).count();
        let again = runs.get(earlier)?;
        (again.judgement == Judgement::Failed).then_some((before, self.order[overload]))
    }

    /// Returns the position of the first failed step in the order, and the largest number of tiles
    /// that had passed before it.
    fn first_overload(&self) -> Option<(usize, u32)> {
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        let mut passed = None;
        for (position, tiles) in self.order.iter().enumerate() {
            let nth = seen.entry(*tiles).or_default();
            let run = self.rungs.get(tiles)?.runs.get(*nth)?;
            *nth += 1;
            match run.judgement {
                Judgement::Passed => passed = passed.max(Some(*tiles)),
                Judgement::Failed => return passed.map(|passed| (position, passed)),
                Judgement::Inconclusive => {}
            }
        }
        None
    }

    fn narrow(&self, edge: &Edge) -> bool {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let wide = (f64::from(edge.held) * self.options.precision) as u32;
        edge.interval.width().is_some_and(|width| width <= wide.max(1))
    }

    fn next_of_range(&self, first: u32, last: u32) -> Option<Next> {
        let last = last.min(self.options.tiles_max);
        let high = self.edge().interval.high;
        let next = (first..=last).find_map(|tiles| self.lacks(tiles, self.options.repeats))?;
        // A new count that surely lies beyond the edge teaches nothing.
        let is_new = !self.rungs.contains_key(&next.tiles);
        let is_beyond = high.is_some_and(|high| high.saturating_add(1) < next.tiles);
        (!(is_new && is_beyond && self.any_failed())).then_some(next)
    }

    fn any_failed(&self) -> bool {
        self.rungs.values().any(|rung| rung.judgement() == Judgement::Failed)
    }

    fn next_of_every(&self, first: u32, last: u32) -> Option<Next> {
        let last = last.min(self.options.tiles_max);
        (first..=last).find_map(|tiles| self.lacks(tiles, self.options.repeats))
    }

    fn next_of_bisect(&self) -> Option<Next> {
        let edge = self.edge();
        let tiles = match edge.stop {
            None if edge.held >= self.options.tiles_max => return None,
            None => edge.held.saturating_mul(2).clamp(1, self.options.tiles_max),
            Some(Stop::Flat { .. }) if self.narrow(&edge) => return None,
            Some(Stop::Flat { .. }) => {
                let counts = self.worth_trying(&edge, self.options.tiles_max);
                let untested = counts.into_iter().filter(|tiles| !self.rungs.contains_key(tiles));
                self.plateau()?.most_telling(&self.rungs, untested)?
            }
            Some(stop) if stop.tiles() > edge.held + 1 => {
                edge.held + (stop.tiles() - edge.held) / 2
            }
            Some(_) => return None,
        };
        self.lacks(tiles, 1)
    }

    fn next_of_search(&self) -> Option<Next> {
        let edge = self.edge();
        let is_broken = matches!(edge.stop, Some(Stop::Limit { .. } | Stop::Flat { .. }));
        let cap = self.options.tiles_max.min(self.ceiling(edge.held, is_broken));
        if !is_broken {
            return self.grow(&edge, cap);
        }
        if let Some((overload, before)) = self.first_overload()
            && self.options.in_real_time
            && !self.order[overload..].contains(&before)
        {
            return Some(self.again(before));
        }
        if !self.narrow(&edge)
            && let Some(tiles) = self.most_telling(&edge, cap)
        {
            return Some(self.again(tiles));
        }
        if edge.held == 0 { None } else { self.lacks(edge.held, self.options.repeats) }
    }

    fn plateau(&self) -> Option<Plateau> {
        Plateau::of(&self.rungs, self.options.gain_min)
    }

    /// Returns the number of tiles to try next if an edge is known but not yet narrow.
    fn most_telling(&self, edge: &Edge, cap: u32) -> Option<u32> {
        let counts = self.worth_trying(edge, cap);
        if !matches!(edge.stop, Some(Stop::Flat { .. })) {
            return super::edge::model(&self.rungs, self.options.tiles_max).best(counts);
        }
        // The edge may still be above all tested counts: try twice the greatest one.
        let last = self.rungs.keys().next_back().map_or(1, |last| last.saturating_mul(2));
        if edge.interval.high.is_none() && last <= cap {
            return Some(last);
        }
        self.plateau()?.most_telling(&self.rungs, counts)
    }

    /// Returns the maximum number of tiles worth trying. Inconclusive steps above `held` limit it.
    /// If an edge is known, up to [`DISTURBED_MAX`] steps that were only disturbed are ignored;
    /// more of them mean that the host is unsuitable for measurements.
    fn ceiling(&self, held: u32, is_broken: bool) -> u32 {
        let silent = self.rungs.range(held + 1..).filter(|(_, rung)| rung.said_nothing());
        let (disturbed, lasting): (Vec<_>, Vec<_>) =
            silent.partition(|(_, rung)| rung.runs.iter().all(|run| run.try_again));
        let excused = is_broken && disturbed.len() <= DISTURBED_MAX;
        let counted = lasting.iter().chain(disturbed.iter().filter(|_| !excused));
        counted.map(|(tiles, _)| *tiles - 1).min().unwrap_or(u32::MAX)
    }

    /// Returns the next step of a growing search: twice the held tiles, or four times if every
    /// limit is far away.
    fn grow(&self, edge: &Edge, cap: u32) -> Option<Next> {
        let held = self.rungs.get(&edge.held);
        let room = held.and_then(|rung| rung.runs.last()?.room).unwrap_or(0.0);
        let factor = if room > FAR { 4 } else { 2 };
        let least = if self.rungs.is_empty() { self.options.first.max(1) } else { 1 };
        let wanted = edge.held.saturating_mul(factor).max(least);
        let is_ceiling = cap < self.options.tiles_max;
        if wanted <= cap || !is_ceiling && edge.held < cap {
            return self.lacks(wanted.min(cap), 1);
        }
        // Halve between the held count and a ceiling.
        if is_ceiling && edge.held < cap {
            return self.lacks(edge.held + (cap - edge.held).div_ceil(2), 1);
        }
        match self.undecided(cap) {
            Some(tiles) => Some(self.again(tiles)),
            None if edge.held == 0 => None,
            None => self.lacks(edge.held, self.options.repeats),
        }
    }

    /// Returns the untested number of tiles that is most informative about whether the maximum
    /// still adds work.
    fn undecided(&self, cap: u32) -> Option<u32> {
        let plateau = self.plateau().filter(|plateau| plateau.is_undecided(cap))?;
        let counts = (1..=cap).step_by((cap / CANDIDATES_MAX + 1) as usize);
        plateau.most_telling(&self.rungs, counts.filter(|tiles| !self.rungs.contains_key(tiles)))
    }

    /// Returns the numbers of tiles within a wide interval that have not run too often.
    fn worth_trying(&self, edge: &Edge, cap: u32) -> Vec<u32> {
        let high = edge.interval.high.unwrap_or(cap).saturating_add(1).min(cap);
        let runs = |tiles: &u32| self.rungs.get(tiles).map_or(0, |rung| rung.runs.len());
        let low = edge.interval.low.max(1).min(high);
        let step = ((high - low) / CANDIDATES_MAX + 1) as usize;
        let spread = (low..=high).step_by(step);
        let tested = self.rungs.range(low..=high).map(|(tiles, _)| *tiles);
        let is_silent = |tiles: &u32| self.rungs.get(tiles).is_some_and(Rung::said_nothing);
        let is_open = |tiles: &u32| runs(tiles) < RUNS_MAX && !is_silent(tiles);
        let mut counts: Vec<u32> = spread.chain(tested).filter(is_open).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    fn again(&self, tiles: u32) -> Next {
        let runs = self.rungs.get(&tiles).map_or(0, |rung| rung.runs.len());
        Next { tiles, repeat: u32::try_from(runs).unwrap_or(u32::MAX) }
    }

    /// Returns the next run of a number of tiles, unless it has had enough runs.
    fn lacks(&self, tiles: u32, wanted: u32) -> Option<Next> {
        let runs = self.rungs.get(&tiles).map_or(&[][..], |rung| &rung.runs);
        let said = runs.iter().filter(|run| run.failed.is_some()).count();
        let in_vain = runs.len() > said && said == 0;
        (said < wanted as usize && !in_vain).then(|| self.again(tiles))
    }

    fn is_over_budget(&self) -> bool {
        let Some(budget) = self.options.budget else { return false };
        let last = &self.took[self.took.len().saturating_sub(ALIKE)..];
        let sum = last.iter().fold(Nanos::ZERO, |sum, took| sum.saturating_add(*took));
        let mean = Nanos(sum.0 / last.len().max(1) as u64);
        !last.is_empty() && self.spent.saturating_add(mean) > budget
    }
}

fn judged<'a>(rungs: impl Iterator<Item = (&'a u32, &'a Rung)>, wanted: Judgement) -> Vec<u32> {
    rungs.filter(|(_, rung)| rung.judgement() == wanted).map(|(tiles, _)| *tiles).collect()
}
