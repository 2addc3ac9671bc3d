use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name and version of the document.
pub const SCHEMA: &str = "tilemark.verify-report/1.0";

/// Largest difference between two ways to the same number, as a share of it: what JSON and the
/// order of a sum may cost.
const TOLERANCE: f64 = 1e-9;

/// What became of judging a stored run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recheck {
    /// `tilemark.verify-report/1.0`.
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// `agrees` if nothing differs and every step could be judged again; `differs` if anything
    /// does; `not-rechecked` otherwise.
    pub result: Agreement,
    /// Its files against `SHA256SUMS`.
    pub files: Vec<Item>,
    /// Its plan and tile against their hashes.
    pub definitions: Vec<Item>,
    /// Every repeat of every step.
    pub steps: Vec<StepRecheck>,
    /// What follows from all steps together.
    pub answer: Vec<Item>,
    /// What could not be computed again.
    pub not_rechecked: Vec<NotRechecked>,
}

/// One repeat of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecheck {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Tiles.
    pub tiles: u32,
    /// What was compared.
    pub items: Vec<Item>,
}

/// Something stored, and the same computed again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// What: `verdict`, `limit shop order p95`, `score`.
    pub what: String,
    /// Whether they are the same.
    pub result: Agreement,
    /// As it is stored; as in `run.json`, times in nanoseconds.
    pub stored: Value,
    /// As it was computed from the raw series.
    pub computed: Value,
    /// Whether it is the verdict or the score of a step, or one of its limits: what a reader
    /// looks for. Not in the file.
    #[serde(skip)]
    pub decides: bool,
}

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Both are the same.
    Agrees,
    /// They are not.
    Differs,
    /// It could not be computed again.
    NotRechecked,
}

impl Agreement {
    /// `agrees`, `differs` or `not re-checked`.
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

/// Something that no file lets us compute again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotRechecked {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

impl NotRechecked {
    /// This, because of that.
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

    /// The same, as one of those that decide.
    pub fn deciding(self) -> Self {
        Self { decides: true, ..self }
    }

    /// Whether the two are not the same.
    pub fn differs(&self) -> bool {
        self.result == Agreement::Differs
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one != other => {
            // Whole numbers are exact; only what was divided may differ in its last digits.
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
    /// Everything that was compared.
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
