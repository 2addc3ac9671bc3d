use std::sync::OnceLock;

use cache::mrc::MissRatioCurve;
use run_store::run::Step;
use spec::plan::Profile;
use spec::study::ResolvedConfiguration;

use super::absent::precise;
use super::point::{Point, PointError, Simulate};
use bench::BenchError;
use bench::progress::Control;
use bench::rig::{WarmKey, Warmed};
use bench::simulate::{Settings, Stage, WORKING_SET_PAGE};

/// Simulates the points of a study in virtual time.
#[derive(Debug)]
pub struct Simulated {
    configurations: Vec<ResolvedConfiguration>,
    /// Stages by configuration. Configurations that differ only in the array share the stage of the
    /// first one.
    stages: Vec<OnceLock<Result<Stage, BenchError>>>,
    /// Miss-ratio curves by configuration, shared in the same way.
    curves: Vec<OnceLock<Result<MissRatioCurve, BenchError>>>,
    /// States of warmed caches with which steps start.
    warmed: Warmed,
}

impl Simulated {
    /// Creates a simulator for the configurations of a study.
    pub fn new(configurations: &[ResolvedConfiguration]) -> Self {
        let count = configurations.len();
        Self {
            configurations: configurations.to_vec(),
            stages: (0..count).map(|_| OnceLock::new()).collect(),
            curves: (0..count).map(|_| OnceLock::new()).collect(),
            warmed: Warmed::default(),
        }
    }

    /// Returns the position of the first configuration that differs only in the array.
    fn position(&self, configuration: &ResolvedConfiguration) -> usize {
        let is_equal = |other: &ResolvedConfiguration| {
            other.tile == configuration.tile
                && other.second == configuration.second
                && other.events == configuration.events
                && other.restart == configuration.restart
                && other.measure == configuration.measure
                && (other.footprint, other.time) == (configuration.footprint, configuration.time)
        };
        let position = self.configurations.iter().position(is_equal);
        position.expect("the configuration belongs to the study")
    }

    /// Returns the stage of a configuration. The first caller creates it, and other callers wait.
    fn stage(&self, configuration: &ResolvedConfiguration) -> Result<&Stage, PointError> {
        let position = self.position(configuration);
        let make = || {
            let settings = settings(configuration);
            let stage = Stage::new(&configuration.tile, &settings);
            let second = || configuration.second.clone();
            let events = || configuration.events.clone();
            stage.map(|own| own.with_second(second()).with_events(events(), configuration.restart))
        };
        let stage = self.stages[position].get_or_init(make);
        stage.as_ref().map_err(|error| PointError::Failed(told(error)))
    }
}

impl Simulate for Simulated {
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError> {
        let stage = self.stage(point.configuration)?;
        let (array, step) = (&point.configuration.array, (point.tiles, point.repeat - 1));
        let position = self.position(point.configuration);
        let key = WarmKey::new(array, point.tiles, point.seed, position);
        let warmed = Some(self.warmed.state(key));
        stage.step_warmed(array, step, point.seed, control, warmed).map_err(|error| match error {
            BenchError::Interrupted | BenchError::Aborted => PointError::Interrupted,
            error if error.is_array_too_small() => PointError::DoesNotFit(told(&error)),
            other => PointError::Failed(told(&other)),
        })
    }

    fn working_set(
        &self,
        configuration: &ResolvedConfiguration,
        share: f64,
        seed: u64,
    ) -> Result<f64, PointError> {
        let stage = self.stage(configuration)?;
        let make = || stage.miss_ratio_curve(seed);
        let curve = self.curves[self.position(configuration)].get_or_init(make);
        let curve = curve.as_ref().map_err(|error| PointError::Failed(told(error)))?;
        let none = || PointError::Failed("the tile accesses no page twice".to_owned());
        bytes_for(curve, share).ok_or_else(none)
    }
}

/// Returns the working set of one tile from its curve, in bytes.
fn bytes_for(curve: &MissRatioCurve, share: f64) -> Option<f64> {
    let most = 1.0 - curve.points().last()?.miss_ratio;
    let pages = curve.pages_for_hit_ratio(share.clamp(0.0, 1.0) * most)?;
    Some(precise(pages) * WORKING_SET_PAGE.as_f64())
}

/// Returns the settings of the configuration. The default is the standard profile.
fn settings(configuration: &ResolvedConfiguration) -> Settings {
    let measure = &configuration.measure;
    let base = Settings::of(Profile::Standard);
    let warm_up_min = measure.warm_up_min.unwrap_or(base.warm_up_min);
    Settings {
        warm_up_min,
        warm_up_max: measure.warm_up_max.unwrap_or(base.warm_up_max).max(warm_up_min),
        duration: measure.duration.unwrap_or(base.duration),
        slice: measure.slice.unwrap_or(base.slice),
        footprint: configuration.footprint,
        time: configuration.time,
        ..base
    }
}

/// Formats an error with its causes on one line.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        cause = error.source();
    }
    text
}
