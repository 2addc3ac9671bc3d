//! Store of one host, and its checked answers.

use std::sync::Arc;

use super::check::{Checked, checked};
use super::wire::{Question, encode};

/// Access to the store of a host.
pub trait HostStore: Send + Sync + 'static {
    /// Returns the name of the host.
    fn name(&self) -> &str;

    /// Sends the host a question, which [`super::answer`] answers on that host.
    ///
    /// # Errors
    /// The host cannot be reached, is too slow, or refuses.
    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, HostTrouble>;
}

/// Reason why a host is left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct HostTrouble {
    /// Reason in words.
    pub text: String,
    /// Advice on what to do, if there is any.
    pub hint: Option<String>,
}

impl<T: HostStore + ?Sized> HostStore for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, HostTrouble> {
        (**self).ask(question)
    }
}

/// Asks a host, and returns its checked answer with the answer's size in bytes.
pub(crate) fn ask(
    host: &dyn HostStore,
    question: &Question,
) -> Result<(Checked, usize), HostTrouble> {
    let answer = host.ask(&encode(question))?;
    let checked = checked(&answer, question).map_err(|error| HostTrouble {
        text: format!("its answer is invalid: {error}"),
        hint: Some("its numbers are left out until its answers are valid".to_owned()),
    })?;
    Ok((checked, answer.len()))
}
