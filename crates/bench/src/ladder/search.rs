use std::collections::BTreeMap;

use units::Nanos;

use crate::ladder::{Edge, Judgement, Rung, StepResult, Stop};

/// How the ladder is climbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Climb {
    /// Double until a step stops it, halve the gap, then every step around the edge.
    Search,
    /// Every count from `first` to `last`, until a step stops it.
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
            Self::Search => None,
            Self::Range { first, last } | Self::Every { first, last } => Some((first, last)),
        }
    }
}

/// The rules of a climb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LadderOptions {
    /// How it is climbed.
    pub climb: Climb,
    /// Runs of every step around the edge; it passes only if all of them pass. Steps far
    /// below the edge, met while doubling and halving, run once: they cost the same time
    /// and decide nothing that the edge's own steps do not decide again.
    pub repeats: u32,
    /// How many steps on either side of the edge are run.
    pub around: u32,
    /// No step has more tiles than this.
    pub tiles_max: u32,
    /// A step that adds less work than this per added tile, in tiles' worth, adds nothing.
    pub gain_min: f64,
    /// No step is begun that would probably end later than this after the start.
    pub budget: Option<Nanos>,
}

impl LadderOptions {
    /// A tile that adds under 2 % of a tile's work adds nothing. Below saturation a tile
    /// adds 100 %, and repeated runs of a whole step differ by less than 3 % once warm
    /// (the rule of the EMC study in `workloads` section 1.2), so 2 % of one tile is far
    /// from the first and within what the second cannot tell from zero.
    pub const GAIN_MIN: f64 = 0.02;
}

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
}

/// The steps run so far and the rules for the next one. It assumes nothing about the
/// storage: a step may fail below one that passes.
#[derive(Debug, Clone)]
pub struct Ladder {
    options: LadderOptions,
    rungs: BTreeMap<u32, Rung>,
    spent: Nanos,
    out_of_time: bool,
}

impl Ladder {
    /// A ladder nobody has climbed yet.
    pub fn new(options: LadderOptions) -> Self {
        Self { options, rungs: BTreeMap::new(), spent: Nanos::ZERO, out_of_time: false }
    }

    /// Climbs until nothing is left to run. After an error the steps so far remain.
    pub fn climb<R: StepRunner>(&mut self, runner: &mut R) -> Result<(), R::Error> {
        while let Some(next) = self.next_step() {
            if self.is_over_budget() {
                self.out_of_time = true;
                break;
            }
            let result = runner.run_step(next.tiles, next.repeat)?;
            self.record(next.tiles, result);
        }
        Ok(())
    }

    /// Adds time spent before or between steps (prefill) to what the budget counts.
    pub fn spend(&mut self, time: Nanos) {
        self.spent = self.spent.saturating_add(time);
    }

    /// Adds a finished step.
    pub fn record(&mut self, tiles: u32, result: StepResult) {
        self.spend(result.took);
        self.rungs.entry(tiles).or_default().runs.push(result);
    }

    /// The step to run next, or nothing when the edge is known.
    pub fn next_step(&self) -> Option<Next> {
        match self.options.climb {
            Climb::Search => self.next_of_search(),
            Climb::Range { first, last } => self.next_of_range(first, last),
            Climb::Every { first, last } => self.next_of_every(first, last),
        }
    }

    /// The steps that ran, by tile count.
    pub fn rungs(&self) -> &BTreeMap<u32, Rung> {
        &self.rungs
    }

    /// Where the steps so far put the edge.
    pub fn edge(&self) -> Edge {
        Edge::of(&self.rungs, self.options.gain_min)
    }

    /// Whether the climb ended for lack of time.
    pub fn ran_out_of_time(&self) -> bool {
        self.out_of_time
    }

    /// Whether the climb ended only because no more tiles were allowed or fitted.
    pub fn hit_the_cap(&self) -> bool {
        self.edge().stop.is_none() && self.rungs.contains_key(&self.options.tiles_max)
    }

    /// Tested counts above the edge that passed: the storage is not monotone there.
    pub fn passed_above_the_edge(&self) -> Vec<u32> {
        let Some(stop) = self.edge().stop else { return Vec::new() };
        self.rungs
            .range(stop.tiles() + 1..)
            .filter(|(_, rung)| {
                rung.judgement() == Judgement::Passed && !matches!(stop, Stop::Flat { .. })
            })
            .map(|(tiles, _)| *tiles)
            .collect()
    }

    fn next_of_range(&self, first: u32, last: u32) -> Option<Next> {
        let last = last.min(self.options.tiles_max);
        if self.edge().stop.is_some() {
            return None;
        }
        (first..=last).find_map(|tiles| self.missing_run(tiles, self.options.repeats))
    }

    fn next_of_every(&self, first: u32, last: u32) -> Option<Next> {
        let last = last.min(self.options.tiles_max);
        (first..=last).find_map(|tiles| {
            let runs = self.rungs.get(&tiles).map_or(0, |rung| rung.runs.len());
            let repeat = u32::try_from(runs).unwrap_or(u32::MAX);
            (repeat < self.options.repeats).then_some(Next { tiles, repeat })
        })
    }

    fn next_of_search(&self) -> Option<Next> {
        let edge = self.edge();
        if edge.stop.is_none() && edge.held < self.options.tiles_max {
            let tiles = edge.held.saturating_mul(2).clamp(1, self.options.tiles_max);
            return self.missing_run(tiles, 1);
        }
        if let Some(tiles) = edge.gap() {
            return self.missing_run(tiles, 1);
        }
        self.unconfirmed(edge)
    }

    /// A run still missing around the edge: first the held step, then down, then up.
    fn unconfirmed(&self, edge: Edge) -> Option<Next> {
        let around = self.options.around;
        let down = (edge.held.saturating_sub(around).max(1)..=edge.held).rev();
        let highest = edge.held.saturating_add(around).min(self.options.tiles_max);
        let mut up = edge.held + 1..=highest;
        down.into_iter()
            .find_map(|tiles| self.missing_run(tiles, self.options.repeats))
            .or_else(|| up.find_map(|tiles| self.missing_run(tiles, 1)))
    }

    /// The next run of a step, unless it has had enough or one of them did not pass.
    fn missing_run(&self, tiles: u32, wanted: u32) -> Option<Next> {
        let Some(rung) = self.rungs.get(&tiles) else { return Some(Next { tiles, repeat: 0 }) };
        let repeat = u32::try_from(rung.runs.len()).unwrap_or(u32::MAX);
        (rung.judgement() == Judgement::Passed && repeat < wanted).then_some(Next { tiles, repeat })
    }

    fn is_over_budget(&self) -> bool {
        let Some(budget) = self.options.budget else { return false };
        let longest = self.rungs.values().flat_map(|rung| &rung.runs).map(|run| run.took).max();
        longest.is_some_and(|longest| self.spent.saturating_add(longest) > budget)
    }
}
