use cache::tier::Counters;
use hardware::SsdBufferContent;

use super::read_memory::Pages;
use super::tier_part::TierContent;
use super::touched::Touched;

/// Content of tiers, read memories and the hosts' write buffers. It can be restored into plants
/// with the same tiers and virtual disks, whatever their backing disks are. Threads may share it.
#[derive(Debug, Clone)]
pub struct TierState {
    /// First address and size of each virtual disk.
    pub(super) disks: Vec<(u64, u64)>,
    pub(super) tiers: Vec<TierContent>,
    pub(super) memories: Vec<Pages>,
    /// Content of the hosts' own write buffers.
    pub(super) buffers: Vec<SsdBufferContent>,
    pub(super) touched: Touched,
    pub(super) touched_bytes: Vec<u64>,
}

impl TierState {
    /// Returns the counters of all tiers together, without memory.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.tiers.iter().for_each(|tier| sum.add(&tier.get().counters()));
        sum
    }

    /// Returns the number of dirty bytes, which are stored only in tiers.
    pub fn dirty_bytes(&self) -> u64 {
        self.tiers.iter().map(|tier| tier.get().dirty_bytes()).sum()
    }
}

/// Error that a state does not fit a plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the state belongs to other {what}")]
pub struct OtherTiers {
    /// Part of the state that differs.
    pub what: &'static str,
}
