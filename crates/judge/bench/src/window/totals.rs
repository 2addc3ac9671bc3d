use run_store::slice::{ActionRow, CallRow, IoRow};
use stats::Compact;

/// One action of one instance over a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActionTotals {
    /// Actions with a failed I/O.
    pub errors: u64,
    /// Intended starts that were given up.
    pub dropped: u64,
    /// First step to last answer.
    pub service: Compact,
    /// Intended start to last answer.
    pub response: Compact,
}

impl ActionTotals {
    /// Adds what finished in one slice.
    pub fn add(&mut self, row: &ActionRow) {
        self.errors += row.errors;
        self.dropped += row.dropped;
        self.service.merge(&row.service);
        self.response.merge(&row.response);
    }

    /// Adds another instance's, as if both had been one.
    pub fn merge(&mut self, more: &Self) {
        self.errors += more.errors;
        self.dropped += more.dropped;
        self.service.merge(&more.service);
        self.response.merge(&more.response);
    }

    /// How many finished well.
    pub fn count(&self) -> u64 {
        self.response.count()
    }
}

/// One kind of I/O or call of one instance over a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindTotals {
    /// Bytes moved by those that succeeded.
    pub bytes: u64,
    /// Those that failed.
    pub errors: u64,
    /// Submitted to done.
    pub service: Compact,
}

impl KindTotals {
    /// Adds what finished in one slice.
    pub fn add(&mut self, row: &IoRow) {
        self.bytes += row.bytes.get();
        self.errors += row.errors;
        self.service.merge(&row.service);
    }

    /// Adds calls that finished in one slice.
    pub fn add_calls(&mut self, row: &CallRow) {
        self.bytes += row.bytes.get();
        self.errors += row.failed();
        self.service.merge(&row.service);
    }

    /// How many succeeded.
    pub fn count(&self) -> u64 {
        self.service.count()
    }
}
