use std::fmt;
use std::str::FromStr;

use run_store::slice::Direction;
use serde::Deserialize;
use units::{Nanos, Ratio};

/// Limit of a rule: `write p95 <= 20ms`, `any p99 <= 50ms`, `errors <= 0`, `read errors <= 2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Limit {
    /// Direction of the I/Os; `None` is any direction.
    pub direction: Option<Direction>,
    /// Measured quantity, with the largest value that keeps the limit.
    pub quantity: Quantity,
}

/// Measured quantity, with the largest value that keeps the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Percentile of the latencies, with the longest allowed time.
    Latency(Percentile, Nanos),
    /// Maximum number of failed I/Os in a window.
    Errors(u64),
}

/// Percentile that a limit applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    /// Median.
    P50,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
}

impl Percentile {
    /// All percentiles, ascending.
    pub const ALL: [Self; 4] = [Self::P50, Self::P95, Self::P99, Self::P999];

    /// Returns the name in rules.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p999",
        }
    }

    /// Returns the share of I/Os that are at most as slow as the percentile.
    pub fn share(self) -> Ratio {
        Ratio::new(match self {
            Self::P50 => 0.5,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
        })
    }
}

/// Reason why a text is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The text has another form.
    #[error(
        "the limit \"{0}\" is invalid: write DIRECTION PERCENTILE <= TIME or errors <= NUMBER, as \
         in \"write p95 <= 20ms\""
    )]
    Form(String),
    /// The direction is unknown.
    #[error("the limit has the direction \"{0}\"; supported are read, write, flush and any")]
    Direction(String),
    /// The quantity is unknown.
    #[error("the limit has the quantity \"{0}\"; supported are p50, p95, p99, p999 and errors")]
    Quantity(String),
    /// The latency is not valid.
    #[error("the latency of the limit: {0}")]
    Latency(units::ParseError),
    /// The latency is 0.
    #[error("the limit has the latency 0, which every I/O breaks")]
    Zero,
    /// The number of failed I/Os is not valid.
    #[error("the limit has \"{0}\" errors, which is not a whole number")]
    Errors(String),
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let form = || LimitError::Form(text.to_owned());
        let (left, right) = text.split_once("<=").ok_or_else(form)?;
        let (words, right) = (left.split_whitespace().collect::<Vec<_>>(), right.trim());
        let (direction, quantity) = match words[..] {
            ["errors"] => (None, "errors"),
            [direction, quantity] => (parse_direction(direction)?, quantity),
            _ => return Err(form()),
        };
        let quantity = if quantity == "errors" {
            Quantity::Errors(right.parse().map_err(|_| LimitError::Errors(right.to_owned()))?)
        } else {
            let found = Percentile::ALL.into_iter().find(|own| own.name() == quantity);
            let percentile = found.ok_or_else(|| LimitError::Quantity(quantity.to_owned()))?;
            let latency: Nanos = right.parse().map_err(LimitError::Latency)?;
            if latency == Nanos::ZERO {
                return Err(LimitError::Zero);
            }
            Quantity::Latency(percentile, latency)
        };
        Ok(Self { direction, quantity })
    }
}

fn parse_direction(text: &str) -> Result<Option<Direction>, LimitError> {
    if text == "any" {
        return Ok(None);
    }
    let found = Direction::ALL.into_iter().find(|own| own.name() == text);
    found.map(Some).ok_or_else(|| LimitError::Direction(text.to_owned()))
}

impl TryFrom<String> for Limit {
    type Error = LimitError;

    fn try_from(text: String) -> Result<Self, LimitError> {
        text.parse()
    }
}

impl Limit {
    /// Describes the quantity: `p95 of writes`, `failed I/Os`.
    pub fn subject(&self) -> String {
        let ios = match self.direction {
            None => "I/Os",
            Some(Direction::Read) => "reads",
            Some(Direction::Write) => "writes",
            Some(Direction::Flush) => "flushes",
        };
        match self.quantity {
            Quantity::Latency(percentile, _) => format!("{} of {ios}", percentile.name()),
            Quantity::Errors(_) => format!("failed {ios}"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = self.direction.map_or("any", Direction::name);
        match self.quantity {
            Quantity::Latency(percentile, latency) => {
                write!(f, "{direction} {} <= {latency}", percentile.name())
            }
            Quantity::Errors(errors) => write!(f, "{direction} errors <= {errors}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_shown() {
        for (text, shown) in [
            ("write p95 <= 20ms", "write p95 <= 20 ms"),
            ("any p999<=1s", "any p999 <= 1 s"),
            ("errors <= 0", "any errors <= 0"),
            (" flush  errors <=  12 ", "flush errors <= 12"),
        ] {
            let limit: Limit = text.parse().expect(text);
            assert_eq!(limit.to_string(), shown);
            assert_eq!(limit.to_string().parse(), Ok(limit), "{shown} is read again");
        }
    }

    #[test]
    fn wrong_limit_names_the_value_and_the_allowed_ones() {
        for (text, part) in [
            ("write p95 < 20ms", "as in \"write p95 <= 20ms\""),
            ("p95 <= 20ms", "is invalid"),
            ("writes p95 <= 20ms", "\"writes\"; supported are read, write, flush and any"),
            ("write p96 <= 20ms", "\"p96\"; supported are p50, p95, p99, p999 and errors"),
            ("write p95 <= 20", "20"),
            ("write p95 <= 0s", "latency 0"),
            ("errors <= -1", "\"-1\""),
        ] {
            let error = text.parse::<Limit>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
