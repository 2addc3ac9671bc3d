use super::vm::VmSettings;
use crate::policy::PolicyKind;

/// Rule that decides which pages are admitted after a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Admission {
    /// Every missing page is admitted.
    #[default]
    Always,
    /// Pages that were accessed often enough, as in FAST Cache and Open CAS `nhit`.
    ///
    /// Each host counts its own accesses, and each page of a request is judged alone (Open CAS
    /// admits a request only when all its pages passed, or when one is resident). The counts cover
    /// twice as many pages as the host's share has, first in, first out.
    NthAccess {
        /// Number of the access at which a page is admitted, 1 (the first) to 255.
        accesses: u8,
        /// Occupancy in percent below which every page is admitted at once, 0 (never) to 100.
        fill_percent: u8,
    },
}

/// Fixed properties of a tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Size of each host's share in bytes, for 1 to 1024 hosts. 0 for a host without a share; its
    /// VMs may still read from other hosts' shares. A remainder smaller than a page is not used.
    pub shares_bytes: Vec<u64>,
    /// Fault domain of each host. Copies of a write are in other domains than the writer, and in
    /// different ones. Empty if each host is a domain of its own.
    pub domains: Vec<u16>,
    /// Percent of each share that is reserved for copies of other hosts' writes, 0 to 90. When this
    /// part is full, the host accepts no further copies.
    pub log_percent: u8,
    /// Page size in bytes, a power of two from 4 KiB to 1 MiB.
    pub page_bytes: u32,
    /// Replacement policy of a share.
    pub policy: PolicyKind,
    /// Rule that decides if a page is cached after a miss.
    pub admission: Admission,
    /// Maximum length in bytes of a VM's run of adjacent accesses that admits pages. Beyond it the
    /// run admits none. `None` for no limit (Open CAS: 1 MiB, bcache: 4 MiB).
    pub sequential_bytes: Option<u64>,
    /// Percentage of dirty pages in a share above which clean-up starts, 0 to 100.
    pub dirty_high_percent: u8,
    /// Percentage of dirty pages in a share at which clean-up ends; at most the high mark.
    pub dirty_low_percent: u8,
    /// Settings of VMs without settings of their own.
    pub vms: VmSettings,
}

impl Config {
    /// Returns the configuration of one host's tier: write-through, LRU, everything is admitted, no
    /// limit on runs, clean-up from 50 to 45 percent (dm-writecache's watermarks).
    pub fn new(capacity_bytes: u64, page_bytes: u32) -> Self {
        Self {
            shares_bytes: vec![capacity_bytes],
            domains: Vec::new(),
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

    /// Returns a configuration over hosts with shares of these sizes, a sixteenth of each (6 %) for
    /// copies. Copies live only until their page is destaged, "often within milliseconds", so they
    /// need little room.
    pub fn of_hosts(shares_bytes: Vec<u64>, page_bytes: u32) -> Self {
        Self { shares_bytes, log_percent: 6, ..Self::new(0, page_bytes) }
    }

    /// Returns the size of all shares, in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.shares_bytes.iter().sum()
    }

    /// Returns the number of pages of a share for the cache, and for copies.
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
        let domains = self.domains.len();
        if domains != 0 && domains != hosts {
            return Err(ConfigError::Domains { domains, hosts });
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

/// Reason why a configuration of a tier is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The page size is not a power of two from 4 KiB to 1 MiB.
    #[error("page size {bytes} B is not a power of two from 4 KiB to 1 MiB")]
    PageSize {
        /// Requested page size in bytes.
        bytes: u32,
    },
    /// The tier of one host holds no page, or too many.
    #[error("a tier of {bytes} B holds no page of {page_bytes} B, or more than 2^28 pages")]
    Capacity {
        /// Size of the tier in bytes.
        bytes: u64,
        /// Size of a page in bytes.
        page_bytes: u32,
    },
    /// The share of one host holds no page, or too many.
    #[error("the share of host {host}, {bytes} B, holds no page or more than 2^28 pages")]
    Share {
        /// Index of the host, counted from 0.
        host: usize,
        /// Size of the share in bytes.
        bytes: u64,
    },
    /// There are no hosts, or too many.
    #[error("a cluster of {hosts} hosts is outside 1 to 1024")]
    Hosts {
        /// Number of hosts.
        hosts: usize,
    },
    /// Not every host has a fault domain.
    #[error("{domains} fault domains for {hosts} hosts")]
    Domains {
        /// Number of fault domains in the list.
        domains: usize,
        /// Number of hosts.
        hosts: usize,
    },
    /// The percentage for copies is too large.
    #[error("{percent} % of a share for copies exceed the maximum of 90 %")]
    Log {
        /// Requested percentage.
        percent: u8,
    },
    /// The low mark is above the high mark, or the high mark above 100 %.
    #[error("dirty watermarks {low} % and {high} % are not in order within 0 to 100 %")]
    Watermarks {
        /// Low mark, in percent.
        low: u8,
        /// High mark, in percent.
        high: u8,
    },
    /// The number of accesses or the occupancy is out of range.
    #[error(
        "admission on access {accesses} below {fill_percent} % is outside 1..=255 and 0..=100 %"
    )]
    Admission {
        /// Requested number of accesses.
        accesses: u8,
        /// Requested occupancy, in percent.
        fill_percent: u8,
    },
    /// A VM runs on a host that is not part of the tier.
    #[error("host {host} is not one of {hosts}, counted from 0")]
    NoHost {
        /// Number of the host.
        host: u16,
        /// Number of hosts.
        hosts: usize,
    },
    /// More copies than are supported.
    #[error("{copies} copies exceed the maximum of 2")]
    Copies {
        /// Requested number of copies.
        copies: u8,
    },
}
