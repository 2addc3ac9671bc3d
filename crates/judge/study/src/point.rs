use run_store::run::Step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::study::ResolvedConfiguration;

use bench::progress::Control;

/// Run of one step of one configuration.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Index of the configuration, in the study's order.
    pub index: usize,
    /// The configuration.
    pub configuration: &'a ResolvedConfiguration,
    /// Number of tiles.
    pub tiles: u32,
    /// Repeat, from 1. It and the seed decide all random numbers of the load, whatever the
    /// configuration.
    pub repeat: u32,
    /// Seed of the study.
    pub seed: u64,
}

/// Reason why a point has no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PointError {
    /// Too many tiles for the array: an answer, not a failure.
    #[error("{0}")]
    DoesNotFit(String),
    /// Failed simulation or measurement.
    #[error("{0}")]
    Failed(String),
    /// Requirement that this host or directory lacks or forbids: left out.
    #[error("left out: {0}")]
    NotHere(String),
    /// Interrupted run.
    #[error("interrupted")]
    Interrupted,
}

/// Simulator of points, used by several threads at once.
pub trait Simulate: Sync {
    /// Simulates the step of a point: the same point gives the same step, bit for bit.
    ///
    /// # Errors
    ///
    /// If there is no step.
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError>;

    /// Smallest LRU memory, in bytes, with which this share (0 to 1) of one tile's repeated page
    /// references are hits.
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
