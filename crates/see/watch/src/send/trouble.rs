use std::fmt;

use http_client::PostError;

use crate::program::ProgramError;
use crate::words::count;

/// Trouble with a receiver of alarms.
#[derive(Debug, thiserror::Error)]
#[error("alarms to {to}: {problem}")]
pub struct Trouble {
    /// Receiver, without its secrets.
    pub to: String,
    /// Problem.
    pub problem: Problem,
}

/// Problem with a receiver.
#[derive(Debug)]
pub enum Problem {
    /// A message could not be delivered so far, and is sent again.
    Failing(SendError),
    /// Messages are delivered again.
    Works,
    /// A message was given up.
    Lost {
        /// Last error.
        error: SendError,
        /// Messages that this receiver did not get so far.
        lost: u64,
    },
    /// Messages came faster than they were delivered.
    Full {
        /// Messages that this receiver did not get so far.
        lost: u64,
    },
    /// Messages were not delivered when watching ended.
    Unsent(u64),
}

/// Reason why a message could not be delivered.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// A server did not take it.
    #[error(transparent)]
    Post(#[from] PostError),
    /// A program did not take it.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl SendError {
    /// True if the same message may be taken later. A server that refuses it as such (status 400
    /// to 499) will refuse it again, unless it asks for time (408, 429).
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
                write!(f, "too many wait, {} lost so far", count(*lost, "message"))
            }
            Self::Unsent(unsent) => write!(f, "{} not delivered", count(*unsent, "message")),
        }
    }
}
