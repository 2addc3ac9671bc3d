use crate::policy::PolicyKind;

/// What happens to writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WriteMode {
    /// A write is answered when tier and backing store have it; nothing is ever dirty.
    #[default]
    Through,
    /// A write is answered when the tier has it and reaches the backing store later.
    Back,
    /// Writes go to the backing store and never bring a page in; resident pages are updated, as
    /// Open CAS does (bcache drops them instead).
    Around,
    /// Like `Back`, but reads never bring a page in.
    Only,
}

/// Which missing pages may come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Admission {
    /// All.
    #[default]
    Always,
    /// Those asked for often enough, as FAST Cache and Open CAS `nhit` have it.
    ///
    /// Counts belong to pages, and each page of a request is judged alone (Open CAS lets a request
    /// in only when all its pages passed, or when one is resident). Twice as many counts as the
    /// tier has pages are remembered, first in, first out.
    NthAccess {
        /// The access that brings a page in, 1 (the first) to 255.
        accesses: u8,
        /// Below this occupancy every page comes in at once, 0 (never) to 100 percent.
        fill_percent: u8,
    },
}

/// A tier's fixed properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Room for pages, in bytes; what is left over below a page is not used.
    pub capacity_bytes: u64,
    /// Bytes of a page, a power of two from 4 KiB to 1 MiB.
    pub page_bytes: u32,
    /// Which page leaves.
    pub policy: PolicyKind,
    /// What happens to writes.
    pub write_mode: WriteMode,
    /// Which pages come in.
    pub admission: Admission,
    /// A VM's run of adjacent accesses brings nothing in beyond this many bytes; `None` for no
    /// cut-off (Open CAS: 1 MiB, bcache: 4 MiB).
    pub sequential_bytes: Option<u64>,
    /// Clean-up starts when more than this percentage of the pages is dirty, 0 to 100.
    pub dirty_high_percent: u8,
    /// Clean-up ends when no more than this percentage is dirty, at most the high mark.
    pub dirty_low_percent: u8,
}

impl Config {
    /// Through, LRU, everything comes in, no cut-off, clean-up from 50 to 45 percent
    /// (dm-writecache's watermarks).
    pub fn new(capacity_bytes: u64, page_bytes: u32) -> Self {
        Self {
            capacity_bytes,
            page_bytes,
            policy: PolicyKind::Lru,
            write_mode: WriteMode::Through,
            admission: Admission::Always,
            sequential_bytes: None,
            dirty_high_percent: 50,
            dirty_low_percent: 45,
        }
    }

    /// Pages that fit.
    pub(super) fn pages(&self) -> Result<usize, ConfigError> {
        let page = self.page_bytes;
        if !page.is_power_of_two() || !(4096..=1 << 20).contains(&page) {
            return Err(ConfigError::PageSize { bytes: page });
        }
        if self.dirty_high_percent > 100 || self.dirty_low_percent > self.dirty_high_percent {
            return Err(ConfigError::Watermarks {
                low: self.dirty_low_percent,
                high: self.dirty_high_percent,
            });
        }
        if let Admission::NthAccess { accesses, fill_percent } = self.admission
            && (accesses == 0 || fill_percent > 100)
        {
            return Err(ConfigError::Admission { accesses, fill_percent });
        }
        let pages = self.capacity_bytes / u64::from(page);
        let capacity = ConfigError::Capacity { bytes: self.capacity_bytes, page_bytes: page };
        match usize::try_from(pages) {
            Ok(pages) if (1..=1 << 28).contains(&pages) => Ok(pages),
            _ => Err(capacity),
        }
    }
}

/// Why a tier cannot be as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such page size.
    #[error("page size {bytes} B is not a power of two from 4 KiB to 1 MiB")]
    PageSize {
        /// What was asked for.
        bytes: u32,
    },
    /// No page fits, or too many.
    #[error("a tier of {bytes} B holds no page of {page_bytes} B, or more than 2^28")]
    Capacity {
        /// The tier.
        bytes: u64,
        /// The page.
        page_bytes: u32,
    },
    /// Marks out of order.
    #[error("dirty watermarks {low} % and {high} % are not in order within 0 to 100 %")]
    Watermarks {
        /// Where clean-up ends.
        low: u8,
        /// Where it starts.
        high: u8,
    },
    /// Counts or occupancy out of range.
    #[error(
        "admission on access {accesses} below {fill_percent} % is outside 1..=255 and 0..=100 %"
    )]
    Admission {
        /// Accesses asked for.
        accesses: u8,
        /// Occupancy asked for, percent.
        fill_percent: u8,
    },
}
