use std::fmt;

use serde::{Deserialize, Serialize};

/// Reason why an I/O or a call failed, reduced to the cases that a state machine may handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IoError {
    /// The kernel's error number (EIO, ENOSPC, ENODEV, ...).
    Os(i32),
    /// Fewer bytes moved than asked for.
    Short {
        /// Bytes that were moved.
        moved: u32,
    },
    /// Bytes read that differ from the bytes written (verification).
    Mismatch,
    /// A call was not answered as it should have been. One type for both, which is no larger than
    /// that of an I/O alone, keeps one kind of answer for all.
    Call(CallError),
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Os(number) => std::io::Error::from_raw_os_error(*number).fmt(f),
            Self::Short { moved } => write!(f, "only {moved} bytes were moved"),
            Self::Call(error) => error.fmt(f),
            Self::Mismatch => f.write_str("data read is not the data written"),
        }
    }
}

impl std::error::Error for IoError {}

/// Reason why a call failed, reduced to the cases that a state machine may handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum CallError {
    /// Refused connection.
    Refused,
    /// No whole answer in the time allowed.
    TimedOut,
    /// Connection that ended before the answer.
    Closed,
    /// A whole answer that says that the request failed.
    Status,
    /// Answer that breaks the protocol, or is longer than requested.
    Protocol,
}

impl CallError {
    /// All errors, in order.
    pub const ALL: [Self; 5] =
        [Self::Refused, Self::TimedOut, Self::Closed, Self::Status, Self::Protocol];

    /// `refused`, `timed-out`, `closed`, `status` or `protocol`.
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
            Self::Refused => "nobody took the connection",
            Self::TimedOut => "no answer in the time allowed",
            Self::Closed => "the connection ended before the answer did",
            Self::Status => "the answer says that the request failed",
            Self::Protocol => "what came is not an answer",
        })
    }
}
