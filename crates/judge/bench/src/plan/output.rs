use run_store::run::PlanValue;
use serde_json::Value;
use spec::plan::{EngineOptions, Hosts, Ladder, Measure, Plan, Scale};

use crate::plan::climb::tiles_text;
use crate::plan::{PlanError, ResolvedPlan, Setting};

impl ResolvedPlan {
    /// The plan with nothing left to a profile: running it again does the same.
    pub fn to_plan(&self) -> Plan {
        Plan {
            datastore: self.datastore.value.clone(),
            second: self.second.value.clone(),
            tile: self.tile.value.clone(),
            profile: self.profile.value,
            ladder: Ladder {
                tiles: tiles_text(self.climb.value),
                tiles_max: self.tiles_max.value,
                repeats: Some(self.repeats.value),
            },
            measure: Measure {
                warm_up_min: Some(self.warm_up_min.value),
                warm_up_max: Some(self.warm_up_max.value),
                duration: Some(self.duration.value),
                slice: Some(self.slice.value),
            },
            scale: Scale { footprint: Some(self.footprint.value), time: Some(self.time.value) },
            engine: EngineOptions {
                workers: Some(self.workers.value),
                buffered: self.buffered.value,
                verify: self.verify.value,
                cpu: self.cpu.value,
                space_max: self.space_max.value,
            },
            endpoints: self.endpoints.iter().map(|(n, at)| (n.clone(), at.value.clone())).collect(),
            operations: self.operations.value.clone(),
            hosts: Hosts {
                members: self.hosts.value.clone(),
                placement: (!self.hosts.value.is_empty()).then(|| self.placement.value.to_string()),
            },
            events: self.events.value.clone(),
            restart: self.restart.value,
            meters: self.meters.value.clone(),
            expect: self.expect.value.clone(),
            machines: self.machines.value.clone(),
            seed: Some(self.seed.value),
        }
    }

    /// [`Self::to_plan`] as TOML text.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string_pretty(&self.to_plan())
            .map_err(|error| PlanError::Unwritable(error.to_string()))
    }

    /// Every value by its place in the plan, with its origin.
    pub fn values(&self) -> Vec<PlanValue> {
        let mut values = vec![
            value("datastore", &self.datastore),
            value("tile", &self.tile),
            value("profile", &self.profile),
            PlanValue {
                key: "ladder.tiles".to_owned(),
                value: tiles_text(self.climb.value).map_or_else(|| "search".into(), Value::from),
                origin: self.climb.origin,
            },
            value("ladder.tiles-max", &self.tiles_max),
            value("ladder.repeats", &self.repeats),
            value("measure.warm-up-min", &self.warm_up_min),
            value("measure.warm-up-max", &self.warm_up_max),
            value("measure.duration", &self.duration),
            value("measure.slice", &self.slice),
            value("scale.footprint", &self.footprint),
            value("scale.time", &self.time),
            value("engine.workers", &self.workers),
            value("engine.buffered", &self.buffered),
            value("engine.verify", &self.verify),
            value("engine.cpu", &self.cpu),
            value("engine.space-max", &self.space_max),
            value("seed", &self.seed),
        ];
        if self.second.value.is_some() {
            values.push(value("second", &self.second));
        }
        if self.operations.value.is_some() {
            values.push(value("operations", &self.operations));
        }
        let endpoints = self.endpoints.iter();
        values.extend(endpoints.map(|(name, at)| value(&format!("endpoint.{name}"), at)));
        if !self.hosts.value.is_empty() {
            values.push(value("hosts.members", &self.hosts));
            values.push(PlanValue {
                key: "hosts.placement".to_owned(),
                value: self.placement.value.to_string().into(),
                origin: self.placement.origin,
            });
        }
        if !self.events.value.is_empty() {
            values.push(value("events", &self.events));
        }
        if self.restart.value.is_some() {
            values.push(value("restart", &self.restart));
        }
        if !self.meters.value.is_empty() {
            values.push(value("meters", &self.meters));
        }
        if !self.expect.value.is_empty() {
            values.push(value("expect", &self.expect));
        }
        if !self.machines.value.is_empty() {
            values.push(value("machines", &self.machines));
        }
        values
    }
}

fn value<T: serde::Serialize>(key: &str, setting: &Setting<T>) -> PlanValue {
    PlanValue {
        key: key.to_owned(),
        value: serde_json::to_value(&setting.value).unwrap_or(Value::Null),
        origin: setting.origin,
    }
}
