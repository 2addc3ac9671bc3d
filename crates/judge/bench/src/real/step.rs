use std::path::{Path, PathBuf};

use datastore::{Datastore, Target};
use jiff::Timestamp;
use run_store::run::{Origin, Step};
use run_store::rundir::RunId;
use spec::ResolvedTile;
use spec::plan::{EngineOptions, Ladder, Measure, Plan, Profile, Scale};
use spec::study::Limits;
use units::Nanos;

use super::watcher::Watcher;
use crate::error::BenchError;
use crate::fleet::{DiskNeed, StepOrder, fleet, round};
use crate::plan::{Layer, ResolvedPlan, Surroundings, resolve, with_traces};
use crate::progress::{Control, NoObserver};
use crate::rig::RealRig;
use crate::run::{CheckedOver, fill};
use crate::score::References;
use crate::step::runner::{StepBench, place_now};
use crate::step::sink::Nowhere;
use bystanders::throttle::{Throttle, ThrottleRefusal};

/// Directory of a step, and its permissions.
#[derive(Debug, Clone, Copy)]
pub struct RealPlace<'a> {
    /// Directory in which the virtual disks are created.
    pub directory: &'a Path,
    /// True if the directory may be on a root, memory or overlay file system.
    pub allow_root_fs: bool,
    /// Protocol through which the disks are reached; `None` for local files.
    pub over: Option<&'a CheckedOver>,
}

/// Settings for scaling, slowing down and measuring a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealSettings {
    /// Minimum duration of the warm-up.
    pub warm_up_min: Nanos,
    /// Maximum duration of the warm-up. A step that is not steady by then is marked.
    pub warm_up_max: Nanos,
    /// Measurement time, before rounding to whole burst periods.
    pub duration: Nanos,
    /// Length of a slice, at least 100 ms. CPU figures are per slice, so use 1 s if they are
    /// needed.
    pub slice: Nanos,
    /// Factor applied to disk sizes, above 0 and at most 1.
    pub footprint: f64,
    /// Factor applied to schedule times, above 0.
    pub time: f64,
    /// Number of threads that generate the load, at least 1. Each executes CPU steps like a virtual
    /// CPU.
    pub workers: u32,
    /// True if I/O goes through the page cache.
    pub buffered: bool,
    /// Limits that slow the storage down during the load.
    pub limits: Limits,
    /// Seed of every random stream.
    pub seed: u64,
}

/// Error of a single step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealError {
    /// The storage cannot be slowed down here.
    #[error("the storage cannot be slowed down here: {}", .0.reason())]
    Throttle(ThrottleRefusal),
    /// Any other error.
    #[error(transparent)]
    Bench(#[from] BenchError),
}

impl From<ThrottleRefusal> for RealError {
    fn from(refusal: ThrottleRefusal) -> Self {
        Self::Throttle(refusal)
    }
}

/// Measures `tiles` tiles on new virtual disks in a directory, and removes the disks. `repeat`
/// counts from 0. [`Step::model`] contains the CPU figures of this host.
///
/// # Errors
///
/// The directory is refused, too small or fails; the storage cannot be slowed down; or `control`
/// requests a stop.
pub fn step(
    tile: &ResolvedTile,
    (tiles, repeat): (u32, u32),
    settings: &RealSettings,
    place: RealPlace<'_>,
    control: &Control,
) -> Result<Step, RealError> {
    let plan = with_traces(&plan(tile, tiles, settings, place)?)?.into_owned();
    let references = References::of(&plan).map_err(BenchError::from)?;
    let fleet = fleet(&plan, StepOrder::whole(&plan, tiles, round(tiles, repeat)))?;
    let disks: Vec<DiskNeed> = fleet.disks().cloned().collect();
    // Nothing is verified, so no directory for state is needed.
    let state_dir = PathBuf::new();
    let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
        .map_err(|source| BenchError::Random { source })?;
    let over = place.over.map(|over| over.clone().into_over(id.as_str()));
    let store = open(&plan, &disks, (place, &id))?;
    let mut rig = RealRig::new(store, &plan, false, state_dir)?.with_over(over);
    fill(&mut rig, &disks, control, &mut NoObserver)?;
    let mut watcher = Watcher::default();
    let throttle = settings.limits.is_any();
    let throttle = throttle.then(|| Throttle::begin(place.directory, &settings.limits));
    let throttle = throttle.transpose()?;
    let mut bench = StepBench {
        plan: &plan,
        references: &references,
        rig: &mut rig,
        control,
        observer: &mut watcher,
        series: &mut Nowhere,
    };
    let measured = bench.alone(&fleet, &place_now(1, repeat + 1, 1, tiles));
    drop(throttle);
    let (facts, removed) = (watcher.facts(&plan), rig.remove());
    let measured = measured?;
    removed?;
    Ok(Step { model: facts, ..measured })
}

fn open(
    plan: &ResolvedPlan,
    disks: &[DiskNeed],
    (place, id): (RealPlace<'_>, &RunId),
) -> Result<Datastore, BenchError> {
    let target: Target = plan.datastore.parse().map_err(BenchError::Target)?;
    let options = datastore::Options {
        buffered: plan.settings.engine.buffered,
        write: true,
        space_max: None,
        destroy_data: None,
        overwrite_file: false,
        allow_root_fs: place.allow_root_fs,
        run_id: id.as_str().to_owned(),
        adopt: None,
    };
    let needed = disks.iter().map(|disk| disk.size).sum();
    let store = Datastore::open(&target, needed, &options)?;
    let capacity = store.capacity();
    if needed > capacity {
        return Err(BenchError::TooLarge { tiles: 1, per_tile: needed, capacity });
    }
    Ok(store)
}

fn plan(
    tile: &ResolvedTile,
    tiles: u32,
    settings: &RealSettings,
    place: RealPlace<'_>,
) -> Result<ResolvedPlan, BenchError> {
    let values = Plan {
        datastore: Some(format!("dir:{}", place.directory.display())),
        tile: Some(tile.tile.name.clone()),
        profile: Some(Profile::Quick),
        seed: Some(settings.seed),
        ladder: Ladder { tiles: Some(tiles.to_string()), repeats: Some(1), ..Ladder::default() },
        measure: Measure {
            warm_up_min: Some(settings.warm_up_min),
            warm_up_max: Some(settings.warm_up_max.max(settings.warm_up_min)),
            duration: Some(settings.duration),
            slice: Some(settings.slice),
        },
        scale: Scale { footprint: Some(settings.footprint), time: Some(settings.time) },
        engine: EngineOptions {
            workers: Some(settings.workers),
            buffered: settings.buffered,
            ..EngineOptions::default()
        },
        ..Plan::default()
    };
    let layers = [Layer { origin: Origin::Plan, plan: values }];
    let mut plan = resolve(&layers, tile.clone(), Surroundings { entropy: 0, cores: 1 })?;
    // Configurations are compared with each other, so each is measured equally long.
    plan.method.lengthen_max = 1;
    Ok(plan)
}
