use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::{as_text, short, split};

/// Number of events per second, finite and not negative. In text, `20k` is 20,000, because events
/// are not bytes.
///
/// Text: a number with `k` or `M`, then `/s`, `/min` or `/h`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Rate(f64);

impl Rate {
    /// Creates a rate from a number per second. Negative values and NaN become zero.
    pub fn per_second(value: f64) -> Self {
        Self(if value.is_finite() { value.max(0.0) } else { 0.0 })
    }

    /// Returns the number of events per second.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns text that parses to this value.
    pub fn to_text(self) -> String {
        format!("{}/s", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", short(self.0)))
    }
}

impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (number, unit) = split(text)?;
        let Some((prefix, per)) = unit.split_once('/') else {
            return Err(ParseError::NoUnit {
                text: text.to_owned(),
                example: format!("{}/s", short(number)),
            });
        };
        let unknown = |unit: &str| ParseError::UnknownUnit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            quantity: "rate",
            known: "/s, /min, /h, with k (1,000) or M (1,000,000) before it",
        };
        let factor = match prefix.trim() {
            "" => 1.0,
            "k" => 1e3,
            "M" => 1e6,
            other => return Err(unknown(other)),
        };
        let seconds = match per.trim() {
            "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            other => return Err(unknown(other)),
        };
        Ok(Self(number * factor / seconds))
    }
}

as_text!(Rate, r"^[0-9._]+ *[kM]?/(s|min|h)$", "a rate such as \"325/min\" or \"20k/s\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_decimal_and_per_second() {
        assert_eq!("20k/s".parse::<Rate>().map(Rate::get), Ok(20_000.0));
        assert_eq!("330/min".parse::<Rate>().map(Rate::get), Ok(5.5));
        assert!("20k".parse::<Rate>().is_err());
        assert!("20/day".parse::<Rate>().is_err());
    }
}
