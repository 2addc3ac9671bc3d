use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number, or the reason why there is none. The number is finite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Number in the unit that the field's name or description gives; null if there is none.
    pub value: Option<f64>,
    /// Reason why there is no number; absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Figure {
    /// Makes a figure of a number. NaN and infinity become an absent figure, whose reason says that
    /// the number was not finite.
    pub fn of(value: f64) -> Self {
        if value.is_finite() {
            Self { value: Some(value), reason: None }
        } else {
            Self::absent("the calculation gave an infinite or invalid number")
        }
    }

    /// Makes an absent figure with a reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { value: None, reason: Some(reason.into()) }
    }
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Self::of(value)
    }
}

/// Confidence interval of an estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end, in the unit of the estimate.
    pub low: f64,
    /// Upper end, in the unit of the estimate.
    pub high: f64,
    /// Share of such intervals that contain the true value: 0.95 for 95 %.
    pub confidence: f64,
    /// Method of computation, for example `bootstrap of 60 slices, 2000 resamples, seed 7`.
    pub method: String,
}

impl Interval {
    /// Makes an interval; `None` unless both ends are finite.
    pub fn new(low: f64, high: f64, confidence: f64, method: impl Into<String>) -> Option<Self> {
        (low.is_finite() && high.is_finite()).then(|| Self {
            low,
            high,
            confidence,
            method: method.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_null_with_a_reason() {
        let text = serde_json::to_string(&Figure::of(f64::NAN)).expect("serialises");
        assert_eq!(
            text,
            r#"{"value":null,"reason":"the calculation gave an infinite or invalid number"}"#
        );
        let back: Figure = serde_json::from_str(&text).expect("reads");
        assert_eq!(back.value, None);
    }
}
