use record::recorder::InstanceShape;
use record::slice::{InstanceEntry, InstanceId, Topology, VmEntry, VmId};
use spec::workload::{DataPattern, Load, Role};
use units::Bytes;
use workload::{BuildError, Instance, InstanceMachine, InstancePlan};

use crate::plan::ResolvedPlan;
use crate::verdict::Member;

/// A virtual disk a step needs.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskNeed {
    /// Unique in the run and the same in every step: `tile-1/shop/shop-log`.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// What its first contents are like.
    pub data: DataPattern,
    /// Its name in its workload.
    pub disk: String,
    /// What it holds.
    pub role: Role,
    /// Position of its virtual machine in the instance.
    pub vm: usize,
}

/// One workload instance, ready to be driven.
#[derive(Debug)]
pub struct FleetInstance {
    /// Its machine, before its first event.
    pub machine: InstanceMachine,
    /// What a recorder must know of it.
    pub shape: InstanceShape,
    /// Its disks, by `machine::DiskId`.
    pub disks: Vec<DiskNeed>,
    /// Who it is: tile, workload and copy.
    pub member: Member,
    /// Name of its workload.
    pub workload: String,
    /// Names of its virtual machines, `workload/machine`.
    pub vms: Vec<String>,
    /// Virtual CPUs of each of its virtual machines.
    pub vcpus: Vec<u32>,
    /// Users at the same time, over all its groups: how many actions can be under way.
    pub users: u32,
}

/// Everything that runs in a step.
#[derive(Debug)]
pub struct Fleet {
    /// By instance id: tile by tile, workload by workload, copy by copy.
    pub instances: Vec<FleetInstance>,
    /// Who each instance is.
    pub members: Vec<Member>,
    /// Names of all that is numbered.
    pub topology: Topology,
}

impl Fleet {
    /// The instances of `tiles` tiles, in a round of the run (`InstancePlan::round`).
    pub fn build(plan: &ResolvedPlan, tiles: u32, round: u64) -> Result<Self, BuildError> {
        let mut fleet =
            Self { instances: Vec::new(), members: Vec::new(), topology: Topology::default() };
        for tile in 0..tiles {
            for (position, (_, copies)) in plan.tile_set.workloads.iter().enumerate() {
                for copy in 0..*copies {
                    fleet.add(plan, round, Member { tile, workload: position, copy })?;
                }
            }
        }
        Ok(fleet)
    }

    /// All disks, in order.
    pub fn disks(&self) -> impl Iterator<Item = &DiskNeed> {
        self.instances.iter().flat_map(|instance| &instance.disks)
    }

    /// Virtual machines.
    pub fn vms(&self) -> u32 {
        number(self.topology.vms.len())
    }

    fn add(&mut self, plan: &ResolvedPlan, round: u64, member: Member) -> Result<(), BuildError> {
        let (workload, copies) = &plan.tile_set.workloads[member.workload];
        let built = workload::build(&InstancePlan {
            workload,
            seed: plan.seed.value,
            round,
            tile: member.tile,
            position: number(member.workload),
            copy: member.copy,
            footprint: plan.footprint.value,
            time_scale: plan.time.value,
            cpu: plan.cpu.value,
            schedule: plan.traces.schedule(member.workload),
        })?;
        let suffix = if *copies > 1 { format!("-{}", member.copy + 1) } else { String::new() };
        let place = format!("tile-{}/{}{suffix}", member.tile + 1, workload.name);
        let instance = InstanceId(number(self.instances.len()));
        let first_vm = self.vms();
        self.topology
            .vms
            .extend(built.vms.iter().map(|vm| VmEntry { instance, name: format!("{place}/{vm}") }));
        self.topology.instances.push(entry(&workload.name, member, &built));
        let need = |disk: &workload::DiskLayout| DiskNeed {
            name: format!("{place}/{}", disk.name),
            size: disk.size,
            data: workload.data,
            disk: disk.name.clone(),
            role: disk.role,
            vm: disk.vm,
        };
        self.instances.push(FleetInstance {
            shape: shape(instance, first_vm, &built),
            disks: built.disks.iter().map(need).collect(),
            member,
            workload: workload.name.clone(),
            vms: built.vms.iter().map(|vm| format!("{}/{vm}", workload.name)).collect(),
            vcpus: workload.vms.iter().map(|vm| vm.vcpus).collect(),
            users: match workload.replay {
                Some(_) => REPLAY_DEPTH,
                None => {
                    let users = workload.groups.iter().map(|group| users(&group.load));
                    users.fold(0, u32::saturating_add)
                }
            },
            machine: built.machine,
        });
        self.members.push(member);
        Ok(())
    }
}

/// I/Os that a recorded load may have under way before further ones wait in the generator, which
/// is told: four times what Linux lets one queue of a device hold (1023, `nr_requests` of NVMe).
const REPLAY_DEPTH: u32 = 4096;

/// Users that exist from the beginning.
pub(crate) const fn standing_users(load: &Load) -> u32 {
    match load {
        Load::Closed { users, .. } | Load::Paced { users, .. } => *users,
        Load::Open { .. } => 0,
    }
}

const fn users(load: &Load) -> u32 {
    match load {
        Load::Closed { users, .. } | Load::Paced { users, .. } => *users,
        Load::Open { outstanding_max, .. } => *outstanding_max,
    }
}

/// What a topology says of an instance.
pub(crate) fn entry(workload: &str, member: Member, built: &Instance) -> InstanceEntry {
    InstanceEntry {
        tile: member.tile,
        workload: workload.to_owned(),
        copy: member.copy,
        actions: built.actions.clone(),
        groups: built.groups.clone(),
        kinds: built.kinds.iter().map(|kind| kind.name.clone()).collect(),
    }
}

/// What a recorder must know of an instance whose first VM is `first_vm`.
pub fn shape(instance: InstanceId, first_vm: u32, built: &Instance) -> InstanceShape {
    let count = |count: usize| u16::try_from(count).expect("spec allows fewer than 2^16");
    InstanceShape {
        instance,
        disk_vms: built.disks.iter().map(|disk| VmId(first_vm + number(disk.vm))).collect(),
        kinds: count(built.kinds.len()),
        actions: count(built.actions.len()),
        groups: count(built.groups.len()),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 of anything in a step")
}
