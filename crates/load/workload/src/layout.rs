//! Plan of an instance, and the meaning of its ids.

use std::sync::Arc;

use spec::workload::{CpuMode, On, Role, Workload};
use state_machine::{KindId, Operation, RequestText};
use units::Bytes;

use crate::InstanceMachine;
use crate::replay::Schedule;

/// Plan of one instance: a workload at its position in the run.
#[derive(Debug, Clone, Copy)]
pub struct InstancePlan<'a> {
    /// Checked definition.
    pub workload: &'a Workload,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the measurement in the run. Another round has other arrivals, think times,
    /// addresses and contents, so that a cache cannot learn a sequence. Popularity (hot spots, Zipf
    /// ranks, positions of streams) stays the same.
    pub round: u64,
    /// Number of the tile, counted from 0.
    pub tile: u32,
    /// Position of the workload in its tile, counted from 0.
    pub position: u32,
    /// Number of the copy of this workload, counted from 0.
    pub copy: u32,
    /// Factor for disk sizes, above 0.
    pub footprint: f64,
    /// Factor for schedule times and drift turnovers, above 0. Think times, CPU costs and rates are
    /// not scaled.
    pub time_scale: f64,
    /// CPU mode that overrides the workload's own; `None` keeps it.
    pub cpu: Option<CpuMode>,
    /// Schedule of a workload that is a replay; `None` for other workloads.
    pub schedule: Option<&'a Arc<Schedule>>,
}

/// State machine of an instance, and the meaning of its ids.
#[derive(Debug, Clone)]
pub struct Instance {
    /// State machine, before its first event.
    pub machine: InstanceMachine,
    /// Names of its VMs.
    pub vms: Vec<String>,
    /// Disks, indexed by `state_machine::DiskId`.
    pub disks: Vec<DiskLayout>,
    /// Names of its actions, indexed by `state_machine::ActionId`.
    pub actions: Vec<String>,
    /// Names of its user groups, indexed by `state_machine::GroupId`.
    pub groups: Vec<String>,
    /// Kinds of I/O and calls, indexed by `state_machine::KindId`.
    pub kinds: Vec<KindInfo>,
    /// Names of its endpoints, indexed by `state_machine::EndpointId`.
    pub endpoints: Vec<String>,
}

/// Name suffixes of the kinds that copy whole disks: of copy steps, and of moves
/// ([`crate::moving::KINDS`]).
const COPIES: [&str; 4] = ["-copy-read", "-copy-write", "move-read", "move-write"];

impl Instance {
    /// Returns the kinds of I/O that copy whole disks, found by name.
    pub fn copy_kinds(&self) -> Vec<KindId> {
        let numbered = (0..).map(KindId).zip(&self.kinds);
        let copies = numbered.filter(|(_, kind)| COPIES.iter().any(|end| kind.name.ends_with(end)));
        copies.map(|(id, _)| id).collect()
    }
}

/// Virtual disk that the instance needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskLayout {
    /// Position of its VM in [`Instance::vms`].
    pub vm: usize,
    /// Name in the workload.
    pub name: String,
    /// Scaled size: a multiple of 1 MiB, and at least four times the largest block used on the
    /// disk.
    pub size: Bytes,
    /// Content of the disk.
    pub role: Role,
    /// Datastore for the disk.
    pub on: On,
}

/// Kind of I/O or call. Steps with one name on several disks or in several directions create
/// several kinds with that name. A limit on the name applies to all of them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindInfo {
    /// Name for limits; by default disk and step, such as `db-read`.
    pub name: String,
    /// Operation or endpoint.
    pub of: KindOf,
    /// Request text of the calls; `None` if the endpoint's address is sufficient.
    pub ask: Option<RequestText>,
}

/// Operation or endpoint of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindOf {
    /// Kind of I/O.
    Io {
        /// Operation; an append is a write.
        direction: Operation,
        /// Position of the disk in [`Instance::disks`]. A replay's kinds cover all disks, and this
        /// is the first.
        disk: usize,
    },
    /// Kind of calls.
    Call {
        /// Position of the endpoint in [`Instance::endpoints`].
        endpoint: usize,
    },
}
