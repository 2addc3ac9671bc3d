use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::name::{Name, NameError};

/// Error of a cluster of processes.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A name is used twice.
    #[error("{0} is named twice")]
    Twice(Name),
    /// The hub does not know a member of this name.
    #[error("{0} is not a member")]
    Unknown(Name),
    /// Certificates could not be created.
    #[error("cannot make certificates")]
    Certificates(#[from] rcgen::Error),
    /// The text is not an invitation, or one of another version.
    #[error("not a valid invitation: {0}")]
    Invitation(String),
    /// The invitation has expired.
    #[error("the invitation of {member} has expired")]
    Expired {
        /// Name of the invited member.
        member: Name,
    },
    /// The network failed.
    #[error("{what}: {message}")]
    Network {
        /// Action that was attempted.
        what: &'static str,
        /// Error text of Zenoh.
        message: String,
    },
    /// The member has left, or is leaving.
    #[error("{member} is not connected to answer `{topic}`")]
    Gone {
        /// Name of the member.
        member: Name,
        /// Topic of the request.
        topic: String,
    },
    /// The member does not answer.
    #[error("{member} did not answer `{topic}` within {} s", within.as_secs_f64())]
    Silent {
        /// Name of the member.
        member: Name,
        /// Topic of the request.
        topic: String,
        /// Time for which the answer was awaited.
        within: Duration,
    },
    /// The member answered with an error.
    #[error("{member}: {error}")]
    Refused {
        /// Name of the member.
        member: Name,
        /// Error that the member returned.
        error: RemoteError,
    },
    /// The fetched data differ from the data that the member offered.
    #[error("{member} sent {what} in pieces that do not form the whole: {message}")]
    Damaged {
        /// Name of the member.
        member: Name,
        /// Name of the offer.
        what: String,
        /// Description of the difference.
        message: String,
    },
    /// The message exceeds the maximum size and would be dropped.
    #[error("a message of {size} is larger than the maximum of {max}")]
    TooLarge {
        /// Size of the message.
        size: Bytes,
        /// Maximum size of a message.
        max: Bytes,
    },
}

/// Error of another host. Only its text and its hint are sent over the network, not its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct RemoteError {
    /// Text of the error.
    pub text: String,
    /// Advice on what to do, if there is any.
    pub hint: Option<String>,
}

impl RemoteError {
    /// Creates a remote error with the text of an error.
    pub fn new(error: impl ToString) -> Self {
        Self { text: error.to_string(), hint: None }
    }

    /// Sets the hint.
    #[must_use]
    pub fn with_hint(self, hint: Option<impl Into<String>>) -> Self {
        Self { hint: hint.map(Into::into), ..self }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("two strings can be JSON")
    }

    /// Decodes the error of a member. A program of another version may send a bare text: its
    /// version is checked when it introduces itself, but its errors before that must be readable.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_else(|_| Self::new(String::from_utf8_lossy(bytes)))
    }
}

impl ClusterError {
    /// Returns a function that wraps an error of Zenoh with the attempted action.
    pub(crate) fn network(what: &'static str) -> impl Fn(zenoh::Error) -> Self {
        move |error| Self::Network { what, message: error.to_string() }
    }
}
