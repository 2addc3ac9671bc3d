use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::{as_text, short, split};

/// Share of a whole, 0 to 1. In text it is a percentage such as `5%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(f64);

impl Ratio {
    /// Share of 0: nothing.
    pub const ZERO: Self = Self(0.0);
    /// Share of 1: the whole.
    pub const ONE: Self = Self(1.0);

    /// Creates a share. Values outside 0 to 1 are clamped; NaN becomes 0.
    pub fn new(value: f64) -> Self {
        Self(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// Returns the share, 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns text that parses to this value within one part in 10^12.
    pub fn to_text(self) -> String {
        let percent = format!("{:.10}", self.0 * 100.0);
        format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", short((self.0 * 1e4).round() / 1e2)))
    }
}

impl FromStr for Ratio {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (number, unit) = split(text)?;
        if unit.is_empty() {
            return Err(ParseError::NoUnit {
                text: text.to_owned(),
                // A share written as a part of 1 is more likely than one below 1 %.
                example: format!("{}%", short(if number <= 1.0 { number * 100.0 } else { number })),
            });
        }
        if unit != "%" {
            return Err(ParseError::UnknownUnit {
                text: text.to_owned(),
                unit: unit.to_owned(),
                quantity: "share",
                known: "%",
            });
        }
        if number > 100.0 {
            return Err(ParseError::OutOfRange {
                text: text.to_owned(),
                reason: "a share is at most 100%".to_owned(),
            });
        }
        Ok(Self(number / 100.0))
    }
}

as_text!(Ratio, r"^[0-9._]+ *%$", "a share such as \"5%\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_up_to_100() {
        assert_eq!("5%".parse::<Ratio>().map(Ratio::get), Ok(0.05));
        assert!("0.05".parse::<Ratio>().is_err());
        assert!("101%".parse::<Ratio>().is_err());
    }
}
