use run_store::run::Step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::study::ResolvedConfiguration;

use bench::progress::Control;

/// One run of one step of one configuration.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Position of the configuration in the study.
    pub index: usize,
    /// The configuration.
    pub configuration: &'a ResolvedConfiguration,
    /// Number of tiles.
    pub tiles: u32,
    /// Number of the repeat, counted from 1. Together with the seed it decides all random numbers
    /// of the load, in every configuration.
    pub repeat: u32,
    /// Seed of the study.
    pub seed: u64,
}

/// Reason why a point has no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PointError {
    /// The array is too small for the tiles. This is an answer, not a failure.
    #[error("{0}")]
    DoesNotFit(String),
    /// The simulation or measurement failed.
    #[error("{0}")]
    Failed(String),
    /// This host or directory lacks or forbids a requirement, so the point is left out.
    #[error("left out: {0}")]
    NotHere(String),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// Simulator of points, which several threads use concurrently.
pub trait Simulate: Sync {
    /// Simulates the step of a point. The same point gives exactly the same step.
    ///
    /// # Errors
    ///
    /// If there is no step.
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError>;

    /// Returns the smallest LRU cache, in bytes, with which this share (0 to 1) of one tile's
    /// repeated page references are hits.
    ///
    /// # Errors
    ///
    /// If it is unknown.
    fn working_set(
        &self,
        configuration: &ResolvedConfiguration,
        share: f64,
        seed: u64,
    ) -> Result<f64, PointError>;
}
