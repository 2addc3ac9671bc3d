use std::num::NonZeroUsize;

use bench::plan::ResolvedPlan;
use bench::simulate::Settings;
use run_store::run::ToolFacts;
use units::Nanos;

/// How an answer is looked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seeds, at least 1; both sides run with each.
    pub repeats: u32,
    /// No more tiles are tried; what fits if absent.
    pub tiles_max: Option<u32>,
    /// Threads (default: one per core). They do not change the answer.
    pub threads: Option<NonZeroUsize>,
    /// A step may be measured for so many times its time while its samples decide nothing.
    pub lengthen_max: u32,
    /// Real time it may take; who gives the control ends it by `Control::end_for_time`. What was
    /// done until then is the answer, and fewer seeds are told.
    pub within: Option<Nanos>,
    /// The program.
    pub tool: ToolFacts,
}

impl Options {
    /// Time is virtual, and a search that ends for want of samples has found no edge. Our choice;
    /// the percentile's interval is then a quarter as wide.
    pub const LENGTHEN_MAX: u32 = 16;
    /// The same of a quick answer: the interval is half as wide.
    pub const LENGTHEN_MAX_QUICK: u32 = 4;
    /// Seeds of an answer by default. Our choice.
    pub const REPEATS: u32 = 5;
    /// Seeds of a quick answer: the least that have one in the middle and an interval around it.
    pub const REPEATS_QUICK: u32 = 3;

    /// How steps are run: as in the plan, and longer where that decides nothing.
    pub(super) fn settings(&self, plan: &ResolvedPlan) -> Settings {
        let asked = Settings::of_plan(plan);
        Settings { lengthen_max: asked.lengthen_max.max(self.lengthen_max), ..asked }
    }
}
