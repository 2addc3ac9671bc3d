use std::collections::BTreeMap;

use run_store::run::{Step, Stop};
use spec::array::Array;
use units::Nanos;

use super::document::{SeedEdge, Stopped};
use bench::BenchError;
use bench::ladder::{Climb, Edge, Ladder, LadderOptions, StepResult};
use bench::progress::Control;
use bench::simulate::Stage;

/// Search of the edge with one seed.
#[derive(Debug)]
pub(super) struct Climbed {
    pub seed: u64,
    pub edge: Edge,
    pub steps: BTreeMap<u32, Step>,
}

impl Climbed {
    pub fn seed_edge(&self) -> SeedEdge {
        let stopped = match self.edge.stop {
            Some(Stop::Limit { .. }) => Stopped::Limit,
            Some(Stop::Flat { .. }) => Stopped::Flat,
            Some(Stop::Inconclusive { .. }) => Stopped::Inconclusive,
            None => Stopped::TilesMax,
        };
        SeedEdge { seed: self.seed, tiles: self.edge.held, stopped }
    }

    /// Returns the number of tiles of the undecided step that ended the search, if there is one.
    pub fn undecided(&self) -> Option<u32> {
        self.edge.stop.filter(|stop| matches!(stop, Stop::Inconclusive { .. })).map(Stop::tiles)
    }

    /// Returns the step that ended the search, otherwise the last step that passed.
    pub fn last_step(&self) -> Option<&Step> {
        let tiles = self.edge.stop.map_or(self.edge.held, Stop::tiles);
        self.steps.get(&tiles)
    }
}

/// Input shared by all searches of a side.
pub(super) struct SearchInput<'a> {
    pub stage: &'a Stage,
    /// Arrays that the seeds take in turns.
    pub arrays: Vec<&'a Array>,
    pub tiles_max: u32,
    pub control: &'a Control,
}

impl SearchInput<'_> {
    /// Searches the edge with a seed: doubling and halving, or from a guess down to a count that
    /// holds and up to one that does not. Each step runs once; the seeds are its repeats.
    pub fn climb(
        &self,
        (at, seed): (usize, u64),
        guess: Option<u32>,
        observe: &dyn Fn(&Step),
    ) -> Result<Climbed, BenchError> {
        let mut ladder = Ladder::new(LadderOptions {
            climb: Climb::Bisect,
            repeats: 1,
            precision: 0.0,
            in_real_time: false,
            first: 1,
            tiles_max: self.tiles_max,
            gain_min: LadderOptions::GAIN_MIN,
            budget: None,
        });
        let mut steps = BTreeMap::new();
        while let Some(tiles) = self.next(&ladder, guess) {
            let step = self.step(tiles, (at, seed))?;
            observe(&step);
            ladder.record(tiles, StepResult::of(&step, Nanos::ZERO));
            steps.insert(tiles, step);
        }
        Ok(Climbed { seed, edge: ladder.edge(), steps })
    }

    /// Simulates one step with a seed, on the array of the seed's position.
    pub fn step(&self, tiles: u32, (at, seed): (usize, u64)) -> Result<Step, BenchError> {
        let array = self.arrays[at % self.arrays.len()];
        self.stage.step(array, (tiles, 0), seed, self.control)
    }

    fn next(&self, ladder: &Ladder, guess: Option<u32>) -> Option<u32> {
        let Some(guess) = guess else { return ladder.next_step().map(|next| next.tiles) };
        if ladder.rungs().is_empty() {
            return Some(guess.clamp(1, self.tiles_max));
        }
        let edge = ladder.edge();
        match edge.stop {
            None if edge.held >= self.tiles_max => None,
            None => Some(edge.held + 1),
            Some(stop) => (stop.tiles() > edge.held + 1).then(|| stop.tiles() - 1),
        }
    }
}
