use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name and version of the document.
pub const SCHEMA: &str = "tilemark.verify-report/1.0";

/// Maximum relative difference between two computations of the same number. Differences come from
/// JSON and from the order of summation.
const TOLERANCE: f64 = 1e-9;

/// Result of rechecking a stored run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recheck {
    /// Name and version of this format: `tilemark.verify-report/1.0`.
    pub schema: String,
    /// Identifier of the run.
    pub run: String,
    /// `agrees` if nothing differs and every step could be rechecked; `differs` if anything
    /// differs; otherwise `not-rechecked`.
    pub result: Agreement,
    /// Comparison of the run's files with `SHA256SUMS`.
    pub files: Vec<Item>,
    /// Comparison of plan and tile with their hashes.
    pub definitions: Vec<Item>,
    /// Rechecks of all repeats of all steps.
    pub steps: Vec<StepRecheck>,
    /// Comparisons of the results of all steps together.
    pub answer: Vec<Item>,
    /// Parts that could not be recomputed.
    pub not_rechecked: Vec<NotRechecked>,
}

/// Recheck of one repeat of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecheck {
    /// Step of the ladder, counted from 1.
    pub step: u32,
    /// Number of the repeat, counted from 1.
    pub repeat: u32,
    /// Number of tiles.
    pub tiles: u32,
    /// Comparisons of this step.
    pub items: Vec<Item>,
}

/// Comparison of a stored value with the recomputed value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Name of the value: `verdict`, `limit shop order p95`, `score`.
    pub what: String,
    /// Result of the comparison.
    pub result: Agreement,
    /// Stored value, as in `run.json`. Times are in nanoseconds.
    pub stored: Value,
    /// Value computed from the raw series.
    pub computed: Value,
    /// True for the verdict or the score of a step, or for one of its limits, which are the values
    /// that readers look for. Not in the file.
    #[serde(skip)]
    pub decides: bool,
}

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Both values are equal.
    Agrees,
    /// The values are different.
    Differs,
    /// The value could not be recomputed.
    NotRechecked,
}

impl Agreement {
    /// Returns the name of the result: `agrees`, `differs` or `not re-checked`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::NotRechecked => "not re-checked",
        }
    }

    const fn of(is_same: bool) -> Self {
        if is_same { Self::Agrees } else { Self::Differs }
    }
}

/// Part of the result that cannot be recomputed from any file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotRechecked {
    /// Name of the part.
    pub what: String,
    /// Reason why it cannot be computed.
    pub why: String,
}

impl NotRechecked {
    /// Creates an entry for a part with a reason.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

impl Item {
    /// Compares two values as JSON: numbers within a relative tolerance of 1e-9, and other values
    /// exactly.
    pub fn compare<T: Serialize + ?Sized>(
        what: impl Into<String>,
        stored: &T,
        computed: &T,
    ) -> Self {
        let value = |value: &T| serde_json::to_value(value).unwrap_or(Value::Null);
        let (stored, computed) = (value(stored), value(computed));
        let result = Agreement::of(is_same(&stored, &computed));
        Self { what: what.into(), result, stored, computed, decides: false }
    }

    /// Marks the item as decisive.
    pub fn deciding(self) -> Self {
        Self { decides: true, ..self }
    }

    /// Returns true if the two values differ.
    pub fn differs(&self) -> bool {
        self.result == Agreement::Differs
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one != other => {
            // Whole numbers are exact; only quotients may differ in their last digits.
            let is_whole = one.is_u64() && other.is_u64();
            match (one.as_f64(), other.as_f64()) {
                (Some(one), Some(other)) if !is_whole => {
                    (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
                }
                _ => false,
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let held = |(key, value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(held)
        }
        _ => one == other,
    }
}

impl Recheck {
    /// Returns all comparisons of the document.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        let steps = self.steps.iter().flat_map(|step| &step.items);
        self.files.iter().chain(&self.definitions).chain(steps).chain(&self.answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_compared_by_value_and_all_else_exactly() {
        let result = |one: Value, other: Value| Item::compare("it", &one, &other).result;
        assert_eq!(result(json!({"a": [1.0]}), json!({"a": [1]})), Agreement::Agrees);
        assert_eq!(result(json!(0.1 + 0.2), json!(0.3)), Agreement::Agrees);
        assert_eq!(result(json!(412_000_000), json!(412_000_001)), Agreement::Differs);
        assert_eq!(result(json!({"a": 1}), json!({"b": 1})), Agreement::Differs);
        assert_eq!(result(json!(null), json!(0)), Agreement::Differs);
    }
}
