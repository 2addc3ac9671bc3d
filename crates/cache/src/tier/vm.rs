use super::counters::Counters;
use super::scan::Scan;
use crate::list::List;

/// Whether a VM's accesses may bring pages in; hits are served either way. FVP suspends it
/// around backups and virus scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Population {
    /// Reads and writes may.
    #[default]
    Both,
    /// Only writes may.
    WritesOnly,
    /// Only reads may.
    ReadsOnly,
    /// Nothing may.
    Suspended,
}

/// What one VM may do in the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VmLimits {
    /// Which accesses bring pages in.
    pub population: Population,
    /// The most of the tier its pages may take, 0 to 100 percent; beyond that a page that comes in
    /// takes the place of the VM's own oldest one, so that a noisy neighbour pollutes itself.
    pub share_max_percent: u8,
}

impl Default for VmLimits {
    fn default() -> Self {
        Self { population: Population::Both, share_max_percent: 100 }
    }
}

/// What the tier knows of one VM.
#[derive(Debug, Clone, Default)]
pub(super) struct Vm {
    pub(super) limits: VmLimits,
    pub(super) scan: Scan,
    pub(super) pages: List,
    pub(super) counters: Counters,
    /// Whether the backing store has answered a write that no flush has made durable yet.
    pub(super) owes_flush: bool,
}
