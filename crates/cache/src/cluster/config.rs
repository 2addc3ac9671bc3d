use super::step::HostId;
use crate::policy::PolicyKind;
use crate::tier::Population;

/// A cluster's fixed properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Bytes of each host's share, by host; 0 for a host without one, whose virtual machines
    /// may still read what others hold. What is left over below a page is not used.
    pub shares_bytes: Vec<u64>,
    /// Of each share, percent kept apart for copies of other hosts' writes, 0 to 90. When it is
    /// full the host takes no further copies.
    pub log_percent: u8,
    /// Bytes of a page, a power of two from 4 KiB to 1 MiB.
    pub page_bytes: u32,
    /// Which page leaves a share.
    pub policy: PolicyKind,
    /// A virtual machine's run of adjacent accesses brings nothing in beyond this many bytes;
    /// `None` (default) for no cut-off.
    pub sequential_bytes: Option<u64>,
}

impl ClusterConfig {
    /// Shares of these sizes with LRU, pages of 4 KiB, a sixteenth (6 %) for copies. Copies live
    /// only until their page is destaged, "often within milliseconds", so they need little room.
    pub fn new(shares_bytes: Vec<u64>) -> Self {
        let (log_percent, page_bytes, policy) = (6, 4096, PolicyKind::Lru);
        Self { shares_bytes, log_percent, page_bytes, policy, sequential_bytes: None }
    }

    /// Pages of a share for the cache and for copies.
    pub(super) fn pages(&self, host: usize) -> (usize, usize) {
        let all = self.shares_bytes[host] / u64::from(self.page_bytes);
        let log = all * u64::from(self.log_percent) / 100;
        let pages = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        (pages(all - log), pages(log))
    }

    pub(super) fn check(&self) -> Result<(), ClusterError> {
        let bytes = self.page_bytes;
        if !bytes.is_power_of_two() || !(4096..=1 << 20).contains(&bytes) {
            return Err(ClusterError::PageSize { bytes });
        }
        if self.log_percent > 90 {
            return Err(ClusterError::Log { percent: self.log_percent });
        }
        let hosts = self.shares_bytes.len();
        if !(1..=1024).contains(&hosts) {
            return Err(ClusterError::Hosts { hosts });
        }
        for (host, bytes) in self.shares_bytes.iter().copied().enumerate() {
            let (pages, _) = self.pages(host);
            if bytes > 0 && !(1..=1 << 28).contains(&pages) {
                return Err(ClusterError::Share { host, bytes });
            }
        }
        Ok(())
    }
}

/// What happens to a virtual machine's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClusterWrites {
    /// A write is answered when the store has it.
    #[default]
    Through,
    /// A write is answered when the host's share has it and as many peers a copy.
    Back {
        /// 0 (a failing host loses what it has not destaged) to 2.
        replicas: u8,
    },
}

/// What the cluster knows of a virtual machine from its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClusterVm {
    /// Where it runs.
    pub host: HostId,
    /// What happens to its writes.
    pub writes: ClusterWrites,
    /// Which of its accesses bring pages in.
    pub population: Population,
}

impl Default for ClusterVm {
    /// On the first host, writing through, populating with everything.
    fn default() -> Self {
        let (writes, population) = (ClusterWrites::Through, Population::Both);
        Self { host: HostId(0), writes, population }
    }
}

/// Why a cluster cannot be as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// No such page size.
    #[error("page size {bytes} B is not a power of two from 4 KiB to 1 MiB")]
    PageSize {
        /// What was asked for.
        bytes: u32,
    },
    /// Too much for copies.
    #[error("{percent} % of a share for copies are more than 90 %")]
    Log {
        /// What was asked for.
        percent: u8,
    },
    /// None, or too many.
    #[error("a cluster of {hosts} hosts is outside 1 to 1024")]
    Hosts {
        /// How many.
        hosts: usize,
    },
    /// No page fits, or too many.
    #[error("the share of host {host}, {bytes} B, holds no page or more than 2^28")]
    Share {
        /// Whose, counted from 0.
        host: usize,
        /// The share.
        bytes: u64,
    },
    /// A host that is not in the cluster.
    #[error("host {host} is not one of {hosts}, counted from 0")]
    NoHost {
        /// Which.
        host: u16,
        /// How many there are.
        hosts: usize,
    },
    /// More copies than are supported.
    #[error("{replicas} copies are more than 2")]
    Replicas {
        /// What was asked for.
        replicas: u8,
    },
}
