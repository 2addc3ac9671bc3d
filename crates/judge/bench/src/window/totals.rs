use run_store::slice::{ActionRow, CallRow, IoRow};
use stats::Compact;

/// Totals of an action of an instance over a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActionTotals {
    /// Number of actions with a failed I/O.
    pub errors: u64,
    /// Number of intended starts that were dropped.
    pub dropped: u64,
    /// Service time: from the first step to the last completion.
    pub service: Compact,
    /// Response time: from the intended start to the last completion.
    pub response: Compact,
}

impl ActionTotals {
    /// Adds a slice's row of the action.
    pub fn add(&mut self, row: &ActionRow) {
        self.errors += row.errors;
        self.dropped += row.dropped;
        self.service.merge(&row.service);
        self.response.merge(&row.response);
    }

    /// Adds the sums of another instance.
    pub fn merge(&mut self, more: &Self) {
        self.errors += more.errors;
        self.dropped += more.dropped;
        self.service.merge(&more.service);
        self.response.merge(&more.response);
    }

    /// Returns the number of successful actions.
    pub fn count(&self) -> u64 {
        self.response.count()
    }
}

/// Totals of a kind of I/O or call of an instance over a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindTotals {
    /// Bytes transferred by successful I/Os and calls.
    pub bytes: u64,
    /// Number of failed I/Os and calls.
    pub errors: u64,
    /// Service time: from submission to completion.
    pub service: Compact,
}

impl KindTotals {
    /// Adds a slice's row of I/Os.
    pub fn add(&mut self, row: &IoRow) {
        self.bytes += row.bytes.get();
        self.errors += row.errors;
        self.service.merge(&row.service);
    }

    /// Adds a slice's row of calls.
    pub fn add_calls(&mut self, row: &CallRow) {
        self.bytes += row.bytes.get();
        self.errors += row.failed();
        self.service.merge(&row.service);
    }

    /// Returns the number of successful I/Os and calls.
    pub fn count(&self) -> u64 {
        self.service.count()
    }
}
