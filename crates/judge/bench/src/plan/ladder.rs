use crate::ladder::{Climb, LadderOptions};
use crate::plan::ResolvedPlan;

/// Returns the options of a plan's ladder. In virtual time, steps do not influence each other.
pub(crate) fn ladder_options(
    plan: &ResolvedPlan,
    tiles_max: u32,
    in_real_time: bool,
) -> LadderOptions {
    LadderOptions {
        climb: plan.climb,
        repeats: plan.repeats,
        precision: plan.method.precision,
        in_real_time,
        first: 1,
        tiles_max,
        gain_min: LadderOptions::GAIN_MIN,
        budget: match plan.climb {
            Climb::Search | Climb::Bisect => plan.method.budget,
            Climb::Range { .. } | Climb::Every { .. } => None,
        },
    }
}
