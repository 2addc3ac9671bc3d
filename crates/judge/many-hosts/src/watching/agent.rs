use std::time::{SystemTime, UNIX_EPOCH};

use crate::allowed::Allowed;
use crate::refusal::AgentError;

/// Answers a question about the watch store that the host's owner lets others read.
pub(crate) fn answered(allowed: &Allowed, question: &[u8]) -> Result<Vec<u8>, AgentError> {
    let directory = allowed.watched()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now.map_or(0, |now| now.as_secs());
    watch::answer(&directory, question, now_s).map_err(|error| {
        let hint = error.hint();
        AgentError::hinted(error, hint)
    })
}
