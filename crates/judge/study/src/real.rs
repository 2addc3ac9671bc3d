//! Configurations on real storage. Formulas, points and reports handle them like any other
//! configuration. Only the step of a point is obtained differently.

use std::path::PathBuf;

use run_store::run::Step;
use run_store::run::Warning;
use spec::array::Array;
use spec::over::OverSetting;
use spec::study::{ResolvedConfiguration, ResolvedReal, ResolvedStudy};
use units::Nanos;

use super::point::{Point, PointError, Simulate};
use bench::BenchError;
use bench::plan::profile_values;
use bench::progress::Control;
use bench::real::{RealError, RealPlace, RealSettings, step};
use bench::run::CheckedOver;

/// Real storage for configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealStorage {
    /// Directory in which virtual disks are created and removed.
    pub directory: PathBuf,
    /// True if the directory may be on a root, memory or overlay file system.
    pub allow_root_fs: bool,
}

/// Returns the study with its configurations on real storage appended to the modelled ones.
pub(super) fn with_reals(study: &ResolvedStudy) -> ResolvedStudy {
    let mut all = study.clone();
    all.configurations.extend(study.reals.iter().map(as_configuration));
    all
}

fn as_configuration(real: &ResolvedReal) -> ResolvedConfiguration {
    let cache = if real.buffered { ", through the page cache" } else { "" };
    let over = real.over.map_or_else(String::new, |over| format!(", over {over}"));
    ResolvedConfiguration {
        name: real.name.clone(),
        title: real.title.clone(),
        array_name: format!("real storage, {}{cache}{over}", real.limits.describe()),
        array: nothing(),
        tile_name: real.tile_name.clone(),
        tile: real.tile.clone(),
        operations: None,
        second: None,
        events: Vec::new(),
        restart: None,
        tiles: real.tiles.clone(),
        measure: real.measure.clone(),
        footprint: real.footprint,
        time: real.time,
    }
}

/// Returns a placeholder array for real storage, which has no model.
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
    reals: &'a [ResolvedReal],
    /// Number of modelled configurations, which come before the real ones.
    modelled: usize,
    /// Storage to use.
    storage: &'a RealStorage,
    /// Protocols of the configurations, each checked once.
    over: Vec<(OverSetting, Result<CheckedOver, PointError>)>,
}

impl<'a> Measured<'a> {
    /// Prepares to measure these points, and checks the programs of their protocols.
    pub fn new(
        reals: &'a [ResolvedReal],
        modelled: usize,
        storage: &'a RealStorage,
        points: &[Point<'_>],
    ) -> Self {
        let mut own = Self { reals, modelled, storage, over: Vec::new() };
        for point in points {
            let Some(word) = own.real(point).over else { continue };
            if !own.over.iter().any(|(known, _)| *known == word) {
                own.over.push((word, CheckedOver::find(word).map_err(|error| not_here(&error))));
            }
        }
        own
    }

    fn real(&self, point: &Point<'_>) -> &'a ResolvedReal {
        &self.reals[point.index - self.modelled]
    }

    /// Returns the protocol of a configuration; `None` for local files.
    fn over(&self, real: &ResolvedReal) -> Result<Option<&CheckedOver>, PointError> {
        let Some(word) = real.over else { return Ok(None) };
        let known = self.over.iter().find(|(known, _)| *known == word);
        let (_, checked) = known.expect("protocols of all points were checked");
        checked.as_ref().map(Some).map_err(Clone::clone)
    }

    /// Returns warnings about the programs of the protocols, and about the limits of figures
    /// measured over them.
    pub fn warnings(&self) -> Vec<Warning> {
        let found = self.over.iter().filter_map(|(_, checked)| checked.as_ref().ok());
        let mut all = Vec::new();
        for checked in found {
            let facts = checked.facts();
            let programs = format!(
                "over {}: server {} {}, initiator {} {}, network {}",
                facts.protocol,
                facts.server,
                facts.server_version,
                facts.initiator,
                facts.initiator_version,
                facts.network
            );
            let notes = checked.warnings().into_iter();
            let notes =
                notes.map(|own| Warning { text: format!("{programs}: {}", own.text), ..own });
            all.extend(notes);
        }
        all
    }
}

/// Converts a missing requirement of a protocol, with its advice, to the reason of a point.
fn not_here(error: &BenchError) -> PointError {
    let told = super::simulated::told(error);
    PointError::NotHere(match error.hint() {
        Some(hint) => format!("{told} ({hint})"),
        None => told,
    })
}

impl Simulate for Measured<'_> {
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError> {
        let real = self.real(point);
        let place = RealPlace {
            directory: &self.storage.directory,
            allow_root_fs: self.storage.allow_root_fs,
            over: self.over(real)?,
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
        Err(PointError::Failed(format!("{name} is real storage, which does not count pages")))
    }
}

/// Returns the settings of the configuration. The default is the quick profile, because users would
/// not wait an hour for each of many real steps. CPUs are sampled once per second.
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
