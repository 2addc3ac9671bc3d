use std::fmt;

use http_client::PostError;

use crate::program::ProgramError;
use crate::words::count;

/// Trouble with a receiver of alarms.
#[derive(Debug, thiserror::Error)]
#[error("alarms to {to}: {problem}")]
pub struct Trouble {
    /// Receiver, without the secrets in its address.
    pub to: String,
    /// Problem with the receiver.
    pub problem: Problem,
}

/// Problem with a receiver.
#[derive(Debug)]
pub enum Problem {
    /// A message could not be delivered so far, and will be retried.
    Failing(SendError),
    /// Messages are delivered again.
    Works,
    /// A message was dropped after its last attempt.
    Lost {
        /// Error of the last attempt.
        error: SendError,
        /// Number of messages that this receiver has not got so far.
        lost: u64,
    },
    /// Messages came faster than they were delivered.
    Full {
        /// Number of messages that this receiver has not got so far.
        lost: u64,
    },
    /// This number of messages was not delivered when watching ended.
    Unsent(u64),
}

/// Reason why a message could not be delivered.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// A server did not accept the message.
    #[error(transparent)]
    Post(#[from] PostError),
    /// A program did not accept the message.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl SendError {
    /// Returns true if the same message may be accepted later. A server that refuses a message
    /// (status 400 to 499) will refuse it again, unless it asks for more time (408, 429).
    pub(crate) const fn is_passing(&self) -> bool {
        let Self::Post(PostError::Status { status, .. }) = self else { return true };
        !matches!(status, 400..=407 | 409..=428 | 430..=499)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failing(error) => write!(f, "{error}; sent again"),
            Self::Works => f.write_str("delivered again"),
            Self::Lost { error, lost } => {
                write!(f, "{error}; given up, {} lost so far", count(*lost, "message"))
            }
            Self::Full { lost } => {
                write!(f, "too many alarms wait, {} lost so far", count(*lost, "message"))
            }
            Self::Unsent(unsent) => write!(f, "{} not delivered", count(*unsent, "message")),
        }
    }
}
