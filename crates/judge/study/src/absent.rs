/// Reason for a missing number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Absent(pub String);

impl Absent {
    /// Creates the reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Number, or the reason why it is missing.
pub(super) type Number = Result<f64, Absent>;

/// Checks that a number is finite.
pub(super) fn finite(value: f64, what: &str) -> Number {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Absent(format!("{what} is not a finite number")))
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and times are far below 2^53")]
pub(super) const fn precise(value: u64) -> f64 {
    value as f64
}
