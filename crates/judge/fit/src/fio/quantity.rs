//! Parser for numbers of fio. A suffix may have any case, and means powers of 1,024 unless
//! `kb_base` is 1,000.

/// Value of a number (`parse.c` and HOWTO, "Parameter types"; each suffix was tested with fio
/// 3.33). With `kb_base=1024`, the default, `k` and `kB` are 1,024 and `KiB` is 1,000; with
/// `kb_base=1000` it is the reverse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quantity {
    /// Plain number.
    Count(u64),
    /// Share of a file's size.
    Percent(f64),
}

/// Base of prefixes: 1,024 or 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KbBase(pub u64);

impl KbBase {
    pub const DEFAULT: Self = Self(1024);

    /// Parses a number; `None` if fio would refuse it.
    pub fn parse(self, text: &str) -> Option<Quantity> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(percent) = text.strip_suffix('%') {
            let share = percent.trim().parse::<f64>().ok();
            return share.filter(|share| *share > 0.0 && *share <= 100.0).map(Quantity::Percent);
        }
        let (digits, radix) = match text.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (text.as_str(), 10),
        };
        // A hexadecimal b is a digit.
        let is_digit = |c: char| c.is_digit(radix);
        let end = digits.find(|c| !is_digit(c)).unwrap_or(digits.len());
        let value = u64::from_str_radix(&digits[..end], radix).ok()?;
        value.checked_mul(self.factor(&digits[end..])?).map(Quantity::Count)
    }

    /// Returns the factor of a suffix.
    fn factor(self, suffix: &str) -> Option<u64> {
        let mut letters = suffix.chars();
        let power = match letters.next() {
            None => return Some(1),
            Some('b') if suffix == "b" => return Some(1),
            Some('k') => 1,
            Some('m') => 2,
            Some('g') => 3,
            Some('t') => 4,
            Some('p') => 5,
            Some(_) => return None,
        };
        let base = match letters.as_str() {
            "" | "b" | "i" => self.0,
            "ib" => self.other(),
            _ => return None,
        };
        base.checked_pow(power)
    }

    /// Returns the base of prefixes with `iB`.
    const fn other(self) -> u64 {
        if self.0 == 1024 { 1000 } else { 1024 }
    }

    /// Returns true for a prefix with `iB` that means powers of 1,000, contrary to the standard.
    pub fn is_odd(self, text: &str) -> bool {
        self.0 == 1024 && text.trim().to_ascii_lowercase().ends_with("ib")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_mean_what_fio_3_33_makes_of_them() {
        for (text, by_1024, by_1000) in [
            ("4096", 4096, 4096),
            ("4k", 4096, 4000),
            ("4K", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4Ki", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("1MB", 1 << 20, 1_000_000),
            ("1mib", 1_000_000, 1 << 20),
            ("1g", 1 << 30, 1_000_000_000),
            ("4096b", 4096, 4096),
            ("0x1000", 4096, 4096),
        ] {
            assert_eq!(KbBase(1024).parse(text), Some(Quantity::Count(by_1024)), "{text}");
            assert_eq!(KbBase(1000).parse(text), Some(Quantity::Count(by_1000)), "{text}");
        }
        assert_eq!(KbBase::DEFAULT.parse("80%"), Some(Quantity::Percent(80.0)));
        for text in ["", "many", "1.5k", "4 k", "4kk", "-1", "120%", "99999999p", "4x"] {
            assert_eq!(KbBase::DEFAULT.parse(text), None, "{text}");
        }
    }
}
