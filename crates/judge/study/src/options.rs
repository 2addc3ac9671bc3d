use std::num::NonZeroUsize;

use run_store::run::ToolFacts;

use super::real::RealStorage;

/// How a study is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only these claims and no tables; all if empty.
    pub only: Vec<String>,
    /// Every step of every configuration, needed or not.
    pub all: bool,
    /// Threads (default: one per core). They do not change the result.
    pub threads: Option<NonZeroUsize>,
    /// Runs of every step, if not as many as the study says.
    pub repeats: Option<u32>,
    /// Where random numbers start, if not where the study says.
    pub seed: Option<u64>,
    /// Where configurations on real storage are tried; absent: nowhere.
    pub real: Option<RealStorage>,
    /// The program that runs it.
    pub tool: Option<ToolFacts>,
}

impl Options {
    /// The program that runs it; this crate's version if nobody says.
    pub(super) fn tool(&self) -> ToolFacts {
        let version = || env!("CARGO_PKG_VERSION").to_owned();
        self.tool.clone().unwrap_or_else(|| ToolFacts { version: version(), commit: None })
    }
}
