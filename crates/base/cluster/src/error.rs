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
    #[error("{member}: {message}")]
    Refused {
        /// Name of the member.
        member: Name,
        /// Text of the error.
        message: String,
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

/// Error of another host. Only its text crosses the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct RemoteError(pub String);

impl RemoteError {
    /// Takes the text of an error.
    pub fn new(error: impl ToString) -> Self {
        Self(error.to_string())
    }
}

impl ClusterError {
    /// Wraps an error of Zenoh with the attempted action.
    pub(crate) fn network(what: &'static str) -> impl Fn(zenoh::Error) -> Self {
        move |error| Self::Network { what, message: error.to_string() }
    }
}
