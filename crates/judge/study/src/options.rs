use std::num::NonZeroUsize;

use run_store::run::ToolFacts;

use super::real::RealStorage;

/// Options of a study run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Claims to which the run is restricted, without tables; all claims and tables if empty.
    pub only: Vec<String>,
    /// True to run every step of every configuration, even if no claim needs it.
    pub all: bool,
    /// Number of threads (default: one per core). The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Number of repeats of every step, in place of the study's.
    pub repeats: Option<u32>,
    /// Seed of random numbers, in place of the study's.
    pub seed: Option<u64>,
    /// Real storage to use. If absent, no real storage is used.
    pub real: Option<RealStorage>,
    /// Program that runs the study, for the result.
    pub tool: Option<ToolFacts>,
}

impl Options {
    /// Returns the program that runs the study; this crate's version if not given.
    pub(super) fn tool(&self) -> ToolFacts {
        let version = || env!("CARGO_PKG_VERSION").to_owned();
        self.tool.clone().unwrap_or_else(|| ToolFacts { version: version(), commit: None })
    }
}
