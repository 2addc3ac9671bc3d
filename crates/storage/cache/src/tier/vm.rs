use super::counters::Counters;
use super::scan::Scan;
use super::step::HostId;

/// Way in which writes are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WriteMode {
    /// A write is answered when tier and backing store have it; nothing is ever dirty.
    #[default]
    Through,
    /// A write is answered when the tier and all copies have it, and reaches the backing store
    /// later.
    Back,
    /// Writes go to the backing store and never bring a page in; resident pages are updated, as
    /// Open CAS does (bcache drops them instead).
    Around,
    /// Like `Back`, but reads never bring a page in.
    Only,
}

impl WriteMode {
    /// Returns true if writes are answered before the backing store has them.
    pub(super) const fn keeps_writes(self) -> bool {
        matches!(self, Self::Back | Self::Only)
    }
}

/// Accesses of a VM that may bring pages in; hits are served either way. FVP suspends population
/// around backups and virus scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Population {
    /// Reads and writes may.
    #[default]
    Both,
    /// Only writes bring pages in.
    WritesOnly,
    /// Only reads bring pages in.
    ReadsOnly,
    /// No access brings pages in.
    Suspended,
}

/// Settings of one VM in a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VmSettings {
    /// Host that the VM runs on.
    pub host: HostId,
    /// Way in which the VM's writes are answered.
    pub write_mode: WriteMode,
    /// Peers that have a copy of a write before it is answered, where writes are kept: 0 (a
    /// failing host loses what it has not destaged) to 2.
    pub copies: u8,
    /// Accesses of the VM that bring pages in.
    pub population: Population,
    /// The most of its host's share that its pages may take, 0 to 100 percent; beyond that a page
    /// that comes in takes the place of the VM's own oldest one, so that a noisy neighbour
    /// pollutes itself.
    pub share_max_percent: u8,
}

impl Default for VmSettings {
    /// On the first host, writing through, populating all of the share with everything.
    fn default() -> Self {
        Self {
            host: HostId(0),
            write_mode: WriteMode::Through,
            copies: 0,
            population: Population::Both,
            share_max_percent: 100,
        }
    }
}

impl VmSettings {
    /// Returns true if a read or a write may bring a page in.
    pub(super) const fn lets_in(&self, is_write: bool) -> bool {
        let is_open = match self.population {
            Population::Both => true,
            Population::WritesOnly => is_write,
            Population::ReadsOnly => !is_write,
            Population::Suspended => false,
        };
        let is_wanted = match self.write_mode {
            WriteMode::Through | WriteMode::Back => true,
            WriteMode::Around => !is_write,
            WriteMode::Only => is_write,
        };
        is_open && is_wanted
    }
}

/// State of one VM in a tier.
#[derive(Debug, Clone)]
pub(super) struct Vm {
    pub(super) settings: VmSettings,
    pub(super) scan: Scan,
    pub(super) counters: Counters,
    /// True if the backing store has answered a write that no flush has made durable yet.
    pub(super) owes_flush: bool,
}

impl Vm {
    pub(super) fn new(settings: VmSettings) -> Self {
        let (scan, counters) = (Scan::default(), Counters::default());
        Self { settings, scan, counters, owes_flush: false }
    }
}
