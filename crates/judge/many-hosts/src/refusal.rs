use std::borrow::Cow;
use std::error::Error;

use bench::BenchError;
use bench::plan::PlanError;
use bench::rig::MoveError;
use cluster::RemoteError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::allowed::AllowedError;
use crate::hold::HeldBy;

/// Reason why an agent refuses a request. Its text and its hint are sent to the controller.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Another agent or controller holds the host.
    #[error(transparent)]
    Held(#[from] HeldBy),
    /// The request could not be read.
    #[error("the question: {0}")]
    Question(#[source] Box<dyn Error + Send + Sync>),
    /// The answer could not be written.
    #[error("the answer: {0}")]
    Answer(#[source] Box<dyn Error + Send + Sync>),
    /// The agent is busy, or the request names a tile, a load, a run or a recording that does not
    /// exist here.
    #[error("{0}")]
    Refused(Cow<'static, str>),
    /// An error of the rig or of the load, with all its causes.
    #[error("{}", with_causes(.0))]
    Bench(#[source] Box<BenchError>),
    /// A thread could not be started.
    #[error("starting a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// A command, a recording or the storage failed, or the plan or the host's owner forbids it.
    /// Paths through which the agent holds its target are replaced by the paths that the owner
    /// knows.
    #[error("{error}")]
    Failed {
        /// Cause of the failure.
        error: Box<dyn Error + Send + Sync>,
        /// Advice on what to do, if there is any.
        hint: Option<Box<str>>,
    },
}

impl AgentError {
    /// Wraps any other error.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::hinted(error, None::<&str>)
    }

    /// Wraps any other error together with its advice.
    pub(crate) fn hinted(
        error: impl Into<Box<dyn Error + Send + Sync>>,
        hint: Option<impl Into<Box<str>>>,
    ) -> Self {
        Self::Failed { error: error.into(), hint: hint.map(Into::into) }
    }

    /// Converts to the text and the hint that are sent.
    pub(crate) fn to_remote(&self) -> RemoteError {
        let hint = match self {
            Self::Bench(error) => error.hint(),
            Self::Failed { hint, .. } => hint.as_deref().map(str::to_owned),
            _ => None,
        };
        RemoteError::new(self).with_hint(hint)
    }

    /// Creates a refusal with a sentence.
    pub(crate) fn refused(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Refused(what.into())
    }
}

impl From<PlanError> for AgentError {
    fn from(error: PlanError) -> Self {
        Self::failed(error)
    }
}

impl From<BenchError> for AgentError {
    fn from(error: BenchError) -> Self {
        Self::Bench(Box::new(error))
    }
}

impl From<MoveError> for AgentError {
    fn from(error: MoveError) -> Self {
        let hint = error.hint();
        Self::hinted(error, hint)
    }
}

impl From<RemoteError> for AgentError {
    fn from(RemoteError { text, hint }: RemoteError) -> Self {
        Self::hinted(text, hint)
    }
}

/// Converts an error, with its causes and its hint, to the form that is sent.
pub(crate) fn remote(error: &BenchError) -> RemoteError {
    RemoteError::new(with_causes(error)).with_hint(error.hint())
}

impl From<AllowedError> for AgentError {
    fn from(error: AllowedError) -> Self {
        let hint = error.hint();
        Self::hinted(error, hint)
    }
}

/// Returns the error text with its causes.
pub(crate) fn with_causes(error: &BenchError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

pub(crate) fn read<T: DeserializeOwned>(question: &[u8]) -> Result<T, AgentError> {
    serde_json::from_slice(question).map_err(|error| AgentError::Question(error.into()))
}

pub(crate) fn data<T: DeserializeOwned>(question: &[u8]) -> Result<T, AgentError> {
    postcard::from_bytes(question).map_err(|error| AgentError::Question(error.into()))
}

pub(crate) fn to_data<T: Serialize>(answer: &T) -> Result<Vec<u8>, AgentError> {
    postcard::to_stdvec(answer).map_err(|error| AgentError::Answer(error.into()))
}

pub(crate) fn json<T: Serialize>(answer: &T) -> Result<Vec<u8>, AgentError> {
    serde_json::to_vec(answer).map_err(|error| AgentError::Answer(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::host_error_of;

    /// Regression: the advice of the state file was lost if a disk could not be moved, because only
    /// texts were sent.
    #[test]
    fn hint_of_a_failed_move_reaches_the_controller() {
        let state = engine::verify::StateError::Short { path: "/a".into(), bytes: 1, wanted: 2 };
        let moved = MoveError::from(state);
        let (text, hint) = (moved.to_string(), "verify again with new disks");
        let sent = AgentError::from(moved).to_remote();
        assert_eq!((sent.text.as_str(), sent.hint.as_deref()), (text.as_str(), Some(hint)));
        let shown = host_error_of("a", sent);
        assert_eq!(shown.to_string(), format!("host a: {text}"));
        assert_eq!(shown.hint().as_deref(), Some(hint));
    }

    #[test]
    fn agent_error_stays_below_128_bytes() {
        assert!(size_of::<AgentError>() < 128, "{}", size_of::<AgentError>());
    }
}
