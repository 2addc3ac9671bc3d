//! What is built, and what its ids mean.

use std::sync::Arc;

use spec::workload::{CpuMode, On, Role, Workload};
use state_machine::Operation;
use units::Bytes;

use crate::InstanceMachine;
use crate::replay::Schedule;

/// One instance to build: a workload at its place in the run.
#[derive(Debug, Clone, Copy)]
pub struct InstancePlan<'a> {
    /// The checked definition.
    pub workload: &'a Workload,
    /// The run's seed.
    pub seed: u64,
    /// Which measurement of the run. Another round has other arrivals, thoughts, addresses
    /// and contents, so that a cache cannot learn a sequence by heart; what is popular
    /// (hot spots, Zipf ranks, places of streams) stays the same.
    pub round: u64,
    /// Tile, counted from 0.
    pub tile: u32,
    /// Position of the workload in its tile, counted from 0.
    pub position: u32,
    /// Which of several of this workload at this position, counted from 0.
    pub copy: u32,
    /// Disk sizes are multiplied by this, above 0.
    pub footprint: f64,
    /// Schedule times and drift turnovers are multiplied by this, above 0. Think times, CPU
    /// costs and rates are not.
    pub time_scale: f64,
    /// Overrides the workload's own choice.
    pub cpu: Option<CpuMode>,
    /// What a workload that is a replay plays; others need none.
    pub schedule: Option<&'a Arc<Schedule>>,
}

/// A machine and what its ids mean.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The machine, before its first event.
    pub machine: InstanceMachine,
    /// Names of its VMs.
    pub vms: Vec<String>,
    /// Its disks, by `state_machine::DiskId`.
    pub disks: Vec<DiskLayout>,
    /// Names of its actions, by `state_machine::ActionId`.
    pub actions: Vec<String>,
    /// Names of its user groups, by `state_machine::GroupId`.
    pub groups: Vec<String>,
    /// Its kinds of I/O and calls, by `state_machine::KindId`.
    pub kinds: Vec<KindInfo>,
    /// Names of its endpoints, by `state_machine::EndpointId`.
    pub endpoints: Vec<String>,
}

/// A virtual disk the machine expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskLayout {
    /// Position of its VM in [`Instance::vms`].
    pub vm: usize,
    /// Its name in the workload.
    pub name: String,
    /// Its scaled size, a multiple of 1 MiB, at least four times the largest block used on
    /// it.
    pub size: Bytes,
    /// What it holds.
    pub role: Role,
    /// On which datastore it is meant to lie.
    pub on: On,
}

/// A kind of I/O or call. Steps that share a name on several disks or in several directions make
/// several kinds with that name; a limit on the name is a limit on all of them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindInfo {
    /// Its name for limits; by default disk and step, such as `db-read`.
    pub name: String,
    /// What it is.
    pub of: KindOf,
    /// What its calls ask, if that is more than the endpoint's address says.
    pub ask: Option<String>,
}

/// What a kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindOf {
    /// I/O.
    Io {
        /// What its I/Os do; an append is a write.
        direction: Operation,
        /// Position of its disk in [`Instance::disks`]; a replay's kinds are of all disks, and
        /// this is the first.
        disk: usize,
    },
    /// Calls.
    Call {
        /// Position of its endpoint in [`Instance::endpoints`].
        endpoint: usize,
    },
}
