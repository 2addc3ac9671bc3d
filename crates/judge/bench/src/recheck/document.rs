use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name and version of the document.
pub const SCHEMA: &str = "tilemark.verify-report/1.0";

/// Largest relative difference between two computations of the same number, from JSON and the order
/// of a sum.
const TOLERANCE: f64 = 1e-9;

/// Result of judging a stored run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recheck {
    /// Name and version of this format: `tilemark.verify-report/1.0`.
    pub schema: String,
    /// Identifier of the run.
    pub run: String,
    /// `agrees` if nothing differs and every step could be judged again; `differs` if anything
    /// does; else `not-rechecked`.
    pub result: Agreement,
    /// Files of the run against `SHA256SUMS`.
    pub files: Vec<Item>,
    /// Plan and tile against their hashes.
    pub definitions: Vec<Item>,
    /// Repeats of all steps.
    pub steps: Vec<StepRecheck>,
    /// Results of all steps together.
    pub answer: Vec<Item>,
    /// Parts that could not be computed again.
    pub not_rechecked: Vec<NotRechecked>,
}

/// One repeat of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecheck {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Number of tiles.
    pub tiles: u32,
    /// Comparisons of this step.
    pub items: Vec<Item>,
}

/// A stored value, and the value computed again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Name of the value: `verdict`, `limit shop order p95`, `score`.
    pub what: String,
    /// Result of the comparison.
    pub result: Agreement,
    /// Stored value, as in `run.json`; times in nanoseconds.
    pub stored: Value,
    /// Value computed from the raw series.
    pub computed: Value,
    /// True for the verdict or the score of a step, or one of its limits, which a reader looks for.
    /// Not in the file.
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
    /// The value could not be computed again.
    NotRechecked,
}

impl Agreement {
    /// Name of the result: `agrees`, `differs` or `not re-checked`.
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

/// Part of the result that no file suffices to compute again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotRechecked {
    /// Name of the part.
    pub what: String,
    /// Reason why it cannot be computed.
    pub why: String,
}

impl NotRechecked {
    /// Makes an entry for a part with a reason.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

impl Item {
    /// Compares two values as JSON: numbers by value, all else exactly.
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

    /// Marks the item as one that decides.
    pub fn deciding(self) -> Self {
        Self { decides: true, ..self }
    }

    /// True if the two values differ.
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
    /// All comparisons of the document.
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
