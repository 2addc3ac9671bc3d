use run_store::slice::Topology;
use spec::ResolvedTile;
use spec::workload::{Limit, Workload};

use crate::fleet::Member;
use crate::placed::Placed;

/// Holds windows against the limits of a tile's workloads.
#[derive(Debug, Clone, Copy)]
pub struct StepJudge<'a> {
    /// The workloads.
    pub tile: &'a ResolvedTile,
    /// Who each instance is, by instance id.
    pub members: &'a [Member],
    /// Names of what the instances number.
    pub topology: &'a Topology,
    /// Which host drives which tile.
    pub placed: &'a Placed,
}

impl StepJudge<'_> {
    /// The limits of this tile's workloads with their workload's position and their own in it.
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
