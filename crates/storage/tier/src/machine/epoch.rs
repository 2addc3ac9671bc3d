use units::Nanos;

use super::overlay::{Layer, Source};

/// A write that is in the log.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) order: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    /// First block of its payload; `None` for zeros.
    pub(crate) at: Option<u64>,
    pub(crate) unmap: bool,
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
    /// Its layer in the block that is the `place`th it touches.
    pub(crate) fn layer(&self, place: usize, from: u8, to: u8) -> Layer {
        let source = match self.at {
            Some(at) => Source::Flash { at: at + 4096 * place as u64 },
            None => Source::Zero { unmap: self.unmap },
        };
        let sum = self.sums.get(place).copied().unwrap_or(0);
        Layer { order: self.order, from, to, source, sum }
    }
}
