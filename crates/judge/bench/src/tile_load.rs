//! What one tile of a plan needs: room on each datastore, machines and users.

use units::Bytes;

use crate::error::BenchError;
use crate::fleet::{Fleet, StepOrder, fleet, standing_users};
use crate::plan::ResolvedPlan;

/// One tile's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileLoad {
    /// Bytes of its disks.
    pub bytes: Bytes,
    /// Bytes of the disks of infrastructure operations, which are there once.
    pub beside: Bytes,
    /// Of `bytes`, those on the second datastore.
    pub second: Bytes,
    /// Of `beside`, those on the second datastore.
    pub second_beside: Bytes,
    /// Its virtual machines.
    pub vms: u32,
    /// Its workloads, copies counted each.
    pub workloads: u32,
    /// Its users that are there all the time.
    pub users: u64,
}

impl TileLoad {
    /// What one tile of a plan needs.
    pub fn of(plan: &ResolvedPlan) -> Result<Self, BenchError> {
        let users = users_of_tile(plan);
        let tiles = plan.climb.range().map_or(1, |(first, _)| first);
        let all = users.saturating_mul(u64::from(tiles));
        if all > USERS_MAX {
            return Err(BenchError::TooManyUsers { tiles, users: all, max: USERS_MAX });
        }
        let mut order = StepOrder::whole(plan, 1, 0);
        let (all, all_second) = bytes_of(&fleet(plan, order.clone())?);
        order.members.retain(|member| member.tile.is_some());
        let fleet = fleet(plan, order)?;
        let (bytes, second) = bytes_of(&fleet);
        Ok(Self {
            bytes,
            beside: all.saturating_sub(bytes),
            second,
            second_beside: all_second.saturating_sub(second),
            vms: fleet.vms(),
            workloads: u32::try_from(fleet.instances.len()).unwrap_or(u32::MAX),
            users,
        })
    }

    /// Bytes of all disks of so many tiles.
    pub fn needed(&self, tiles: u32) -> Bytes {
        self.bytes * u64::from(tiles) + self.beside
    }

    /// Those of them on the second datastore.
    pub fn needed_second(&self, tiles: u32) -> Bytes {
        self.second * u64::from(tiles) + self.second_beside
    }

    /// Those of them on the first.
    pub fn needed_first(&self, tiles: u32) -> Bytes {
        self.needed(tiles).saturating_sub(self.needed_second(tiles))
    }

    /// The most tiles whose disks fit where so much may be used, on the second datastore too if
    /// there is one.
    pub fn fits(&self, first: Bytes, second: Option<Bytes>) -> u32 {
        let most = |capacity: Bytes, beside, per_tile: Bytes| {
            let fits = capacity.saturating_sub(beside).get().checked_div(per_tile.get());
            fits.map_or(u32::MAX, |fits| u32::try_from(fits).unwrap_or(u32::MAX))
        };
        let Some(second) = second else { return most(first, self.beside, self.bytes) };
        let beside = self.beside.saturating_sub(self.second_beside);
        most(first, beside, self.bytes.saturating_sub(self.second)).min(most(
            second,
            self.second_beside,
            self.second,
        ))
    }

    /// The most tiles that a run may try: as many as were asked for, as their disks fit, and as
    /// their users are kept in memory.
    pub fn tiles_max(&self, asked: Option<u32>, fits: u32) -> u32 {
        asked.unwrap_or(fits).min(fits).min(self.kept_in_memory())
    }

    /// The most tiles whose users are kept in memory.
    pub fn kept_in_memory(&self) -> u32 {
        u32::try_from(USERS_MAX / self.users.max(1)).unwrap_or(u32::MAX)
    }
}

/// Bytes of all disks, and of those on the second datastore.
fn bytes_of(fleet: &Fleet) -> (Bytes, Bytes) {
    let second = fleet.disks().filter(|disk| !disk.on.is_first());
    (fleet.disks().map(|disk| disk.size).sum(), second.map(|disk| disk.size).sum())
}

/// Most users of a step. 4 million take 1.0 GiB of the generator's memory (a million closed-loop
/// users of one disk: 0.23 GiB measured); our choice.
pub(crate) const USERS_MAX: u64 = 1 << 22;

fn users_of_tile(plan: &ResolvedPlan) -> u64 {
    let users = |workload: &spec::workload::Workload| {
        workload.groups.iter().map(|group| u64::from(standing_users(&group.load))).sum::<u64>()
    };
    plan.tile_set.workloads.iter().fold(0, |sum, (workload, copies)| {
        sum.saturating_add(users(workload).saturating_mul(u64::from(*copies)))
    })
}
