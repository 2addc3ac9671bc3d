use run_store::run::Origin;
use spec::ResolvedTile;
use spec::plan::{Ladder, Measure, Plan, Profile, Scale};
use units::Nanos;

use crate::plan::{
    Layer, PlanError, ResolvedPlan, Surroundings, resolve_simulated, simulated_values,
};

/// Settings for scaling, warming up and measuring a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Minimum warm-up, after the tiers were filled without timing.
    pub warm_up_min: Nanos,
    /// Maximum warm-up. A step that is not steady by then is marked.
    pub warm_up_max: Nanos,
    /// Measurement time, before rounding to whole burst periods.
    pub duration: Nanos,
    /// Maximum factor by which the measurement time may grow while a limit has too few samples, at
    /// least 1.
    pub lengthen_max: u32,
    /// Length of a slice, 100 ms to 1 s.
    pub slice: Nanos,
    /// Factor applied to disk sizes, above 0 and at most 1.
    pub footprint: f64,
    /// Factor applied to schedule times, above 0.
    pub time: f64,
}

impl Settings {
    /// Returns the settings of `tilemark simulate` with a profile.
    pub const fn of(profile: Profile) -> Self {
        let values = simulated_values(profile);
        Self {
            warm_up_min: values.warm_up_min,
            warm_up_max: values.warm_up_max,
            duration: values.duration,
            lengthen_max: values.lengthen_max,
            slice: values.slice,
            footprint: values.footprint,
            time: values.time,
        }
    }

    /// Returns the settings of a plan.
    pub fn of_plan(plan: &ResolvedPlan) -> Self {
        Self {
            warm_up_min: plan.warm_up_min,
            warm_up_max: plan.warm_up_max,
            duration: plan.duration_asked,
            lengthen_max: plan.method.lengthen_max,
            slice: plan.slice,
            footprint: plan.footprint,
            time: plan.time,
        }
    }

    /// Returns the plan of one step, on the array with this name.
    pub fn plan(&self, array: &str, tile: &ResolvedTile) -> Result<ResolvedPlan, PlanError> {
        let values = Plan {
            datastore: Some(format!("array:{array}")),
            tile: Some(tile.tile.name.clone()),
            seed: Some(0),
            ladder: Ladder { repeats: Some(1), ..Ladder::default() },
            measure: Measure {
                warm_up_min: Some(self.warm_up_min),
                warm_up_max: Some(self.warm_up_max),
                duration: Some(self.duration),
                slice: Some(self.slice),
            },
            scale: Scale { footprint: Some(self.footprint), time: Some(self.time) },
            ..Plan::default()
        };
        let layers = [Layer { origin: Origin::Plan, plan: values }];
        let here = Surroundings { entropy: 0, cores: 1 };
        let mut plan = resolve_simulated(&layers, tile.clone(), here)?;
        plan.method.lengthen_max = self.lengthen_max.max(1);
        Ok(plan)
    }
}

impl Default for Settings {
    /// Returns the settings of the standard profile.
    fn default() -> Self {
        Self::of(Profile::Standard)
    }
}
