use super::vm::VmSettings;
use crate::policy::PolicyKind;

/// Rule for pages that may come in after a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Admission {
    /// Every missing page comes in.
    #[default]
    Always,
    /// Those asked for often enough, as FAST Cache and Open CAS `nhit` have it.
    ///
    /// Counts belong to pages of a host, and each page of a request is judged alone (Open CAS
    /// lets a request in only when all its pages passed, or when one is resident). Twice as many
    /// counts as the host's share has pages are remembered, first in, first out.
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
    /// Bytes of each host's share, by host, 1 to 1024 of them; 0 for a host without one, whose
    /// virtual machines may still read what others hold. What is left over below a page is not
    /// used.
    pub shares_bytes: Vec<u64>,
    /// Percent of each share kept apart for copies of other hosts' writes, 0 to 90. When this part
    /// is full, the host takes no further copies.
    pub log_percent: u8,
    /// Bytes of a page, a power of two from 4 KiB to 1 MiB.
    pub page_bytes: u32,
    /// Replacement policy of a share.
    pub policy: PolicyKind,
    /// Admission of missing pages.
    pub admission: Admission,
    /// A VM's run of adjacent accesses brings nothing in beyond this many bytes; `None` for no
    /// cut-off (Open CAS: 1 MiB, bcache: 4 MiB).
    pub sequential_bytes: Option<u64>,
    /// Clean-up starts when more than this percentage of a share's pages is dirty, 0 to 100.
    pub dirty_high_percent: u8,
    /// Clean-up ends when no more than this percentage is dirty, at most the high mark.
    pub dirty_low_percent: u8,
    /// Settings of VMs without settings of their own.
    pub vms: VmSettings,
}

impl Config {
    /// The tier of one host: through, LRU, everything comes in, no cut-off, clean-up from 50 to
    /// 45 percent (dm-writecache's watermarks).
    pub fn new(capacity_bytes: u64, page_bytes: u32) -> Self {
        Self {
            shares_bytes: vec![capacity_bytes],
            log_percent: 0,
            page_bytes,
            policy: PolicyKind::Lru,
            admission: Admission::Always,
            sequential_bytes: None,
            dirty_high_percent: 50,
            dirty_low_percent: 45,
            vms: VmSettings::default(),
        }
    }

    /// Configuration over hosts with shares of these sizes, a sixteenth of each (6 %) for copies.
    /// Copies live only until their page is destaged, "often within milliseconds", so they need
    /// little room.
    pub fn of_hosts(shares_bytes: Vec<u64>, page_bytes: u32) -> Self {
        Self { shares_bytes, log_percent: 6, ..Self::new(0, page_bytes) }
    }

    /// Bytes of all shares.
    pub fn capacity_bytes(&self) -> u64 {
        self.shares_bytes.iter().sum()
    }

    /// Pages of a share for the cache and for copies.
    pub(super) fn pages(&self, host: usize) -> (usize, usize) {
        let all = self.shares_bytes[host] / u64::from(self.page_bytes);
        let log = all * u64::from(self.log_percent) / 100;
        let pages = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        (pages(all - log), pages(log))
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let page_bytes = self.page_bytes;
        if !page_bytes.is_power_of_two() || !(4096..=1 << 20).contains(&page_bytes) {
            return Err(ConfigError::PageSize { bytes: page_bytes });
        }
        let (low, high) = (self.dirty_low_percent, self.dirty_high_percent);
        if high > 100 || low > high {
            return Err(ConfigError::Watermarks { low, high });
        }
        if let Admission::NthAccess { accesses, fill_percent } = self.admission
            && (accesses == 0 || fill_percent > 100)
        {
            return Err(ConfigError::Admission { accesses, fill_percent });
        }
        if self.log_percent > 90 {
            return Err(ConfigError::Log { percent: self.log_percent });
        }
        self.check_shares()?;
        self.check_vm(&self.vms)
    }

    fn check_shares(&self) -> Result<(), ConfigError> {
        let hosts = self.shares_bytes.len();
        if !(1..=1024).contains(&hosts) {
            return Err(ConfigError::Hosts { hosts });
        }
        let page_bytes = self.page_bytes;
        for (host, bytes) in self.shares_bytes.iter().copied().enumerate() {
            let is_valid = (1..=1 << 28).contains(&self.pages(host).0);
            match hosts {
                _ if is_valid => {}
                1 => return Err(ConfigError::Capacity { bytes, page_bytes }),
                _ if bytes > 0 => return Err(ConfigError::Share { host, bytes }),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn check_vm(&self, settings: &VmSettings) -> Result<(), ConfigError> {
        let (host, hosts) = (settings.host.0, self.shares_bytes.len());
        if usize::from(host) >= hosts {
            return Err(ConfigError::NoHost { host, hosts });
        }
        match settings.copies {
            0..=2 => Ok(()),
            copies => Err(ConfigError::Copies { copies }),
        }
    }
}

/// Why a tier cannot be as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such page size.
    #[error("page size {bytes} B is not a power of two from 4 KiB to 1 MiB")]
    PageSize {
        /// Page size that was asked for, in bytes.
        bytes: u32,
    },
    /// No page fits, or too many.
    #[error("a tier of {bytes} B holds no page of {page_bytes} B, or more than 2^28")]
    Capacity {
        /// Size of the tier in bytes.
        bytes: u64,
        /// Size of a page in bytes.
        page_bytes: u32,
    },
    /// The share of one host holds no page, or too many.
    #[error("the share of host {host}, {bytes} B, holds no page or more than 2^28")]
    Share {
        /// Whose, counted from 0.
        host: usize,
        /// Size of the share in bytes.
        bytes: u64,
    },
    /// None, or too many.
    #[error("a cluster of {hosts} hosts is outside 1 to 1024")]
    Hosts {
        /// Number of hosts.
        hosts: usize,
    },
    /// Too much for copies.
    #[error("{percent} % of a share for copies are more than 90 %")]
    Log {
        /// Percent that was asked for.
        percent: u8,
    },
    /// Marks out of order.
    #[error("dirty watermarks {low} % and {high} % are not in order within 0 to 100 %")]
    Watermarks {
        /// Low mark, in percent.
        low: u8,
        /// High mark, in percent.
        high: u8,
    },
    /// Counts or occupancy out of range.
    #[error(
        "admission on access {accesses} below {fill_percent} % is outside 1..=255 and 0..=100 %"
    )]
    Admission {
        /// Number of accesses that was asked for.
        accesses: u8,
        /// Occupancy asked for, percent.
        fill_percent: u8,
    },
    /// A host that has no place in the tier.
    #[error("host {host} is not one of {hosts}, counted from 0")]
    NoHost {
        /// Number of the host.
        host: u16,
        /// Number of hosts.
        hosts: usize,
    },
    /// More copies than are supported.
    #[error("{copies} copies are more than 2")]
    Copies {
        /// Number of copies that was asked for.
        copies: u8,
    },
}
