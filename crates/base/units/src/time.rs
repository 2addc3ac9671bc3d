use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use std::time::Duration;

use crate::ParseError;
use crate::text::{as_text, short, split};

/// Duration, or a time since the start of a run, in nanoseconds, 0 to 584 years.
///
/// In text, units are `ns us ms s m h d`, and several parts may follow each other (`1h30m`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl Nanos {
    /// Start of a run, or an empty duration.
    pub const ZERO: Self = Self(0);
    /// Maximum time, for events that never happen.
    pub const MAX: Self = Self(u64::MAX);
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000);

    /// Creates a duration of whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Creates a duration of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Creates a duration of whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Creates a duration from seconds. A negative value becomes zero; a value that is too large
    /// saturates.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate"
    )]
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }

    /// Returns the duration in seconds.
    #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the duration in milliseconds.
    pub const fn as_millis_f64(self) -> f64 {
        self.as_secs_f64() * 1e3
    }

    /// Returns `self - other`, or zero if `other` is later.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns `self + other`, at most [`Nanos::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns `self * factor`; saturates.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self::from_secs_f64(self.as_secs_f64() * factor)
    }

    /// Converts the duration to the standard library's type.
    pub const fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// Returns text that parses to exactly this value.
    pub fn to_text(self) -> String {
        let (unit, size) = UNITS
            .iter()
            .rev()
            .find(|(_, size)| self.0 != 0 && self.0.is_multiple_of(*size))
            .unwrap_or(&UNITS[3]);
        format!("{}{unit}", self.0 / size)
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Nanos {
    /// Formats the duration with three significant digits and a suitable unit: `612 ms`, `1.25 s`,
    /// `3m 20s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.as_secs_f64();
        let text = if self.0 == u64::MAX {
            "never".to_owned()
        } else if self.0 == 0 {
            "0 s".to_owned()
        } else if seconds >= 60.0 {
            let whole = (self.0 + 500_000_000) / 1_000_000_000;
            let (h, m, s) = (whole / 3600, whole / 60 % 60, whole % 60);
            let mut parts = Vec::new();
            for (value, unit) in [(h, "h"), (m, "m"), (s, "s")] {
                if value != 0 {
                    parts.push(format!("{value}{unit}"));
                }
            }
            parts.join(" ")
        } else {
            let (unit, size) =
                UNITS[..4].iter().rev().find(|(_, size)| self.0 >= *size).unwrap_or(&UNITS[0]);
            let value = seconds * 1e9 / Nanos(*size).as_secs_f64() / 1e9;
            let digits = if value >= 100.0 {
                1.0
            } else if value >= 10.0 {
                10.0
            } else {
                100.0
            };
            format!("{} {unit}", short((value * digits).round() / digits))
        };
        f.pad(&text)
    }
}

impl FromStr for Nanos {
    type Err = ParseError;

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the number is in range"
    )]
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut rest = text.trim();
        let mut total = 0_u64;
        let out_of_range = || ParseError::OutOfRange {
            text: text.to_owned(),
            reason: "a time is a whole number of nanoseconds below 584 years".to_owned(),
        };
        loop {
            let (number, tail) =
                split(rest).map_err(|_| ParseError::NoNumber { text: text.to_owned() })?;
            let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, next) = tail.split_at(end);
            let unit = unit.trim();
            if unit.is_empty() {
                if number == 0.0 && next.is_empty() {
                    return Ok(Self(total));
                }
                return Err(ParseError::NoUnit {
                    text: text.to_owned(),
                    example: format!("{}s", short(number)),
                });
            }
            let size =
                UNITS.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size).ok_or_else(
                    || ParseError::UnknownUnit {
                        text: text.to_owned(),
                        unit: unit.to_owned(),
                        quantity: "time",
                        known: "ns, us, ms, s, m, h, d",
                    },
                )?;
            let digits = rest[..rest.len() - tail.len()].trim().replace('_', "");
            let part = match digits.parse::<u64>() {
                Ok(whole) => whole.checked_mul(size).ok_or_else(out_of_range)?,
                Err(_) if number * (size as f64) < 1.8e19 => (number * size as f64).round() as u64,
                Err(_) => return Err(out_of_range()),
            };
            total = total.checked_add(part).ok_or_else(out_of_range)?;
            if next.is_empty() {
                return Ok(Self(total));
            }
            rest = next;
        }
    }
}

as_text!(
    Nanos,
    r"^([0-9._]+ *(ns|us|ms|s|m|h|d))+$|^0$",
    "a time such as \"250us\", \"500ms\" or \"1h30m\""
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_parse_in_every_unit_and_in_parts() {
        for (text, ns) in [
            ("250us", 250_000),
            ("1.5s", 1_500_000_000),
            ("1h30m", 5_400_000_000_000),
            ("0", 0),
            ("3m 20s", 200_000_000_000),
        ] {
            assert_eq!(text.parse::<Nanos>(), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_not_a_time() {
        assert!("30".parse::<Nanos>().expect_err("no unit").to_string().contains("\"30s\""));
        assert!("1h30".parse::<Nanos>().is_err());
    }

    #[test]
    fn times_print_as_a_person_would_write_them() {
        for (ns, text) in [
            (612_400_000, "612 ms"),
            (1_250_000_000, "1.25 s"),
            (12_345, "12.3 us"),
            (200_000_000_000, "3m 20s"),
            (0, "0 s"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn every_time_round_trips_through_its_text(ns: u64) {
            prop_assert_eq!(Nanos(ns).to_text().parse::<Nanos>(), Ok(Nanos(ns)));
        }
    }
}
