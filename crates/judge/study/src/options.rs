use std::num::NonZeroUsize;

use run_store::run::ToolFacts;

use super::real::RealStorage;

/// Options of a study run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only these claims and no tables; all if empty.
    pub only: Vec<String>,
    /// True for every step of every configuration, needed or not.
    pub all: bool,
    /// Threads (default: one per core). The result stays the same.
    pub threads: Option<NonZeroUsize>,
    /// Repeats of every step, instead of the study's.
    pub repeats: Option<u32>,
    /// Seed of random numbers, instead of the study's.
    pub seed: Option<u64>,
    /// Real storage to use; absent: none.
    pub real: Option<RealStorage>,
    /// Program that runs it.
    pub tool: Option<ToolFacts>,
}

impl Options {
    /// Program that runs it; this crate's version if not given.
    pub(super) fn tool(&self) -> ToolFacts {
        let version = || env!("CARGO_PKG_VERSION").to_owned();
        self.tool.clone().unwrap_or_else(|| ToolFacts { version: version(), commit: None })
    }
}
