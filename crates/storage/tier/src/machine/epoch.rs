use units::Nanos;

use super::overlay::{Layer, Source, layers};

/// A write that is in the log.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) order: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    /// Where its payload begins in the log, or zeros.
    pub(crate) source: Source,
    pub(crate) sums: Box<[u32]>,
}

/// Writes between two flushes: they may go to the backing store in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Epoch {
    pub(crate) number: u64,
    /// Its last group so far.
    pub(crate) last_seq: u64,
    pub(crate) writes: Vec<Logged>,
    /// When its first write came; that of a recovered one came before the set was opened.
    pub(crate) since: Nanos,
    pub(crate) is_closed: bool,
}

impl Logged {
    /// Its layer in each block that it touches.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (u64, Layer)> {
        layers(self.order, (self.offset, self.bytes), self.source, &self.sums)
    }
}
