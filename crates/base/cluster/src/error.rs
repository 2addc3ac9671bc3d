use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::name::{Name, NameError};

/// Reason why processes cannot work as one.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Name used twice.
    #[error("{0} is named twice")]
    Twice(Name),
    /// Member that the hub does not know.
    #[error("{0} is not a member")]
    Unknown(Name),
    /// Certificates that could not be made.
    #[error("cannot make certificates")]
    Certificates(#[from] rcgen::Error),
    /// Text that is no invitation, or one of another version.
    #[error("this is no invitation: {0}")]
    Invitation(String),
    /// Expired invitation.
    #[error("the invitation of {member} has expired")]
    Expired {
        /// Invited member.
        member: Name,
    },
    /// Network failure.
    #[error("{what}: {message}")]
    Network {
        /// Attempted action.
        what: &'static str,
        /// Error text of Zenoh.
        message: String,
    },
    /// Member that is gone, or leaving.
    #[error("{member} is not there to answer `{topic}`")]
    Gone {
        /// Name of the member.
        member: Name,
        /// Topic of the request.
        topic: String,
    },
    /// Member that does not answer.
    #[error("{member} did not answer `{topic}` within {} s", within.as_secs_f64())]
    Silent {
        /// Name of the member.
        member: Name,
        /// Topic of the request.
        topic: String,
        /// Time waited.
        within: Duration,
    },
    /// Error answer of a member.
    #[error("{member}: {error}")]
    Refused {
        /// Name of the member.
        member: Name,
        /// Error of the member.
        error: RemoteError,
    },
    /// Fetched data that differ from the offered ones.
    #[error("{member} sent {what} in pieces that do not make the whole: {message}")]
    Damaged {
        /// Name of the member.
        member: Name,
        /// Name of the offer.
        what: String,
        /// Difference found.
        message: String,
    },
    /// Message that would be dropped.
    #[error("a message of {size} is too large, at most {max}")]
    TooLarge {
        /// Size of the message.
        size: Bytes,
        /// Largest size.
        max: Bytes,
    },
}

/// Error of another host. Its text and its advice cross the network, not its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct RemoteError {
    /// Description of the problem.
    pub text: String,
    /// Advice on what to do, if there is any.
    pub hint: Option<String>,
}

impl RemoteError {
    /// Takes the text of an error.
    pub fn new(error: impl ToString) -> Self {
        Self { text: error.to_string(), hint: None }
    }

    /// Adds the advice that the error has.
    #[must_use]
    pub fn with_hint(self, hint: Option<impl Into<String>>) -> Self {
        Self { hint: hint.map(Into::into), ..self }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("two strings are JSON")
    }

    /// Reads the error of a member. A program of another version may send a bare text: it is found out
    /// by what it says of itself, and its errors are shown until then.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_else(|_| Self::new(String::from_utf8_lossy(bytes)))
    }
}

impl ClusterError {
    /// Wraps an error of Zenoh with the attempted action.
    pub(crate) fn network(what: &'static str) -> impl Fn(zenoh::Error) -> Self {
        move |error| Self::Network { what, message: error.to_string() }
    }
}
