use run_store::slice::Topology;
use spec::ResolvedTile;
use spec::workload::{Limit, Workload};

use crate::fleet::Member;
use crate::placed::Placed;

/// Judge of windows against the limits of a tile's workloads.
#[derive(Debug, Clone, Copy)]
pub struct StepJudge<'a> {
    /// Workloads of the tile.
    pub tile: &'a ResolvedTile,
    /// Tile, workload and copy of each instance, indexed by its number.
    pub members: &'a [Member],
    /// Names of the numbered objects.
    pub topology: &'a Topology,
    /// Placement of tiles on hosts.
    pub placed: &'a Placed,
}

impl StepJudge<'_> {
    /// Returns the limits of the tile's workloads: position of the workload, the workload, position
    /// of the limit in it, the limit.
    pub fn limits(&self) -> impl Iterator<Item = (usize, &Workload, usize, &Limit)> {
        self.tile.all().enumerate().flat_map(|(position, (workload, _))| {
            let limits = workload.limits.iter().enumerate();
            limits.map(move |(row, limit)| (position, workload, row, limit))
        })
    }

    pub(crate) fn members_of(&self, workload: usize) -> impl Iterator<Item = (usize, Member)> + '_ {
        let all = self.members.iter().copied().enumerate();
        all.filter(move |(_, member)| member.workload == workload)
    }

    pub(crate) fn workload(&self, member: Member) -> &Workload {
        &self.tile.at(member.workload).0
    }
}
