use std::fmt;

use serde::{Deserialize, Serialize};

/// Reason why an I/O or a call failed, reduced to the cases that state machines distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IoError {
    /// Error number of the kernel (EIO, ENOSPC, ENODEV, ...).
    Os(i32),
    /// Fewer bytes were moved than requested.
    Short {
        /// Number of bytes that were moved.
        moved: u32,
    },
    /// The bytes read differ from the bytes written (verification).
    Mismatch,
    /// A call failed. I/O and calls share this type, so that there is one type of answer; the
    /// variant does not enlarge it.
    Call(CallError),
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Os(number) => std::io::Error::from_raw_os_error(*number).fmt(f),
            Self::Short { moved } => write!(f, "only {moved} bytes were moved"),
            Self::Call(error) => error.fmt(f),
            Self::Mismatch => f.write_str("data read differ from the data written"),
        }
    }
}

impl std::error::Error for IoError {}

/// Reason why a call failed, reduced to the cases that state machines distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum CallError {
    /// The connection was refused.
    Refused,
    /// The whole answer did not arrive in the allowed time.
    TimedOut,
    /// The connection ended before the answer was complete.
    Closed,
    /// The answer is complete and says that the request failed.
    Status,
    /// The answer violates the protocol, or is longer than requested.
    Protocol,
}

impl CallError {
    /// All errors, in order.
    pub const ALL: [Self; 5] =
        [Self::Refused, Self::TimedOut, Self::Closed, Self::Status, Self::Protocol];

    /// Returns the name: `refused`, `timed-out`, `closed`, `status` or `protocol`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed-out",
            Self::Closed => "closed",
            Self::Status => "status",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "nobody accepted the connection",
            Self::TimedOut => "no answer in the time allowed",
            Self::Closed => "the connection ended before the answer was complete",
            Self::Status => "the answer reports a failed request",
            Self::Protocol => "the answer is invalid",
        })
    }
}
