//! Numbers and fields of a line, from bytes.

use units::Nanos;

use super::sink::{Bad, Moment};
use crate::Operation;

const NOT_A_NUMBER: &str = "is not a whole number";
const TOO_LARGE: &str = "is too large";

/// The fields of a line between separators; spaces around them do not count.
pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(super) fn commas(line: &'a [u8]) -> Self {
        Self { rest: Some(line), separator: b',' }
    }

    /// The next field; none after the last.
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

    /// The next field, which must be there.
    #[inline]
    pub(super) fn text(&mut self, name: &'static str) -> Result<&'a [u8], Bad> {
        self.next().ok_or(Bad::new(name, "is missing"))
    }

    /// The next field as a whole number.
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
        number(self.text(name)?, name)
    }
}

/// The leading digits: their value, wrapped where they are more than 19, and how many they are.
#[inline]
fn digits(bytes: &[u8]) -> (u64, usize) {
    let mut value = 0_u64;
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (value, length)
}

/// A whole number, nothing else.
pub(super) fn number(field: &[u8], name: &'static str) -> Result<u64, Bad> {
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return Err(Bad::new(name, NOT_A_NUMBER));
    }
    let add = |value: u64, byte: &u8| {
        value.checked_mul(10)?.checked_add(u64::from(byte.wrapping_sub(b'0')))
    };
    field.iter().try_fold(0_u64, add).ok_or(Bad::new(name, TOO_LARGE))
}

/// `value` times `factor`.
#[inline]
pub(super) fn times(value: u64, factor: u64, name: &'static str) -> Result<u64, Bad> {
    value.checked_mul(factor).ok_or(Bad::new(name, TOO_LARGE))
}

/// A moment of `value` steps of `step_ns` each.
#[inline]
pub(super) fn moment(value: u64, step_ns: u64, name: &'static str) -> Result<Moment, Bad> {
    let ns = i64::try_from(times(value, step_ns, name)?);
    ns.map(Moment).map_err(|_| Bad::new(name, TOO_LARGE))
}

/// A duration of `value` steps of `step_ns` each.
#[inline]
pub(super) fn duration(value: u64, step_ns: u64, name: &'static str) -> Result<Nanos, Bad> {
    times(value, step_ns, name).map(Nanos)
}

/// Bytes of a read, write or discard: some, and less than 4 GiB.
#[inline]
pub(super) fn length(bytes: u64) -> Result<u32, Bad> {
    match u32::try_from(bytes) {
        Ok(0) => Err(Bad::new("length", "is nothing")),
        Ok(length) => Ok(length),
        Err(_) => Err(Bad::new("length", "is 4 GiB or more")),
    }
}

/// Whether a range ends within the 64-bit address space, so that its end can be computed.
#[inline]
pub(super) fn range(offset: u64, length: u32) -> Result<(), Bad> {
    match offset.checked_add(u64::from(length)) {
        Some(_) => Ok(()),
        None => Err(Bad::new("offset", "is too large for the length")),
    }
}

/// Read or write of a word that begins so, in any case.
pub(super) fn read_or_write(word: &[u8]) -> Result<Operation, Bad> {
    let is = |text: &[u8]| word.eq_ignore_ascii_case(text);
    if is(b"r") || is(b"read") {
        Ok(Operation::Read)
    } else if is(b"w") || is(b"write") {
        Ok(Operation::Write)
    } else {
        Err(Bad::new("operation", "is neither a read nor a write"))
    }
}
