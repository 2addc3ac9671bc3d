use std::num::NonZeroUsize;

use bench::plan::ResolvedPlan;
use bench::simulate::Settings;
use run_store::run::ToolFacts;
use units::Nanos;

/// Options of the search for an answer.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of seeds, at least 1; both sides run with each.
    pub repeats: u32,
    /// Maximum number of tiles that is tried; the number that fits if absent.
    pub tiles_max: Option<u32>,
    /// Threads (default: one per core). The answer stays the same.
    pub threads: Option<NonZeroUsize>,
    /// Maximum factor by which a step's measured time is extended while its samples decide nothing.
    pub lengthen_max: u32,
    /// Real time limit; the caller ends it by `Control::end_for_time`. The answer covers the work
    /// done until then, with fewer seeds.
    pub within: Option<Nanos>,
    /// Version of the program.
    pub tool: ToolFacts,
}

impl Options {
    /// Default factor: time is virtual, and a search that ends for lack of samples has found no
    /// edge. Our choice; the percentile's interval is then a quarter as wide.
    pub const LENGTHEN_MAX: u32 = 16;
    /// Factor of a quick answer: the interval is half as wide.
    pub const LENGTHEN_MAX_QUICK: u32 = 4;
    /// Default number of seeds. Our choice.
    pub const REPEATS: u32 = 5;
    /// Seeds of a quick answer: the smallest number with a middle and an interval around it.
    pub const REPEATS_QUICK: u32 = 3;

    /// Settings of steps: as in the plan, and longer if that decides nothing.
    pub(super) fn settings(&self, plan: &ResolvedPlan) -> Settings {
        let asked = Settings::of_plan(plan);
        Settings { lengthen_max: asked.lengthen_max.max(self.lengthen_max), ..asked }
    }
}
