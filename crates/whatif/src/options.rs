use std::num::NonZeroUsize;

use bench::plan::ResolvedPlan;
use bench::simulate::Settings;
use record::run::ToolFacts;

/// How an answer is looked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seeds, at least 1; both sides run with each.
    pub repeats: u32,
    /// No more tiles are tried; what fits if absent.
    pub tiles_max: Option<u32>,
    /// Threads (default: one per core). They do not change the answer.
    pub threads: Option<NonZeroUsize>,
    /// The program.
    pub tool: ToolFacts,
}

/// A step may be measured for so many times its time while its samples decide nothing: time is
/// virtual, and a search that ends for want of samples has found no edge. Our choice; the
/// percentile's interval is then a quarter as wide.
pub(super) const LENGTHEN_MAX: u32 = 16;

/// How steps are run: as in the plan, and longer where that decides nothing.
pub(super) fn settings(plan: &ResolvedPlan) -> Settings {
    let asked = Settings::of_plan(plan);
    Settings { lengthen_max: asked.lengthen_max.max(LENGTHEN_MAX), ..asked }
}
