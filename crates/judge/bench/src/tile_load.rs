//! Requirements of one tile of a plan: space on each datastore, virtual machines and users.

use units::Bytes;

use crate::error::BenchError;
use crate::fleet::{Fleet, StepOrder, fleet, standing_users};
use crate::plan::ResolvedPlan;

/// Requirements of one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileLoad {
    /// Size of the tile's disks.
    pub bytes: Bytes,
    /// Size of the disks of infrastructure operations, which exist only once.
    pub beside: Bytes,
    /// Part of `bytes` on the second datastore.
    pub second: Bytes,
    /// Part of `beside` on the second datastore.
    pub second_beside: Bytes,
    /// Number of virtual machines.
    pub vms: u32,
    /// Number of workloads, counting each copy.
    pub workloads: u32,
    /// Number of users that always exist.
    pub users: u64,
}

impl TileLoad {
    /// Computes the requirements of one tile of a plan.
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

    /// Returns the size of all disks for this many tiles.
    pub fn needed(&self, tiles: u32) -> Bytes {
        self.bytes * u64::from(tiles) + self.beside
    }

    /// Returns the part of [`Self::needed`] on the second datastore.
    pub fn needed_second(&self, tiles: u32) -> Bytes {
        self.second * u64::from(tiles) + self.second_beside
    }

    /// Returns the part of [`Self::needed`] on the first datastore.
    pub fn needed_first(&self, tiles: u32) -> Bytes {
        self.needed(tiles).saturating_sub(self.needed_second(tiles))
    }

    /// Returns the maximum number of tiles whose disks fit into this space, also on the second
    /// datastore if there is one.
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

    /// Returns the maximum number of tiles that a run may try: limited by the requested number, by
    /// the space, and by the memory for the users.
    pub fn tiles_max(&self, asked: Option<u32>, fits: u32) -> u32 {
        asked.unwrap_or(fits).min(fits).min(self.kept_in_memory())
    }

    /// Returns the maximum number of tiles whose users fit into memory.
    pub fn kept_in_memory(&self) -> u32 {
        u32::try_from(USERS_MAX / self.users.max(1)).unwrap_or(u32::MAX)
    }
}

/// Returns the size of all disks, and of the disks on the second datastore.
fn bytes_of(fleet: &Fleet) -> (Bytes, Bytes) {
    let second = fleet.disks().filter(|disk| !disk.on.is_first());
    let applications = fleet.instances.iter().filter_map(|own| own.application.as_ref());
    let data: Bytes = applications.map(|need| need.kind.room(need.size)).sum();
    (fleet.disks().map(|disk| disk.size).sum::<Bytes>() + data, second.map(|disk| disk.size).sum())
}

/// Maximum number of users in a step. 4 million take 1.0 GiB of the generator's memory (a million
/// closed-loop users of one disk: 0.23 GiB measured); our choice.
pub(crate) const USERS_MAX: u64 = 1 << 22;

fn users_of_tile(plan: &ResolvedPlan) -> u64 {
    let users = |workload: &spec::workload::Workload| {
        workload.groups.iter().map(|group| u64::from(standing_users(&group.load))).sum::<u64>()
    };
    plan.tile_set.workloads.iter().fold(0, |sum, (workload, copies)| {
        sum.saturating_add(users(workload).saturating_mul(u64::from(*copies)))
    })
}
