use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::name::{Name, NameError};

/// Why processes do not work as one.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Two of them could not be told apart.
    #[error("{0} is named twice")]
    Twice(Name),
    /// The hub was not told of it.
    #[error("{0} is not a member")]
    Unknown(Name),
    /// Certificates could not be made.
    #[error("cannot make certificates")]
    Certificates(#[from] rcgen::Error),
    /// The text is not an invitation, or one of another version.
    #[error("this is no invitation: {0}")]
    Invitation(String),
    /// Its time is over.
    #[error("the invitation of {member} has expired")]
    Expired {
        /// Whose.
        member: Name,
    },
    /// The network, or what stands for it.
    #[error("{what}: {message}")]
    Network {
        /// What was tried.
        what: &'static str,
        /// What Zenoh says.
        message: String,
    },
    /// Nobody is there who would answer: the member is gone, or going.
    #[error("{member} is not there to answer `{topic}`")]
    Gone {
        /// Who.
        member: Name,
        /// What was asked.
        topic: String,
    },
    /// The member does not answer.
    #[error("{member} did not answer `{topic}` within {} s", within.as_secs_f64())]
    Silent {
        /// Who.
        member: Name,
        /// What was asked.
        topic: String,
        /// How long it was waited for.
        within: Duration,
    },
    /// The member answered with an error.
    #[error("{member}: {error}")]
    Refused {
        /// Who.
        member: Name,
        /// Error of the member.
        error: RemoteError,
    },
    /// What arrived is not what was there.
    #[error("{member} sent {what} in pieces that do not make the whole: {message}")]
    Damaged {
        /// Who.
        member: Name,
        /// What was fetched.
        what: String,
        /// What is wrong.
        message: String,
    },
    /// It would be dropped on the way.
    #[error("a message of {size} is too large, at most {max}")]
    TooLarge {
        /// Of the message.
        size: Bytes,
        /// What is carried.
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
    /// What Zenoh says about what was tried.
    pub(crate) fn network(what: &'static str) -> impl Fn(zenoh::Error) -> Self {
        move |error| Self::Network { what, message: error.to_string() }
    }
}
