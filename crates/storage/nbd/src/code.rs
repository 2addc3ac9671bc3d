/// Error of the protocol. The numbers are defined by the specification ("Error values").
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Code {
    /// Write to a read-only export.
    #[error("not permitted")]
    NotPermitted = 1,
    /// The storage failed (I/O error).
    #[error("input/output error")]
    Io = 5,
    /// The server has too little memory.
    #[error("out of memory")]
    NoMemory = 12,
    /// The export does not support the request, or the range is not valid.
    #[error("invalid request")]
    Invalid = 22,
    /// There is no space, or a write exceeds the end of the export.
    #[error("no space left")]
    NoSpace = 28,
    /// Read that is too long for a single answer.
    #[error("too large")]
    Overflow = 75,
    /// Zeroing would not be fast.
    #[error("not supported")]
    NotSupported = 95,
    /// The server is shutting down.
    #[error("server is shutting down")]
    Shutdown = 108,
}

impl Code {
    /// Returns the number as sent.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        self as u32
    }

    /// Converts a received number. The specification requires to treat unknown numbers as
    /// [`Self::Invalid`].
    #[must_use]
    pub const fn from_wire(number: u32) -> Self {
        match number {
            1 => Self::NotPermitted,
            5 => Self::Io,
            12 => Self::NoMemory,
            28 => Self::NoSpace,
            75 => Self::Overflow,
            95 => Self::NotSupported,
            108 => Self::Shutdown,
            _ => Self::Invalid,
        }
    }

    /// Converts a positive Linux `errno`. `EDQUOT` and `EFBIG` become [`Self::NoSpace`], as the
    /// specification requires. An `errno` that the specification does not name becomes
    /// [`Self::Io`].
    #[must_use]
    pub const fn of_errno(errno: i32) -> Self {
        match errno {
            1 | 30 => Self::NotPermitted,
            12 => Self::NoMemory,
            22 => Self::Invalid,
            27 | 28 | 122 => Self::NoSpace,
            _ => Self::Io,
        }
    }
}
