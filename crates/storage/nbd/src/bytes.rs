//! Numbers in network byte order.

/// Reader of big-endian fields from the front of a slice. After the first incomplete field, every
/// later field is missing, too. Otherwise a shorter later field would be read from the wrong
/// offset.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Consumes the next `length` bytes, or returns `None` if fewer are left.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let whole = std::mem::take(&mut self.0);
        let (taken, rest) = whole.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = std::mem::take(&mut self.0).split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Consumes a 32-bit length and the bytes that follow it.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(usize::try_from(length).ok()?)
    }
}

/// Sink for big-endian fields.
pub(crate) trait Write {
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    fn bytes(&mut self, bytes: &[u8]);
}

impl Write for Vec<u8> {
    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Converts a length for the protocol. The caller must have limited it before.
pub(crate) fn short(length: usize) -> u32 {
    u32::try_from(length).expect("the length is far below 4 GiB")
}

/// Checks a string of the protocol: UTF-8 without NUL, at most [`crate::limits::STRING_MAX`] bytes.
pub(crate) fn string(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (text.len() <= crate::limits::STRING_MAX && !text.contains('\0')).then_some(text)
}
