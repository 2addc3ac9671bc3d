use indexmap::IndexMap;
use run_store::run::Origin;
use serde_json::{Map, Value};
use spec::plan::Plan;

use crate::plan::PlanError;

/// Settings from one origin. Absent settings are left to later layers.
///
/// A switch that is off is the same as an absent one, because off is the default.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Origin of the settings.
    pub origin: Origin,
    /// Settings as a plan.
    pub plan: Plan,
}

impl Layer {
    /// Creates the layer of a plan file.
    pub fn of_plan(plan: &Plan) -> Self {
        Self { origin: Origin::Plan, plan: plan.clone() }
    }
}

/// Origin of each given setting, keyed by the setting.
pub type Origins = IndexMap<String, Origin>;

/// Tables of a plan whose keys are settings of their own.
const TABLES: [&str; 6] = ["ladder", "measure", "scale", "engine", "endpoint", "hosts"];

/// Returns the settings of a plan with their keys, such as `ladder.repeats`, in the order of the
/// plan. A setting that is listed without being given is null.
pub(super) fn settings_of(plan: &Plan) -> Result<Vec<(String, Value)>, PlanError> {
    let tables = serde_json::to_value(plan).map_err(unwritable)?;
    let Value::Object(tables) = tables else { return Ok(Vec::new()) };
    let mut settings = Vec::new();
    for (key, value) in tables {
        match value {
            Value::Object(table) if TABLES.contains(&key.as_str()) => {
                settings
                    .extend(table.into_iter().map(|(own, value)| (format!("{key}.{own}"), value)));
            }
            value => settings.push((key, value)),
        }
    }
    Ok(settings)
}

/// Merges layers into one plan. For each setting, the first layer that gives it wins.
pub(super) fn merged(layers: &[Layer]) -> Result<(Plan, Origins), PlanError> {
    let (mut plan, mut origins) = (Map::new(), Origins::new());
    for layer in layers {
        for (key, value) in settings_of(&layer.plan)? {
            let is_given = ![Value::Null, Value::Bool(false)].contains(&value);
            if !is_given || origins.contains_key(&key) {
                continue;
            }
            match key.split_once('.') {
                Some((table, own)) => {
                    plan.entry(table).or_insert_with(|| Map::new().into())[own] = value;
                }
                None => drop(plan.insert(key.clone(), value)),
            }
            origins.insert(key, layer.origin);
        }
    }
    let has = |key| origins.contains_key(key);
    match (has("datastore"), has("tile")) {
        (false, _) => Err(PlanError::NoDatastore),
        (_, false) => Err(PlanError::NoTile),
        _ => Ok((serde_json::from_value(plan.into()).map_err(unwritable)?, origins)),
    }
}

fn unwritable(error: serde_json::Error) -> PlanError {
    PlanError::Unwritable(error.to_string())
}
