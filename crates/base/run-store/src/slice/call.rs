use serde::{Deserialize, Serialize};
use state_machine::CallError;
use stats::Compact;
use units::Bytes;

use super::InstanceId;

/// Calls of one instance and kind that finished in one slice: there is no disk, no direction and
/// no class of sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// Whose.
    pub instance: InstanceId,
    /// The kind, a position in the instance's list of kinds; it has one endpoint.
    pub kind: u16,
    /// Bytes of good answers.
    pub bytes: Bytes,
    /// Calls that failed, by position in `CallError::ALL`; they are not in the histograms.
    pub errors: [u64; CallError::ALL.len()],
    /// Made to answered.
    pub service: Compact,
    /// Intended start to answered.
    pub response: Compact,
}

impl CallRow {
    /// Calls that failed, for whatever reason.
    pub fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }

    /// Adds another row's, as if both had been one.
    pub fn merge(&mut self, more: &Self) {
        self.bytes = Bytes::new(self.bytes.get() + more.bytes.get());
        self.errors.iter_mut().zip(more.errors).for_each(|(own, more)| *own += more);
        self.service.merge(&more.service);
        self.response.merge(&more.response);
    }
}
