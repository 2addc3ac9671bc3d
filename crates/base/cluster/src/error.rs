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
    #[error("{member}: {message}")]
    Refused {
        /// Who.
        member: Name,
        /// In its own words.
        message: String,
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
    /// What Zenoh says about what was tried.
    pub(crate) fn network(what: &'static str) -> impl Fn(zenoh::Error) -> Self {
        move |error| Self::Network { what, message: error.to_string() }
    }
}
