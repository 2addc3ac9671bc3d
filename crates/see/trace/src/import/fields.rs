//! Parses numbers and fields of a line.

use units::Nanos;

use super::sink::{Bad, Moment};
use crate::{IoRecord, Operation};

const NOT_A_NUMBER: &str = "is not a whole number";
/// Unit of addresses in most formats, in bytes.
pub(super) const SECTOR: u64 = 512;
const TOO_LARGE: &str = "is too large";

/// Splits a line into fields at separators; spaces around fields are ignored.
pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(super) fn commas(line: &'a [u8]) -> Self {
        Self { rest: Some(line), separator: b',' }
    }

    /// Returns the next field; `None` after the last.
    #[inline]
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let field = match rest.iter().position(|byte| *byte == self.separator) {
            Some(at) => {
                self.rest = Some(&rest[at + 1..]);
                &rest[..at]
            }
            None => {
                self.rest = None;
                rest
            }
        };
        Some(field.trim_ascii())
    }

    /// Returns the rest of the line.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest.unwrap_or_default()
    }

    /// Checks that all fields were taken, because more fields are a sign of another table. An empty
    /// last field, after a separator at the end of the line, is allowed.
    #[inline]
    pub(super) fn end(&self) -> Result<(), Bad> {
        match self.rest {
            None => Ok(()),
            Some(rest) if rest.trim_ascii().is_empty() => Ok(()),
            Some(_) => Err(Bad::new("line", "has too many columns")),
        }
    }

    /// Returns the next field; fails if there is none.
    #[inline]
    pub(super) fn text(&mut self, name: &'static str) -> Result<&'a [u8], Bad> {
        self.next().ok_or(Bad::new(name, "is missing"))
    }

    /// Parses the next field as a whole number.
    #[inline]
    pub(super) fn number(&mut self, name: &'static str) -> Result<u64, Bad> {
        if let Some(rest) = self.rest {
            let (value, length) = digits(rest);
            if (1..=19).contains(&length) {
                match rest.get(length) {
                    Some(byte) if *byte == self.separator => {
                        self.rest = Some(&rest[length + 1..]);
                        return Ok(value);
                    }
                    None => {
                        self.rest = None;
                        return Ok(value);
                    }
                    _ => {}
                }
            }
        }
        self.odd_number(name)
    }

    /// Parses a number with spaces around it; fails for any other text.
    #[cold]
    fn odd_number(&mut self, name: &'static str) -> Result<u64, Bad> {
        number(self.text(name)?, name)
    }
}

/// Returns the value of the leading digits (wrapped if there are more than 19), and the number of
/// digits.
///
/// Eight bytes are processed at a time: digits are found in one word, and their value is computed
/// by three multiplications that join neighbours (two digits, four, eight).
#[inline]
fn digits(bytes: &[u8]) -> (u64, usize) {
    let mut value = 0_u64;
    let mut length = 0;
    while let Some(chunk) = bytes[length..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk) ^ 0x3030_3030_3030_3030;
        let over = ((word & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676) | word;
        let odd = over & 0x8080_8080_8080_8080;
        let count = odd.trailing_zeros() / 8;
        if count == 0 {
            return (value, length);
        }
        // Bytes that are no digits are shifted out at the top; zeroes come in before the first
        // digit.
        let value_here = eight_digits(word << (64 - 8 * count));
        value = value.wrapping_mul(POWERS[count as usize]).wrapping_add(value_here);
        length += count as usize;
        if count < 8 {
            return (value, length);
        }
    }
    for byte in &bytes[length..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (value, length)
}

/// Powers of ten, by exponent.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Returns the value of eight digits, the first digit in the lowest byte.
const fn eight_digits(word: u64) -> u64 {
    let pairs = (word * 10 + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// Parses a field that must be a whole number and nothing else.
pub(super) fn number(field: &[u8], name: &'static str) -> Result<u64, Bad> {
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return Err(Bad::new(name, NOT_A_NUMBER));
    }
    let add = |value: u64, byte: &u8| {
        value.checked_mul(10)?.checked_add(u64::from(byte.wrapping_sub(b'0')))
    };
    field.iter().try_fold(0_u64, add).ok_or(Bad::new(name, TOO_LARGE))
}

/// Multiplies `value` by `factor`; fails on overflow.
#[inline]
pub(super) fn times(value: u64, factor: u64, name: &'static str) -> Result<u64, Bad> {
    value.checked_mul(factor).ok_or(Bad::new(name, TOO_LARGE))
}

/// Converts `value` steps of `step_ns` each to a time.
#[inline]
pub(super) fn moment(value: u64, step_ns: u64, name: &'static str) -> Result<Moment, Bad> {
    let ns = i64::try_from(times(value, step_ns, name)?);
    ns.map(Moment).map_err(|_| Bad::new(name, TOO_LARGE))
}

/// Converts `value` steps of `step_ns` each to a duration.
#[inline]
pub(super) fn duration(value: u64, step_ns: u64, name: &'static str) -> Result<Nanos, Bad> {
    times(value, step_ns, name).map(Nanos)
}

/// Checks the length of a read, write or discard: more than 0, and less than 4 GiB.
#[inline]
pub(super) fn length(bytes: u64) -> Result<u32, Bad> {
    match u32::try_from(bytes) {
        Ok(0) => Err(Bad::new("length", "is nothing")),
        Ok(length) => Ok(length),
        Err(_) => Err(Bad::new("length", "is 4 GiB or more")),
    }
}

/// Checks that a range ends within the 64-bit address space, so that its end can be computed.
#[inline]
pub(super) fn range(offset: u64, length: u32) -> Result<(), Bad> {
    match offset.checked_add(u64::from(length)) {
        Some(_) => Ok(()),
        None => Err(Bad::new("offset", "is too large for the length")),
    }
}

/// Makes the record of a read, write or discard of `bytes` at `offset`.
#[inline]
pub(super) fn io(operation: Operation, offset: u64, bytes: u64) -> Result<IoRecord, Bad> {
    let length = length(bytes)?;
    range(offset, length)?;
    Ok(IoRecord::new(Nanos::ZERO, operation, offset, length))
}

/// Makes the record of a read, write or discard, given in sectors of 512 bytes.
#[inline]
pub(super) fn sectors(operation: Operation, first: u64, count: u64) -> Result<IoRecord, Bad> {
    io(operation, times(first, SECTOR, "sector")?, times(count, SECTOR, "length")?)
}

/// Parses a number with decimals, times `unit_ns`, into whole nanoseconds, rounded down. The result
/// is exact. A floating-point number of seconds since 1970 would be exact only to 0.2 us.
pub(super) fn decimal(field: &[u8], unit_ns: u64, name: &'static str) -> Result<u64, Bad> {
    let point = field.iter().position(|byte| *byte == b'.').unwrap_or(field.len());
    let whole = times(number(&field[..point], name)?, unit_ns, name)?;
    let Some(fraction) = field.get(point + 1..) else { return Ok(whole) };
    if !fraction.iter().all(u8::is_ascii_digit) {
        return Err(Bad::new(name, "is not a number"));
    }
    let kept = &fraction[..fraction.len().min(9)];
    let (value, mut scale) = (digits(kept).0, 1_u64);
    for _ in kept {
        scale *= 10;
    }
    // At most (10^9 - 1) * 10^9.
    whole.checked_add(value * unit_ns / scale).ok_or(Bad::new(name, TOO_LARGE))
}

/// Parses a time written like a number for [`decimal`].
pub(super) fn decimal_moment(
    field: &[u8],
    unit_ns: u64,
    name: &'static str,
) -> Result<Moment, Bad> {
    moment(decimal(field, unit_ns, name)?, 1, name)
}

/// Parses a number in base 16, with or without `0x`.
pub(super) fn hex(field: &[u8], name: &'static str) -> Result<u64, Bad> {
    let digits = field.strip_prefix(b"0x").or(field.strip_prefix(b"0X")).unwrap_or(field);
    if digits.is_empty() || digits.len() > 16 {
        return Err(Bad::new(name, "is not a number in base 16"));
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(u64::from);
    let add = |value: u64, byte| digit(byte).map(|digit| value << 4 | digit);
    digits.iter().try_fold(0, add).ok_or(Bad::new(name, "is not a number in base 16"))
}

/// Splits a line into words, at most [`WORDS`] of them.
pub(super) struct Words<'a> {
    words: [&'a [u8]; WORDS],
    count: usize,
}

/// Maximum number of words of a line that are examined.
const WORDS: usize = 48;

impl<'a> Words<'a> {
    pub(super) fn of(line: &'a [u8]) -> Self {
        let mut words: [&[u8]; WORDS] = [&[]; WORDS];
        let found = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut count = 0;
        for (place, word) in words.iter_mut().zip(found) {
            *place = word;
            count += 1;
        }
        Self { words, count }
    }

    pub(super) fn all(&self) -> &[&'a [u8]] {
        &self.words[..self.count]
    }

    /// Returns the word at `index`; fails if there is none.
    pub(super) fn text(&self, index: usize, name: &'static str) -> Result<&'a [u8], Bad> {
        self.all().get(index).copied().ok_or(Bad::new(name, "is missing"))
    }

    /// Parses the word at `index` as a whole number.
    pub(super) fn number(&self, index: usize, name: &'static str) -> Result<u64, Bad> {
        number(self.text(index, name)?, name)
    }
}

/// Parses read or write, in any case.
#[inline]
pub(super) fn read_or_write(word: &[u8]) -> Result<Operation, Bad> {
    match word {
        b"R" | b"r" | b"Read" | b"read" | b"READ" => Ok(Operation::Read),
        b"W" | b"w" | b"Write" | b"write" | b"WRITE" => Ok(Operation::Write),
        _ => Err(Bad::new("operation", "is neither a read nor a write")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every length and several following texts with a parser of single digits.
    #[test]
    fn digits_are_read_eight_at_a_time_as_one_by_one() {
        for count in 0..=19_usize {
            for tail in ["", ",", "/", ":", " and more than eight", "\u{ff}bytes of more"] {
                let text = "9081726354908172635"[..count].to_owned() + tail;
                let wanted = text[..count].parse().unwrap_or(0);
                assert_eq!(digits(text.as_bytes()), (wanted, count), "{text}");
            }
        }
    }

    #[test]
    fn the_largest_number_is_read_and_the_next_is_too_large() {
        assert_eq!(Fields::commas(b"18446744073709551615,1").number("n"), Ok(u64::MAX));
        let next = Fields::commas(b"18446744073709551616").number("n");
        assert_eq!(next, Err(Bad::new("n", TOO_LARGE)));
    }
}
