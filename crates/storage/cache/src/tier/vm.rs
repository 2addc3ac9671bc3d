use super::counters::Counters;
use super::scan::Scan;
use super::step::HostId;

/// Mode in which writes are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WriteMode {
    /// A write is answered when tier and backing store have it. No page is ever dirty.
    #[default]
    Through,
    /// A write is answered when the tier and all copies have it, and reaches the backing store
    /// later.
    Back,
    /// Writes go to the backing store and never admit a page. Resident pages are updated, as in
    /// Open CAS (bcache drops them instead).
    Around,
    /// Like `Back`, but reads never admit a page.
    Only,
}

impl WriteMode {
    /// Returns true if writes are answered before the backing store has them.
    pub(super) const fn keeps_writes(self) -> bool {
        matches!(self, Self::Back | Self::Only)
    }
}

/// Accesses of a VM that may admit pages. Hits are served in any case. FVP suspends population
/// around backups and virus scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Population {
    /// Reads and writes admit pages.
    #[default]
    Both,
    /// Only writes admit pages.
    WritesOnly,
    /// Only reads admit pages.
    ReadsOnly,
    /// No access admits pages.
    Suspended,
}

/// Settings of one VM in a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VmSettings {
    /// Host on which the VM runs.
    pub host: HostId,
    /// Mode in which the VM's writes are answered.
    pub write_mode: WriteMode,
    /// Number of peers that must have a copy of a write before it is answered, in a write-back
    /// mode: 0 (a failing host loses data that it has not destaged) to 2.
    pub copies: u8,
    /// Accesses of the VM that admit pages.
    pub population: Population,
    /// Maximum percentage of its host's share that the VM's pages may take, 0 to 100. At the limit
    /// a new page replaces the VM's own oldest page, so that a noisy neighbour evicts only its own
    /// pages.
    pub share_max_percent: u8,
}

impl Default for VmSettings {
    /// Returns the settings for a VM on the first host that writes through and may populate the
    /// whole share.
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
    /// Returns true if a read or a write may admit a page.
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
    /// True if the backing store has completed a write that no flush has made durable yet.
    pub(super) owes_flush: bool,
}

impl Vm {
    pub(super) fn new(settings: VmSettings) -> Self {
        let (scan, counters) = (Scan::default(), Counters::default());
        Self { settings, scan, counters, owes_flush: false }
    }
}
