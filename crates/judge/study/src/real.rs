//! Configurations on real storage. Formulas, points and reports handle them like any other; only
//! the step of a point is made differently.

use std::path::PathBuf;

use run_store::run::Step;
use spec::array::Array;
use spec::study::{ResolvedConfiguration, ResolvedReal, ResolvedStudy};
use units::Nanos;

use super::point::{Point, PointError, Simulate};
use bench::BenchError;
use bench::plan::profile_values;
use bench::progress::Control;
use bench::real::{RealError, RealPlace, RealSettings, step};

/// Real storage for configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealStorage {
    /// Directory in which virtual disks are created and removed.
    pub directory: PathBuf,
    /// True if it may be on a root, memory or overlay file system.
    pub allow_root_fs: bool,
}

/// Study with its configurations on real storage after the others.
pub(super) fn with_reals(study: &ResolvedStudy) -> ResolvedStudy {
    let mut all = study.clone();
    all.configurations.extend(study.reals.iter().map(as_configuration));
    all
}

fn as_configuration(real: &ResolvedReal) -> ResolvedConfiguration {
    let cache = if real.buffered { ", through the page cache" } else { "" };
    ResolvedConfiguration {
        name: real.name.clone(),
        title: real.title.clone(),
        array_name: format!("real storage, {}{cache}", real.limits.describe()),
        array: nothing(),
        tile_name: real.tile_name.clone(),
        tile: real.tile.clone(),
        operations: None,
        second: None,
        tiles: vec![real.tiles],
        measure: real.measure.clone(),
        footprint: real.footprint,
        time: real.time,
    }
}

/// Placeholder for the model of real storage.
fn nothing() -> Array {
    Array {
        name: "none".to_owned(),
        title: "No model".to_owned(),
        source: "real storage has none".to_owned(),
        hosts: None,
        lun_queue: None,
        link: None,
        controller: None,
        background: None,
        tiers: Vec::new(),
        pools: Vec::new(),
        local: None,
        places: Vec::new(),
        disks: indexmap::IndexMap::new(),
        power: None,
        calibration: None,
    }
}

/// Measures the points of a study on real storage, one at a time.
pub(super) struct Measured<'a> {
    /// Configurations on real storage.
    pub reals: &'a [ResolvedReal],
    /// Number of configurations before them.
    pub modelled: usize,
    /// Storage to use.
    pub storage: &'a RealStorage,
}

impl Simulate for Measured<'_> {
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError> {
        let real = &self.reals[point.index - self.modelled];
        let place = RealPlace {
            directory: &self.storage.directory,
            allow_root_fs: self.storage.allow_root_fs,
        };
        let tiles = (point.tiles, point.repeat - 1);
        let settings = settings(real, point.seed);
        step(&real.tile, tiles, &settings, place, control).map_err(|error| match error {
            RealError::Bench(BenchError::Interrupted | BenchError::Aborted) => {
                PointError::Interrupted
            }
            RealError::Throttle(_) | RealError::Bench(BenchError::Refused(_)) => {
                PointError::NotHere(super::simulated::told(&error))
            }
            error => PointError::Failed(super::simulated::told(&error)),
        })
    }

    fn working_set(
        &self,
        configuration: &ResolvedConfiguration,
        _: f64,
        _: u64,
    ) -> Result<f64, PointError> {
        let name = &configuration.name;
        Err(PointError::Failed(format!("{name} is real storage, which counts no pages")))
    }
}

/// Settings of the configuration, with the quick profile as default, because nobody waits an hour
/// for each of many real steps. Processors are sampled once a second.
fn settings(real: &ResolvedReal, seed: u64) -> RealSettings {
    let base = profile_values(spec::plan::Profile::Quick);
    let measure = &real.measure;
    RealSettings {
        warm_up_min: measure.warm_up_min.unwrap_or(base.warm_up_min),
        warm_up_max: measure.warm_up_max.unwrap_or(base.warm_up_max),
        duration: measure.duration.unwrap_or(base.duration),
        slice: measure.slice.unwrap_or(Nanos::SECOND),
        footprint: real.footprint,
        time: real.time,
        workers: real.workers,
        buffered: real.buffered,
        limits: real.limits,
        seed,
    }
}
