//! Number and capacity of an array's disks, and what its parts allow.

use units::Bytes;

use super::names::{HDDS, SSDS};
use super::{Array, Disk, Local, Pool, Raid};

impl Array {
    /// Returns the usable size of a disk, given by name; `None` if there is no such disk.
    pub fn disk_capacity(&self, name: &str) -> Option<Bytes> {
        match self.disks.get(name) {
            Some(Disk::Hdd { like, capacity, .. } | Disk::Ssd { like, capacity, .. }) => {
                capacity.or_else(|| shipped(like))
            }
            Some(Disk::Servers { capacity, .. } | Disk::Table { capacity, .. }) => Some(*capacity),
            None => shipped(name),
        }
    }

    /// Returns the capacity for data with this many tiles, after protection, of all pools or of the
    /// hosts' disks. At most 2^64 - 1 bytes. Parts with an unknown disk count as 0.
    pub fn capacity(&self, tiles: u32) -> Bytes {
        let pools = self.pools.iter().map(|pool| {
            self.pool_capacity(pool).map_or(Bytes::ZERO, |one| times(one, pool.times(tiles)))
        });
        pools
            .chain(self.local_capacity())
            .fold(Bytes::ZERO, |sum, more| Bytes::new(sum.get().saturating_add(more.get())))
    }

    /// Returns the number of disks that hold data with this many tiles. Tiers and caches are not
    /// counted.
    pub fn data_disks(&self, tiles: u32) -> u64 {
        let pools = self.pools.iter().map(|pool| pool.disks().saturating_mul(pool.times(tiles)));
        let hosts = self.hosts.as_ref().map_or(0, |hosts| u64::from(hosts.count));
        let local = self.local.iter().map(|local| local.disks().saturating_mul(hosts));
        pools.chain(local).fold(0, u64::saturating_add)
    }

    /// Returns true if the hosts' load is balanced by moves of virtual machines.
    pub fn is_balanced(&self) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.drs.is_some())
    }

    /// Returns the capacity of a pool for data; if every tile has its own pool, of one of them.
    /// `None` if its disk is unknown.
    pub fn pool_capacity(&self, pool: &Pool) -> Option<Bytes> {
        let disks = u64::from(pool.raid.data_disks(pool.count)) * u64::from(pool.sets);
        self.disk_capacity(&pool.disk).map(|disk| times(disk, disks))
    }

    /// Returns the capacity of the hosts' disks for data; `None` if there are none, or if something
    /// is unknown.
    pub fn local_capacity(&self) -> Option<Bytes> {
        let (local, hosts) = (self.local.as_ref()?, self.hosts.as_ref()?);
        let disks = local.disks().saturating_mul(u64::from(hosts.count));
        let all = times(self.disk_capacity(&local.disk)?, disks);
        all.get().checked_div(u64::from(local.copies)).map(Bytes::new)
    }
}

impl Raid {
    /// Returns the number of disks' worth of data in a RAID set of `count` disks.
    pub const fn data_disks(self, count: u32) -> u32 {
        match self {
            Self::Raid0 => count,
            Self::Raid1 => {
                if count == 0 {
                    0
                } else {
                    1
                }
            }
            Self::Raid10 => count / 2,
            Self::Raid5 => count.saturating_sub(1),
            Self::Raid6 => count.saturating_sub(2),
        }
    }
}

impl Pool {
    /// Returns the number of disks of the pool; if each tile has its own pool, of one of them.
    fn disks(&self) -> u64 {
        u64::from(self.count) * u64::from(self.sets)
    }

    /// Returns the number of pools of this kind.
    fn times(&self, tiles: u32) -> u64 {
        if self.per_tile { u64::from(tiles) } else { 1 }
    }
}

impl Local {
    /// Returns the number of capacity disks per host.
    fn disks(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.count)
    }
}

/// Returns the usable size of a shipped disk.
pub(crate) fn shipped(name: &str) -> Option<Bytes> {
    HDDS.iter().chain(&SSDS).find(|disk| disk.name == name).map(|disk| disk.capacity)
}

/// Returns the product `bytes * by`, at most 2^64 - 1 bytes.
pub(crate) fn times(bytes: Bytes, by: u64) -> Bytes {
    Bytes::new(bytes.get().saturating_mul(by))
}
