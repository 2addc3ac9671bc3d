//! Cells of tables, before the meaning of their column is known.

use units::Bytes;
use untrusted::Malformed;

use super::number::{DecimalMark, parse};
use super::size;

/// Cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::read) enum Cell {
    Empty,
    Text(String),
    Number(f64),
    Flag(bool),
    /// Date of a workbook, in days since its epoch.
    Time(f64),
}

/// Texts that exports write for unknown values.
const UNKNOWN: [&str; 12] =
    ["n/a", "na", "n.a.", "#n/a", "-", "--", "\u{2013}", "null", "none", "nan", "unknown", "?"];

impl Cell {
    /// Makes a text cell, or an empty cell if there are only spaces.
    pub fn of_text(text: &str) -> Self {
        match text.trim() {
            "" => Self::Empty,
            text => Self::Text(text.to_owned()),
        }
    }

    pub fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.trim().to_owned(),
            Self::Number(number) | Self::Time(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
        }
    }

    /// Returns true if the cell has no known value.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Text(text) => UNKNOWN.contains(&text.trim().to_lowercase().as_str()),
            _ => false,
        }
    }

    /// Returns the number in a text, without the unit after it.
    pub fn written_number(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(size::split(text).0).filter(|number| !number.is_empty()),
            _ => None,
        }
    }

    /// Returns true for a number above zero without a unit in the cell.
    pub fn lacks_unit(&self, mark: DecimalMark) -> bool {
        let has_unit = matches!(self, Self::Text(text) if !size::split(text).1.is_empty());
        !has_unit && self.number(mark).is_ok_and(|number| number > 0.0)
    }

    pub fn number(&self, mark: DecimalMark) -> Result<f64, Malformed> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => parse(text, mark),
            Self::Empty | Self::Flag(_) | Self::Time(_) => None,
        };
        number
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| format!("\"{}\" is not a number of 0 or more", self.text()).into())
    }

    pub fn count(&self, mark: DecimalMark) -> Result<u32, Malformed> {
        let number = self.number(mark)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is whole and within bounds"
        )]
        if number.fract() == 0.0 && number <= 65536.0 {
            Ok(number as u32)
        } else {
            Err(format!("{number} is not a number of processors").into())
        }
    }

    /// Parses a rate of I/Os. It must be at most a thousand million per second, which no VM
    /// reaches.
    pub fn rate(&self, mark: DecimalMark) -> Result<f64, Malformed> {
        let number = self.number(mark)?;
        if number <= 1e9 {
            Ok(number)
        } else {
            Err(format!("{number} is not a possible rate of a VM").into())
        }
    }

    /// Parses a share from 0 to 1, or in percent.
    pub fn share(&self, mark: DecimalMark) -> Result<f64, Malformed> {
        let text = self.text();
        let bare = Self::Text(text.trim_end_matches(['%', ' ', '\u{a0}', '\u{202f}']).to_owned());
        let bare = if let Self::Number(own) = self { *own } else { bare.number(mark)? };
        let share = if text.ends_with('%') || bare > 1.0 { bare / 100.0 } else { bare };
        if share <= 1.0 { Ok(share) } else { Err(format!("\"{text}\" is not a share").into()) }
    }

    /// Parses a size, or a rate of bytes, in the cell's own unit or in the column's unit.
    pub fn bytes(&self, unit: Option<f64>, mark: DecimalMark) -> Result<Bytes, Malformed> {
        let text = self.text();
        let bytes = match self {
            Self::Text(own) => {
                let (number, own_unit) = size::split(own);
                let number = Self::Text(number.to_owned())
                    .number(mark)
                    .map_err(|_| format!("\"{text}\" is not a size"))?;
                let known = match own_unit {
                    "" => unit,
                    own => {
                        Some(size::unit(own).ok_or_else(|| format!("\"{text}\" is not a size"))?)
                    }
                };
                (number, known)
            }
            other => (other.number(mark)?, unit),
        };
        let bytes = match bytes {
            (number, Some(unit)) => number * unit,
            (0.0, None) => 0.0,
            _ => {
                return Err(format!(
                    "the size {text} has no unit, neither in its heading nor after the number"
                )
                .into());
            }
        };
        // An exbibyte on one VM means a wrong unit.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is below 2^60"
        )]
        if bytes < 1_152_921_504_606_846_976.0 {
            Ok(Bytes::new(bytes as u64))
        } else {
            Err(format!("{text} are more than a VM can have").into())
        }
    }

    pub fn flag(&self) -> Result<bool, Malformed> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            other => match other.text().to_lowercase().as_str() {
                "true" | "yes" | "1" => Ok(true),
                "false" | "no" | "0" => Ok(false),
                text => Err(format!("\"{text}\" is neither true nor false").into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: DecimalMark = DecimalMark::Point;

    #[test]
    fn cells_without_a_unit_or_beyond_all_measure_are_refused() {
        let text = |text: &str| Cell::Text(text.to_owned());
        assert!(Cell::Number(40.0).bytes(None, POINT).is_err());
        assert_eq!(text("40 GiB").bytes(None, POINT), Ok(Bytes::new(40 << 30)));
        assert_eq!(text("1,024.50 GB").bytes(None, POINT), Ok(Bytes::new(2049 << 29)));
        assert_eq!(text("1.024,50 GB").bytes(None, DecimalMark::Comma), Ok(Bytes::new(2049 << 29)));
        assert_eq!(text("0 B").bytes(None, POINT), Ok(Bytes::ZERO));
        assert!(text("40 GHz").bytes(None, POINT).is_err());
        assert!(Cell::Number(1e15).bytes(Some(1_048_576.0), POINT).is_err());
        assert!(Cell::Time(45_000.0).bytes(Some(1.0), POINT).is_err(), "a date is no size");
        assert!(Cell::Number(-1.0).rate(POINT).is_err());
        assert_eq!(text("70 %").share(POINT), Ok(0.7));
        assert_eq!(Cell::Number(70.0).share(POINT), Ok(0.7));
        assert!(text("170 %").share(POINT).is_err());
        assert!(text("N/A").is_unknown() && text("NaN").is_unknown() && !text("0").is_unknown());
    }
}
