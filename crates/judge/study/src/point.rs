use run_store::run::Step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::study::ResolvedConfiguration;

use bench::progress::Control;

/// One run of one step of one configuration.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Which configuration, in the study's order.
    pub index: usize,
    /// The configuration.
    pub configuration: &'a ResolvedConfiguration,
    /// Tiles.
    pub tiles: u32,
    /// Repeat, from 1. It and the seed decide all random numbers of the load, whatever the
    /// configuration.
    pub repeat: u32,
    /// The study's seed.
    pub seed: u64,
}

/// Why a point has no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PointError {
    /// The array cannot hold so many tiles: an answer, not a failure.
    #[error("{0}")]
    DoesNotFit(String),
    /// It could not be simulated or measured.
    #[error("{0}")]
    Failed(String),
    /// It needs what this machine or this directory has not, or forbids: left out.
    #[error("left out: {0}")]
    NotHere(String),
    /// Asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// What turns points into steps; from several threads at once.
pub trait Simulate: Sync {
    /// The step of a point: for the same point the same, bit for bit.
    ///
    /// # Errors
    ///
    /// When there is none.
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError>;

    /// The smallest LRU memory, in bytes, with which this share (0 to 1) of one tile's page
    /// references that are not the first to their page are hits.
    ///
    /// # Errors
    ///
    /// When it is not known.
    fn working_set(
        &self,
        configuration: &ResolvedConfiguration,
        share: f64,
        seed: u64,
    ) -> Result<f64, PointError>;
}
