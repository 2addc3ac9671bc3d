/// An error of the protocol. Numbers are those of the specification ("Error values").
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Code {
    /// Writing to what is read-only.
    #[error("not permitted")]
    NotPermitted = 1,
    /// The storage failed.
    #[error("input/output error")]
    Io = 5,
    /// No memory.
    #[error("out of memory")]
    NoMemory = 12,
    /// The request makes no sense here.
    #[error("invalid request")]
    Invalid = 22,
    /// No space, or a write beyond the end.
    #[error("no space left")]
    NoSpace = 28,
    /// A read in one piece is too long for that.
    #[error("too large")]
    Overflow = 75,
    /// Zeroing would not be fast.
    #[error("not supported")]
    NotSupported = 95,
    /// The server is about to end.
    #[error("server is shutting down")]
    Shutdown = 108,
}

impl Code {
    /// As sent.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        self as u32
    }

    /// What was sent; an unexpected number is to be taken as an invalid request.
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

    /// What to say of an error of Linux (`errno`, positive). `EDQUOT` and `EFBIG` are no space, as the
    /// specification has it; whatever is not named there is a failure of the storage.
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
