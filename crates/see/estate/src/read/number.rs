//! Parses numbers as people and spreadsheets write them. All cells of a column together decide
//! whether `.` or `,` is the decimal mark, because "204.800" alone is 204.8 in some countries and
//! 204800 in others.

use std::str::FromStr;

use crate::error::ReadError;

/// Decimal mark of a number. The other mark groups thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecimalMark {
    /// Point: `1,024.5`
    Point,
    /// Comma: `1.024,5`
    Comma,
}

/// Error for an unknown decimal mark.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is not a decimal mark: write . or ,")]
pub struct DecimalMarkError(String);

impl FromStr for DecimalMark {
    type Err = DecimalMarkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "." => Ok(Self::Point),
            "," => Ok(Self::Comma),
            other => Err(DecimalMarkError(other.to_owned())),
        }
    }
}

impl DecimalMark {
    const fn decimal(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }

    const fn group(self) -> char {
        match self {
            Self::Point => ',',
            Self::Comma => '.',
        }
    }
}

/// Parses a number with `mark` before the decimals. Spaces and apostrophes may also group
/// thousands.
pub(super) fn parse(text: &str, mark: DecimalMark) -> Option<f64> {
    let text = text.trim().replace('\u{2212}', "-");
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest.trim_start()),
        None => (1.0, text.strip_prefix('+').unwrap_or(&text)),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.parse::<i32>().ok()?)),
        None => (text, None),
    };
    let (whole, decimals) = match mantissa.split_once(mark.decimal()) {
        Some((whole, decimals)) => (whole, decimals),
        None => (mantissa, ""),
    };
    let digits = ungrouped(whole, mark.group(), exponent.is_some())?;
    if !is_digits(decimals) || (digits.is_empty() && decimals.is_empty()) {
        return None;
    }
    let plain = format!("{digits}.{decimals}0e{}", exponent.unwrap_or(0));
    plain.parse::<f64>().ok().map(|value| sign * value)
}

/// Returns the digits of a whole number without its group marks; `None` if they are not grouped
/// correctly.
fn ungrouped(whole: &str, group: char, has_exponent: bool) -> Option<String> {
    if is_digits(whole) {
        return Some(whole.to_owned());
    }
    let mark =
        if whole.contains(group) { group } else { whole.chars().find(|own| is_blank(*own))? };
    let groups: Vec<&str> =
        whole.split(|own| own == mark || (is_blank(mark) && is_blank(own))).collect();
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    // India groups by two above the last three digits: 12,34,567.
    let is_group = |own: &&str| own.len() == 3 || (own.len() == 2 && mark == ',');
    let is_good = !has_exponent
        && (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && last.len() == 3
        && middle.iter().all(is_group)
        && groups.iter().all(|own| is_digits(own));
    is_good.then(|| groups.concat())
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for spaces of any width, and for Swiss apostrophes.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\'' | '\u{2019}' | '\u{b4}' | '`')
}

/// Row and text of a cell that is evidence for a decimal mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Witness {
    pub row: u64,
    pub text: String,
}

impl Witness {
    /// Makes the error for a cell with two readings.
    pub fn open_mark(&self, path: &str, heading: &str) -> ReadError {
        let value = |mark| parse(&self.text, mark).unwrap_or_default().to_string();
        ReadError::OpenMark {
            path: path.to_owned(),
            heading: heading.to_owned(),
            row: self.row,
            text: self.text.as_str().into(),
            point: value(DecimalMark::Point).into(),
            comma: value(DecimalMark::Comma).into(),
        }
    }
}

/// Evidence in one column for its decimal mark: the first cell of each kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// First cell that is a number only with a decimal point.
    point: Option<Witness>,
    /// First cell that is a number only with a decimal comma.
    comma: Option<Witness>,
    /// First ambiguous cell with a point: `204.800`.
    open_point: Option<Witness>,
    /// First ambiguous cell with a comma: `204,800`.
    open_comma: Option<Witness>,
    /// True if spaces group thousands, so that neither mark can.
    has_blank_groups: bool,
}

/// Decision about a column's decimal mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// No number has a mark.
    Any,
    Known(DecimalMark),
    /// All marks are ambiguous; this is the first ambiguous number.
    Open(Witness),
    /// Two numbers need different decimal marks.
    Both(Witness, Witness),
}

impl Evidence {
    /// Adds a cell of the column.
    pub fn add(&mut self, row: u64, text: &str) {
        let (point, comma) = (parse(text, DecimalMark::Point), parse(text, DecimalMark::Comma));
        self.has_blank_groups |= point.or(comma).is_some() && text.trim().chars().any(is_blank);
        let kind = match (point, comma) {
            (None, None) => return,
            (Some(_), None) => &mut self.point,
            (None, Some(_)) => &mut self.comma,
            (Some(own), Some(other)) if own.to_bits() == other.to_bits() => return,
            _ if text.contains('.') => &mut self.open_point,
            _ => &mut self.open_comma,
        };
        kind.get_or_insert_with(|| Witness { row, text: text.trim().to_owned() });
    }

    /// Decides from all cells of the column.
    pub fn decide(&self) -> Decision {
        let (mut point, mut comma) = (self.point.clone(), self.comma.clone());
        if self.has_blank_groups {
            point = point.or_else(|| self.open_point.clone());
            comma = comma.or_else(|| self.open_comma.clone());
        }
        match (point, comma) {
            (Some(point), Some(comma)) => Decision::Both(point, comma),
            (Some(_), None) => Decision::Known(DecimalMark::Point),
            (None, Some(_)) => Decision::Known(DecimalMark::Comma),
            (None, None) => match self.open_point.clone().or_else(|| self.open_comma.clone()) {
                Some(open) => Decision::Open(open),
                None => Decision::Any,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_the_mark_of_their_column() {
        for (text, point, comma) in [
            ("1024", Some(1024.0), Some(1024.0)),
            ("1,024", Some(1024.0), Some(1.024)),
            ("1.024", Some(1.024), Some(1024.0)),
            ("1,024,000", Some(1_024_000.0), None),
            ("1.024,5", None, Some(1024.5)),
            ("1,024.5", Some(1024.5), None),
            ("12,5", None, Some(12.5)),
            ("0,500", None, Some(0.5)),
            ("1 024", Some(1024.0), Some(1024.0)),
            ("1\u{202f}024,5", None, Some(1024.5)),
            ("1'234.5", Some(1234.5), None),
            ("1\u{2019}234\u{2019}567", Some(1_234_567.0), Some(1_234_567.0)),
            ("12,34,567", Some(1_234_567.0), None),
            ("1.5e+07", Some(1.5e7), None),
            ("-3", Some(-3.0), Some(-3.0)),
            ("10 20", None, None),
            ("1,2,3", None, None),
            ("many", None, None),
            ("NaN", None, None),
            ("", None, None),
        ] {
            assert_eq!(parse(text, DecimalMark::Point), point, "{text} with a point");
            assert_eq!(parse(text, DecimalMark::Comma), comma, "{text} with a comma");
        }
    }

    fn decide(cells: &[&str]) -> Decision {
        let mut evidence = Evidence::default();
        (1..).zip(cells).for_each(|(row, text)| evidence.add(row, text));
        evidence.decide()
    }

    #[test]
    fn decimal_mark_is_decided_by_all_cells_of_a_column() {
        let known = Decision::Known;
        assert_eq!(decide(&["5", "1 024"]), Decision::Any);
        assert_eq!(decide(&["12.250", "1.234.567"]), known(DecimalMark::Comma));
        assert_eq!(decide(&["204.800", "0.5"]), known(DecimalMark::Point));
        assert_eq!(decide(&["12,500", "1 024"]), known(DecimalMark::Comma));
        assert_eq!(decide(&["12.500", "1'024"]), known(DecimalMark::Point));
        assert!(matches!(decide(&["204.800", "40.960"]), Decision::Open(own) if own.row == 1));
        assert!(matches!(decide(&["1.5", "1,5"]), Decision::Both(..)));
    }
}
