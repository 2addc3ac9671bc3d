use serde::{Deserialize, Serialize};
use state_machine::CallError;
use stats::Compact;
use units::Bytes;

use super::InstanceId;

/// Calls of one instance and kind that completed in one slice. Calls have no disk, direction or
/// size class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// Instance of the workload.
    pub instance: InstanceId,
    /// Index of the kind in the instance's list; a kind has one endpoint.
    pub kind: u16,
    /// Bytes of successful answers.
    pub bytes: Bytes,
    /// Number of failed calls, by index in `CallError::ALL`; they are not in the histograms.
    pub errors: [u64; CallError::ALL.len()],
    /// Service time: from the call to its answer.
    pub service: Compact,
    /// Response time: from the intended start to the answer.
    pub response: Compact,
}

impl CallRow {
    /// Returns the number of failed calls, for all reasons together.
    pub fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }

    /// Adds the counts and histograms of another row.
    pub fn merge(&mut self, more: &Self) {
        self.bytes = Bytes::new(self.bytes.get() + more.bytes.get());
        self.errors.iter_mut().zip(more.errors).for_each(|(own, more)| *own += more);
        self.service.merge(&more.service);
        self.response.merge(&more.response);
    }
}
