use std::collections::BTreeMap;

use run_store::run::Stop;
use units::Nanos;

use crate::ladder::plateau::{self, Plateau};
use crate::ladder::{Edge, Judgement, Rung, StepResult};

/// How the ladder is climbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Climb {
    /// Grow until a step fails, then whichever count tells most about the edge, again and again,
    /// until its interval is narrow.
    Search,
    /// Double until a step fails and halve the gap; no count runs twice, because it would say
    /// the same again (one seed in virtual time).
    Bisect,
    /// Every count from `first` to `last`, until the edge is surely below the next one.
    Range {
        /// First count, at least 1.
        first: u32,
        /// Last count, at least `first`.
        last: u32,
    },
    /// Every count from `first` to `last`, whatever happens there: a curve beyond the edge,
    /// where a step costs little.
    Every {
        /// First count, at least 1.
        first: u32,
        /// Last count, at least `first`.
        last: u32,
    },
}

impl Climb {
    /// First and last count, if they are known before the climb.
    pub const fn range(self) -> Option<(u32, u32)> {
        match self {
            Self::Search | Self::Bisect => None,
            Self::Range { first, last } | Self::Every { first, last } => Some((first, last)),
        }
    }
}

/// The rules of a climb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LadderOptions {
    /// How it is climbed.
    pub climb: Climb,
    /// Runs of every count of a range, and of the count that is held, at least.
    pub repeats: u32,
    /// A search goes on until the interval of tiles held is no wider than this share of them,
    /// or one tile.
    pub precision: f64,
    /// Whether steps take real time: repeats differ by more than a step's own slices do, and
    /// storage may need time to recover, so that a count that passed before the first overload is
    /// run again after it.
    pub in_real_time: bool,
    /// Tiles of the first step of a search, at least 1.
    pub first: u32,
    /// No step has more tiles than this.
    pub tiles_max: u32,
    /// A step that adds less work than this per added tile, as a share of what a tile does by
    /// itself, adds nothing.
    pub gain_min: f64,
    /// No step is begun that would probably end later than this after the start.
    pub budget: Option<Nanos>,
}

impl LadderOptions {
    /// A tile that adds under 2 % of what a tile does by itself adds nothing. Below saturation a tile
    /// adds 100 %, and repeated runs of a whole step differ by less than 3 % once warm
    /// (the rule of the EMC study in `workloads` section 1.2), so 2 % of one tile is far
    /// from the first and within what the second cannot tell from zero.
    pub const GAIN_MIN: f64 = 0.02;
}

/// A closest limit with more room than this is far away: waiting in a queue that is used to a
/// half doubles an answer (M/M/1), so a quarter of the limit leaves the storage far from full.
const FAR: f64 = 0.75;
/// No count of a search runs more often; more would tell of this minute, not of the storage.
const RUNS_MAX: usize = 9;
/// A step that was disturbed is tried so often again; three in a row are no accident.
const RETRIES: usize = 2;
/// The next step takes about as long as so many before it did on average.
const ALIKE: usize = 3;
/// So many counts may be disturbed whenever they are tried, and others are tried beside them.
const DISTURBED_MAX: usize = 2;
/// Counts among which the most telling one is looked for.
const CANDIDATES_MAX: u32 = 40;

/// What to run next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Tiles of the step.
    pub tiles: u32,
    /// Which run of it, from 0.
    pub repeat: u32,
}

/// Runs one step; the real one drives an engine, tests use fakes.
pub trait StepRunner {
    /// What ends a climb early.
    type Error;

    /// Runs `tiles` tiles for the `repeat`-th time (from 0) and judges them.
    fn run_step(&mut self, tiles: u32, repeat: u32) -> Result<StepResult, Self::Error>;

    /// Hears what the ladder makes of the step that just ran.
    ///
    /// # Errors
    ///
    /// What ends the climb.
    fn ran(&mut self, _ladder: &Ladder) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The steps run so far and the rules for the next one. It assumes nothing about the
/// storage: a step may fail below one that passes.
#[derive(Debug, Clone)]
pub struct Ladder {
    options: LadderOptions,
    rungs: BTreeMap<u32, Rung>,
    /// Tile counts in the order they ran.
    order: Vec<u32>,
    /// How long each step took, in that order.
    took: Vec<Nanos>,
    spent: Nanos,
    out_of_time: bool,
}

impl Ladder {
    /// A ladder nobody has climbed yet.
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

    /// Climbs until nothing is left to run. After an error the steps so far remain.
    pub fn climb<R: StepRunner>(&mut self, runner: &mut R) -> Result<(), R::Error> {
        self.climb_until(runner, |_| false)
    }

    /// Climbs until nothing is left to run, or until this is true after a step; a later climb goes on from there.
    ///
    /// # Errors
    ///
    /// What ends the climb.
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

    /// Count that is held and the next one above that broke a limit or added no work, if that is at most twice as
    /// many.
    pub fn bracket(&self) -> Option<(u32, u32)> {
        let edge = self.edge();
        let Some(Stop::Limit { tiles } | Stop::Flat { tiles, .. }) = edge.stop else { return None };
        let is_close = edge.held > 0 && tiles <= edge.held.saturating_mul(2);
        is_close.then_some((edge.held, tiles))
    }

    /// Time that a step took on average, preparation included; nothing before the first.
    pub fn mean_step(&self) -> Option<Nanos> {
        let sum = self.took.iter().fold(Nanos::ZERO, |sum, took| sum.saturating_add(*took));
        sum.0.checked_div(self.took.len() as u64).map(Nanos)
    }

    /// Time of all steps and of what was added by [`Ladder::spend`].
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    /// Whether a step says something about where the edge is.
    pub fn is_telling(&self) -> bool {
        let edge = self.edge();
        edge.held > 0 || matches!(edge.stop, Some(Stop::Limit { .. } | Stop::Flat { .. }))
    }

    /// Adds time spent before or between steps (prefill) to what the budget counts.
    pub fn spend(&mut self, time: Nanos) {
        self.spent = self.spent.saturating_add(time);
    }

    /// Adds a finished step. One that was disturbed and passed with no more work than fewer tiles
    /// did says nothing.
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

    /// The step to run next, or nothing when the edge is known.
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

    /// The last step once more, if it said nothing for a reason that may pass.
    fn retry(&self) -> Option<Next> {
        let rung = self.rungs.get(self.order.last()?)?;
        // One that another run of the same count has decided has done its part.
        if rung.runs.iter().any(|run| run.judgement != Judgement::Inconclusive) {
            return None;
        }
        // Who names counts and repeats gets those. A search that grows wants an answer of this very
        // count; near a known edge samples that do not decide say what they can, and another count
        // may say more.
        let is_open = || !matches!(self.edge().stop, Some(Stop::Limit { .. } | Stop::Flat { .. }));
        let searches = || self.options.climb == Climb::Search && is_open();
        let is_wanted = |run: &&StepResult| run.try_again && (run.failed.is_none() || searches());
        let in_vain = rung.runs.iter().rev().take_while(is_wanted).count();
        (1..=RETRIES).contains(&in_vain).then(|| self.again(*self.order.last().unwrap_or(&1)))
    }

    /// The steps that ran, by tile count.
    pub fn rungs(&self) -> &BTreeMap<u32, Rung> {
        &self.rungs
    }

    /// The most tiles that it may try.
    pub fn tiles_max(&self) -> u32 {
        self.options.tiles_max
    }

    /// Where the steps so far put the edge.
    pub fn edge(&self) -> Edge {
        Edge::of(&self.rungs, self.options.gain_min, self.options.tiles_max)
    }

    /// The climb has ended for lack of time, whatever it counted itself.
    pub fn end_for_time(&mut self) {
        self.out_of_time = true;
    }

    /// Whether the climb ended for lack of time.
    pub fn ran_out_of_time(&self) -> bool {
        self.out_of_time
    }

    /// Whether the climb ended only because no more tiles were allowed or fitted.
    pub fn hit_the_cap(&self) -> bool {
        self.edge().stop.is_none() && self.rungs.contains_key(&self.options.tiles_max)
    }

    /// Whether the interval of tiles held is as narrow as was asked for.
    pub fn is_narrow(&self) -> bool {
        self.narrow(&self.edge())
    }

    /// Tested counts above what is held that passed all the same.
    pub fn passed_above(&self) -> Vec<u32> {
        let edge = self.edge();
        let above = self.rungs.range(edge.held + 1..);
        match edge.stop {
            Some(Stop::Limit { .. }) => judged(above, Judgement::Passed),
            _ => Vec::new(),
        }
    }

    /// Tested counts below what is held that failed all the same.
    pub fn failed_below(&self) -> Vec<u32> {
        judged(self.rungs.range(..self.edge().held), Judgement::Failed)
    }

    /// A count that passed before the first overload and failed when it was run again after it,
    /// with the overload's count.
    pub fn hysteresis(&self) -> Option<(u32, u32)> {
        let (overload, before) = self.first_overload()?;
        let runs = &self.rungs.get(&before)?.runs;
        let earlier = self.order[..overload].iter().filter(|tiles| **tiles == before).count();
        let again = runs.get(earlier)?;
        (again.judgement == Judgement::Failed).then_some((before, self.order[overload]))
    }

    /// Position in the order of the first step that failed, and the greatest count that had
    /// passed before it.
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
        // Nothing is learned above a count that surely lies beyond the edge.
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

    /// The count to try next where an edge is known and not yet narrow.
    fn most_telling(&self, edge: &Edge, cap: u32) -> Option<u32> {
        let counts = self.worth_trying(edge, cap);
        if !matches!(edge.stop, Some(Stop::Flat { .. })) {
            return super::edge::model(&self.rungs, self.options.tiles_max).best(counts);
        }
        // Still growing for all that is known: twice the most that was tried.
        let last = self.rungs.keys().next_back().map_or(1, |last| last.saturating_mul(2));
        if edge.interval.high.is_none() && last <= cap {
            return Some(last);
        }
        self.plateau()?.most_telling(&self.rungs, counts)
    }

    /// The most tiles worth trying: counts above `held` about which nothing can be said are a
    /// ceiling. Where an edge is known, a few that were only disturbed are not; more say that the
    /// machine is not fit.
    fn ceiling(&self, held: u32, is_broken: bool) -> u32 {
        let silent = self.rungs.range(held + 1..).filter(|(_, rung)| rung.said_nothing());
        let (disturbed, lasting): (Vec<_>, Vec<_>) =
            silent.partition(|(_, rung)| rung.runs.iter().all(|run| run.try_again));
        let excused = is_broken && disturbed.len() <= DISTURBED_MAX;
        let counted = lasting.iter().chain(disturbed.iter().filter(|_| !excused));
        counted.map(|(tiles, _)| *tiles - 1).min().unwrap_or(u32::MAX)
    }

    /// Twice as many tiles as are held, four times where every limit is far away.
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
        // Between what is held and a ceiling, halving.
        if is_ceiling && edge.held < cap {
            return self.lacks(edge.held + (cap - edge.held).div_ceil(2), 1);
        }
        match self.undecided(cap) {
            Some(tiles) => Some(self.again(tiles)),
            None if edge.held == 0 => None,
            None => self.lacks(edge.held, self.options.repeats),
        }
    }

    /// The untested count that says most of whether the last possible one still adds work.
    fn undecided(&self, cap: u32) -> Option<u32> {
        let plateau = self.plateau().filter(|plateau| plateau.is_undecided(cap))?;
        let counts = (1..=cap).step_by((cap / CANDIDATES_MAX + 1) as usize);
        plateau.most_telling(&self.rungs, counts.filter(|tiles| !self.rungs.contains_key(tiles)))
    }

    /// Counts between the ends of a wide interval that have not been run too often.
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

    /// The next run of a count, unless it has had enough.
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
