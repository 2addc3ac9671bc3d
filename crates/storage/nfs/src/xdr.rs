//! XDR (RFC 4506): numbers of 4 bytes, and byte strings that are padded to a multiple of 4 bytes.

use crate::error::Trouble;

/// Writer of a message.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Writes bytes without a length, because both sides know it.
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Writes the length of the bytes, then the bytes.
    pub fn opaque(self, bytes: &[u8]) -> Self {
        // Names and blocks are far smaller; the kernel bounds both.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.u32(length).fixed(bytes)
    }

    /// Writes a number that may be absent.
    pub fn optional(self, value: Option<u32>) -> Self {
        match value {
            Some(value) => self.u32(1).u32(value),
            None => self.u32(0),
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reader of a message. Every read past the end of the message is an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Trouble> {
        let (found, rest) = self.0.split_at_checked(count).ok_or(Trouble::Malformed)?;
        self.0 = rest;
        Ok(found)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Trouble> {
        self.bytes(N)?.try_into().map_err(|_| Trouble::Malformed)
    }

    pub fn u32(&mut self) -> Result<u32, Trouble> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Trouble> {
        self.array().map(u64::from_be_bytes)
    }

    pub fn bool(&mut self) -> Result<bool, Trouble> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Trouble::Malformed),
        }
    }

    /// Reads a length and the bytes that follow it, at most `most`.
    pub fn opaque(&mut self, most: usize) -> Result<&'a [u8], Trouble> {
        let length = usize::try_from(self.u32()?).map_err(|_| Trouble::Malformed)?;
        if length > most {
            return Err(Trouble::Malformed);
        }
        let found = self.bytes(length)?;
        self.bytes(length.next_multiple_of(4) - length)?;
        Ok(found)
    }

    /// Reads a value that may be absent.
    pub fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn byte_strings_are_filled_up_to_four() {
        let written = Writer::default().opaque(b"abcde").u32(7).into_bytes();
        assert_eq!(written, b"\0\0\0\x05abcde\0\0\0\0\0\0\x07");
        let mut read = Reader(&written);
        assert_eq!(read.opaque(5), Ok(&b"abcde"[..]));
        assert_eq!((read.u32(), read.u32()), (Ok(7), Err(Trouble::Malformed)));
    }

    #[test]
    fn what_is_longer_than_allowed_or_than_the_message_is_malformed() {
        let written = Writer::default().opaque(b"abcde").into_bytes();
        assert_eq!(Reader(&written).opaque(4), Err(Trouble::Malformed));
        assert_eq!(Reader(&written[..9]).opaque(5), Err(Trouble::Malformed));
        assert_eq!(Reader(&[0, 0, 0, 2]).bool(), Err(Trouble::Malformed));
    }

    proptest! {
        #[test]
        fn every_byte_string_is_read_as_it_was_written(bytes: Vec<u8>, number: u64) {
            let written = Writer::default().opaque(&bytes).u64(number).into_bytes();
            let mut read = Reader(&written);
            prop_assert_eq!(read.opaque(bytes.len()), Ok(&bytes[..]));
            prop_assert_eq!(read.u64(), Ok(number));
            prop_assert!(read.0.is_empty());
        }
    }
}
