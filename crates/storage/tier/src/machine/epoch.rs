use units::Nanos;

use super::overlay::{Layer, Source, layers};

/// Write that is in the log.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) order: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    /// Location of the payload in the log, or zeros.
    pub(crate) source: Source,
    pub(crate) sums: Box<[u32]>,
}

/// Epoch: writes between two flushes. They may go to the backing store in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Epoch {
    pub(crate) number: u64,
    /// Last group of the epoch so far.
    pub(crate) last_seq: u64,
    pub(crate) writes: Vec<Logged>,
    /// Time of the first write; zero for a recovered epoch, whose writes came before the set was
    /// opened.
    pub(crate) since: Nanos,
    pub(crate) is_closed: bool,
}

impl Logged {
    /// Iterates over the blocks that the write touches, with the write's layer in each block.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (u64, Layer)> {
        layers(self.order, (self.offset, self.bytes), self.source, &self.sums)
    }
}
