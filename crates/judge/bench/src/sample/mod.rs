//! Runs that are made up by rules, for tests of pages and reports and for measuring their speed.
//! Nothing is measured or simulated: slices are made up, and everything after that (series,
//! verdicts, score, answer) is the code of a real run.

mod latency;
mod rig;
mod template;

pub(crate) use rig::SampleRig;

use std::path::PathBuf;

use units::Nanos;

use crate::error::BenchError;
use crate::ladder::{Judgement, Ladder, LadderOptions, StepResult, StepRunner};
use crate::plan::{Layer, Origin, ResolvedPlan, Surroundings, resolve};
use spec::plan::{EngineOptions, Measure, Plan, Profile};

/// Options of a made-up run.
#[derive(Debug, Clone)]
pub struct SampleOptions {
    /// Directory in which the run directory is made.
    pub base: PathBuf,
    /// Name of a shipped tile, or a path.
    pub tile: String,
    /// Most tiles; four fifths of them hold.
    pub tiles: u32,
    /// Approximate time under load of all steps together.
    pub time: Nanos,
    /// Width of a time slice.
    pub slice: Nanos,
    /// Seed of everything that is made up.
    pub seed: u64,
    /// True if there is no load at all.
    pub is_empty: bool,
}

/// Most tiles that hold.
pub(crate) fn edge_of(tiles: u32) -> u32 {
    (tiles * 4 / 5).max(1)
}

/// Plan whose search takes about as long as asked.
pub(crate) fn plan_of(options: &SampleOptions) -> Result<ResolvedPlan, BenchError> {
    let tile = spec::resolve_tile(&options.tile, std::path::Path::new(""))
        .map_err(|error| crate::plan::PlanError::Unwritable(error.to_string()))?;
    // A file that does not exist, so that the plan cannot be run by mistake.
    let values = |time: Nanos| Plan {
        datastore: Some(format!("{}sample.toml", crate::plan::ARRAY_PREFIX)),
        tile: Some(options.tile.clone()),
        profile: Some(Profile::Standard),
        seed: Some(options.seed),
        ladder: spec::plan::Ladder {
            tiles_max: Some(options.tiles),
            repeats: Some(1),
            ..Default::default()
        },
        measure: Measure {
            warm_up_min: Some(Nanos(time.0 / 10)),
            warm_up_max: Some(Nanos(time.0 / 4)),
            duration: Some(Nanos(time.0 / 4 * 3).max(options.slice)),
            slice: Some(options.slice),
        },
        engine: EngineOptions { workers: Some(2), ..EngineOptions::default() },
        ..Plan::default()
    };
    let resolved = |time| {
        let layers = [Layer { origin: Origin::Plan, plan: values(time) }];
        let here = Surroundings { entropy: options.seed, cores: 2 };
        resolve(&layers, tile.clone(), here)
    };
    let steps =
        steps_of(&crate::plan::ladder_options(&resolved(options.time)?, options.tiles, false));
    Ok(resolved(Nanos(options.time.0 / u64::from(steps.max(1))))?)
}

/// Number of steps of a search for the edge of a sample.
fn steps_of(options: &LadderOptions) -> u32 {
    struct Known(u32, u32);
    impl StepRunner for Known {
        type Error = std::convert::Infallible;

        fn run_step(&mut self, tiles: u32, _: u32) -> Result<StepResult, Self::Error> {
            self.1 += 1;
            let passed = tiles <= self.0;
            let judgement = if passed { Judgement::Passed } else { Judgement::Failed };
            let work = Some(f64::from(tiles.min(self.0)));
            Ok(StepResult::plain(judgement, work, Nanos::ZERO))
        }
    }
    let mut known = Known(edge_of(options.tiles_max), 0);
    let Ok(()) = Ladder::new(*options).climb(&mut known);
    known.1
}
