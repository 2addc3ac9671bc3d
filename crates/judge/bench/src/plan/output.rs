use run_store::run::PlanValue;
use serde_json::Value;
use spec::plan::Plan;

use crate::plan::climb::tiles_text;
use crate::plan::layer::settings_of;
use crate::plan::{PlanError, ResolvedPlan};

impl ResolvedPlan {
    /// Returns a complete plan, which reproduces the run.
    pub fn to_plan(&self) -> Plan {
        let mut plan = self.settings.clone();
        plan.datastore = Some(self.datastore.clone());
        plan.tile = Some(self.tile.clone());
        plan.profile = Some(self.profile);
        plan.ladder.tiles = tiles_text(self.climb);
        plan.ladder.repeats = Some(self.repeats);
        plan.measure.warm_up_min = Some(self.warm_up_min);
        plan.measure.warm_up_max = Some(self.warm_up_max);
        plan.measure.duration = Some(self.duration);
        plan.measure.slice = Some(self.slice);
        plan.scale.footprint = Some(self.footprint);
        plan.scale.time = Some(self.time);
        plan.engine.workers = Some(self.workers);
        plan.hosts.placement = (!plan.hosts.members.is_empty()).then(|| self.placement.to_string());
        plan.seed = Some(self.seed);
        plan
    }

    /// Returns [`Self::to_plan`] as TOML text.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string_pretty(&self.to_plan())
            .map_err(|error| PlanError::Unwritable(error.to_string()))
    }

    /// Returns the values with their keys in the plan and their origins.
    pub fn values(&self) -> Vec<PlanValue> {
        let settings = settings_of(&self.to_plan()).unwrap_or_default().into_iter();
        let shown = |(key, value): (String, Value)| {
            let is_search = key == "ladder.tiles" && value == Value::Null;
            let value = if is_search { "search".into() } else { value };
            PlanValue { origin: self.origin(&key), key, value }
        };
        settings.map(shown).collect()
    }
}
