//! Reading and writing numbers in network byte order.

/// Bytes that are read from the front. After something that was not all there nothing is any more, so
/// that a short number behind it is not taken for one.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next bytes, if there are as many.
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

    /// As many bytes as the number before them says.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.take(usize::try_from(length).ok()?)
    }
}

/// What bytes are written to.
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

/// The length of something that was bounded before.
pub(crate) fn short(length: usize) -> u32 {
    u32::try_from(length).expect("what is written is bounded far below 4 GiB")
}

/// A string of the protocol: UTF-8, without NUL, not too long.
pub(crate) fn string(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (text.len() <= crate::limits::STRING_MAX && !text.contains('\0')).then_some(text)
}
