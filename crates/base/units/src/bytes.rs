use std::fmt;
use std::ops::{Add, Mul};
use std::str::FromStr;

use crate::ParseError;
use crate::text::{as_text, short, split};

/// Number of bytes, 0 to 2^64-1.
///
/// In text, `k m g t` and `Ki KiB Mi MiB ...` are powers of 1024 (as in fio, dd and elbencho); `kB
/// KB MB GB TB` are powers of 1000 (SI); `B` is one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

const BINARY: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

impl Bytes {
    /// 0 B.
    pub const ZERO: Self = Self(0);
    /// 1024 B.
    pub const KIB: Self = Self(1 << 10);
    /// 1024 KiB.
    pub const MIB: Self = Self(1 << 20);
    /// 1024 MiB.
    pub const GIB: Self = Self(1 << 30);

    /// Creates a quantity from a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes as a float, for rates and shares. It is exact below 2^53.
    #[expect(clippy::cast_precision_loss, reason = "exact below 8 PiB, and only shown beyond")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns `self - other`, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Rounds down to a multiple of `unit`, which must not be zero.
    #[must_use]
    pub const fn round_down(self, unit: Self) -> Self {
        Self(self.0 - self.0 % unit.0)
    }

    /// Rounds up to a multiple of `unit`, which must not be zero; saturates.
    #[must_use]
    pub const fn round_up(self, unit: Self) -> Self {
        Self(self.0.div_ceil(unit.0).saturating_mul(unit.0))
    }

    /// Returns `self * factor`, rounded down to a whole byte; saturates.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate"
    )]
    pub fn scale(self, factor: f64) -> Self {
        Self((self.as_f64() * factor) as u64)
    }

    /// Returns text that parses to exactly this value, in the largest binary unit that divides it.
    pub fn to_text(self) -> String {
        let (unit, size) = BINARY
            .iter()
            .rev()
            .find(|(_, size)| self.0 != 0 && self.0.is_multiple_of(*size))
            .unwrap_or(&BINARY[0]);
        format!("{}{unit}", self.0 / size)
    }
}

impl fmt::Display for Bytes {
    /// Formats the size in the largest suitable binary unit with at most three decimals: `1.5 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) =
            BINARY.iter().rev().find(|(_, size)| self.0 >= *size).unwrap_or(&BINARY[0]);
        let value = self.as_f64() / Bytes(*size).as_f64();
        f.pad(&format!(
            "{} {unit}",
            if value >= 100.0 {
                short(value.round())
            } else {
                short((value * 100.0).round() / 100.0)
            }
        ))
    }
}

impl Add for Bytes {
    type Output = Self;
    /// Adds and saturates. Sums of sizes from a user may exceed 64 bits, and must not wrap to a
    /// small number.
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    /// Multiplies and saturates, like the sum.
    fn mul(self, by: u64) -> Self {
        Self(self.0.saturating_mul(by))
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

fn unit_size(unit: &str) -> Option<u64> {
    Some(match unit {
        "B" => 1,
        "k" | "K" | "Ki" | "KiB" => 1 << 10,
        "m" | "M" | "Mi" | "MiB" => 1 << 20,
        "g" | "G" | "Gi" | "GiB" => 1 << 30,
        "t" | "T" | "Ti" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    })
}

impl FromStr for Bytes {
    type Err = ParseError;

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole and in range"
    )]
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (number, unit) = split(text)?;
        if unit.is_empty() {
            if number == 0.0 {
                return Ok(Self::ZERO);
            }
            return Err(ParseError::NoUnit {
                text: text.to_owned(),
                example: format!("{}B", short(number)),
            });
        }
        let size = unit_size(unit).ok_or_else(|| ParseError::UnknownUnit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            quantity: "size",
            known: "B, k, KiB, M, MiB, G, GiB, T, TiB (binary) and kB, MB, GB, TB (decimal)",
        })?;
        let digits = text.trim().trim_end_matches(unit).trim().replace('_', "");
        if let Ok(whole) = digits.parse::<u64>() {
            return whole.checked_mul(size).map(Self).ok_or_else(|| ParseError::OutOfRange {
                text: text.to_owned(),
                reason: "more than 2^64-1 bytes".to_owned(),
            });
        }
        let bytes = number * Bytes(size).as_f64();
        if bytes >= 9_007_199_254_740_992.0 || bytes.fract() != 0.0 {
            return Err(ParseError::OutOfRange {
                text: text.to_owned(),
                reason: "a fraction must come to a whole number of bytes below 2^53".to_owned(),
            });
        }
        Ok(Self(bytes as u64))
    }
}

as_text!(
    Bytes,
    r"^[0-9._]+ *([kKmMgGtT](i?B?|i)|B)?$",
    "a size such as \"8k\" (8192 B), \"1.5GiB\" or \"92GB\" (decimal)"
);

/// Size of one I/O: a non-zero multiple of 512 B, at most 64 MiB. Its text uses binary units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(u32);

impl BlockSize {
    /// The smallest block: one 512 B sector.
    pub const SECTOR: Self = Self(512);
    /// The largest block: 64 MiB.
    pub const MAX: Self = Self(64 << 20);
    /// 1 MiB.
    pub const MIB: Self = Self(1 << 20);
    /// 64 KiB.
    pub const KIB_64: Self = Self(64 << 10);

    /// Creates a block size; `None` unless it is a multiple of 512 B between 512 B and 64 MiB.
    pub fn new(bytes: Bytes) -> Option<Self> {
        let size = u32::try_from(bytes.get()).ok()?;
        (size != 0 && size % 512 == 0 && size <= Self::MAX.0).then_some(Self(size))
    }

    /// Returns the size in bytes.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the size as [`Bytes`].
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 as u64)
    }

    /// Returns text that parses to exactly this value.
    pub fn to_text(self) -> String {
        self.bytes().to_text()
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

impl FromStr for BlockSize {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes: Bytes = text.parse()?;
        let (_, unit) = split(text)?;
        if matches!(unit, "kB" | "KB" | "MB" | "GB" | "TB") {
            let letter = &unit[..1];
            let binary = text.trim().trim_end_matches(unit).trim().to_owned()
                + &letter.to_uppercase()
                + "iB";
            let binary_bytes = binary.parse::<Bytes>().map_or(0, Bytes::get);
            return Err(ParseError::DecimalBlockSize {
                text: text.to_owned(),
                bytes: bytes.get(),
                binary,
                binary_bytes,
            });
        }
        Self::new(bytes).ok_or_else(|| ParseError::OutOfRange {
            text: text.to_owned(),
            reason: format!(
                "a block is a multiple of 512 B from 512 B to 64 MiB, not {} B",
                bytes.get()
            ),
        })
    }
}

as_text!(
    BlockSize,
    r"^[0-9._]+ *([kKmM](i|iB)?|B)$",
    "a block size such as \"4k\" (4096 B) or \"1MiB\""
);

/// Formats a rate in bytes per second with both kinds of units: `1.5 GiB/s (1.6 GB/s)`.
pub fn decimal_and_binary(bytes_per_second: f64) -> String {
    const DECIMAL: [(&str, f64); 4] = [("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)];
    const BINARY_RATE: [(&str, f64); 4] =
        [("B/s", 1.0), ("KiB/s", 1024.0), ("MiB/s", 1_048_576.0), ("GiB/s", 1_073_741_824.0)];
    let print = |table: &[(&str, f64); 4]| {
        let (unit, size) =
            table.iter().rev().find(|(_, size)| bytes_per_second >= *size).unwrap_or(&table[0]);
        let value = bytes_per_second / size;
        if value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
    };
    format!("{} ({})", print(&BINARY_RATE), print(&DECIMAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_that_add_up_to_more_than_there_can_be_do_not_wrap() {
        let half = Bytes::new(1 << 63);
        let most = Bytes::new(u64::MAX);
        assert_eq!([half, half, Bytes::MIB * 64].into_iter().sum::<Bytes>(), most);
        assert_eq!(half * 3, most);
        assert_eq!(most.round_up(Bytes::MIB), most);
    }

    #[test]
    fn four_k_is_4096_in_every_binary_spelling() {
        for text in ["4k", "4K", "4Ki", "4KiB", "4 KiB", "4096B"] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes::new(4096)), "{text}");
        }
        assert_eq!("4kB".parse::<Bytes>(), Ok(Bytes::new(4000)));
    }

    #[test]
    fn a_size_without_unit_is_refused_with_an_example() {
        let error = "4096".parse::<Bytes>().expect_err("no unit");
        assert_eq!(error.to_string(), "\"4096\" has no unit; write for example \"4096B\"");
    }

    #[test]
    fn a_decimal_block_size_is_refused_naming_both_readings() {
        let error = "4kB".parse::<BlockSize>().expect_err("decimal");
        assert!(
            error.to_string().contains("4000 B") && error.to_string().contains("4096 B"),
            "{error}"
        );
    }

    #[test]
    fn a_block_of_1000_bytes_is_refused() {
        assert!("1000B".parse::<BlockSize>().is_err());
        assert!("128MiB".parse::<BlockSize>().is_err());
    }

    proptest! {
        #[test]
        fn every_size_round_trips_through_its_text(bytes: u64) {
            prop_assert_eq!(Bytes::new(bytes).to_text().parse::<Bytes>(), Ok(Bytes::new(bytes)));
        }
    }
}
