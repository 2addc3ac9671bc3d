//! What an order means: who runs, on which disks, under which names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceEntry, InstanceId, Topology, VmEntry, VmId};
use serde::{Deserialize, Serialize};
use spec::workload::{CHECK_SIZE, DataPattern, Load, On, Role, Step};
use spec::{ResolvedTile, disk_asked};
use state_machine::KindId;
use units::Bytes;
use workload::moving::Carry;
use workload::{BuildError, Instance, InstanceMachine, InstancePlan};

use crate::error::BenchError;
use crate::placed::Placed;
use crate::plan::ResolvedPlan;

/// Which part of the load an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Tile, from 0; none for infrastructure operations, which belong to no tile.
    pub tile: Option<u32>,
    /// Position of its workload in the plan's list.
    pub workload: usize,
    /// Which of several of this workload in the tile, from 0.
    pub copy: u32,
}

/// What runs in a step, as data. With the plan it says everything: whoever drives a step builds
/// its machines from the two, and the same order gives the same requests wherever it is driven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOrder {
    /// Tiles of the step, over everyone who drives a part of it.
    pub tiles: u32,
    /// Which measurement of the run (`InstancePlan::round`).
    pub round: u64,
    /// Where random numbers start.
    pub seed: u64,
    /// Who runs; a member's position is its instance's id.
    pub members: Vec<Member>,
}

impl StepOrder {
    /// All members of `tiles` tiles: tile by tile, workload by workload, copy by copy; then the
    /// infrastructure operations, once.
    pub fn whole(plan: &ResolvedPlan, tiles: u32, round: u64) -> Self {
        let members = members_of(&plan.tile_set, tiles);
        Self { tiles, round, seed: plan.seed, members }
    }
}

/// The round of a repeat (from 0) of a step. Every step and repeat has its own, and the same
/// one in another run of this seed: on another array, too, which pairs the repeats.
pub fn round(tiles: u32, repeat: u32) -> u64 {
    u64::from(tiles) << 32 | u64::from(repeat)
}

/// All members of so many tiles, in order, with the infrastructure operations last.
pub fn members_of(set: &ResolvedTile, tiles: u32) -> Vec<Member> {
    let own = set.workloads.len();
    let of = |tile: Option<u32>| {
        let (first, list) = match tile {
            Some(_) => (0, &set.workloads),
            None => (own, &set.operations),
        };
        list.iter().zip(first..).flat_map(move |((_, copies), workload)| {
            (0..*copies).map(move |copy| Member { tile, workload, copy })
        })
    };
    (0..tiles).map(Some).chain([None]).flat_map(of).collect()
}

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
    /// Its tile, from 0; none for a disk of infrastructure operations.
    pub tile: Option<u32>,
    /// On which datastore it lies: the first, where the run has no other.
    pub on: On,
}

/// One workload instance, before anything drives it.
#[derive(Debug, Clone)]
pub struct FleetInstance {
    /// What a recorder must know of it.
    pub shape: InstanceShape,
    /// Its disks, by `state_machine::DiskId`.
    pub disks: Vec<DiskNeed>,
    /// Who it is: tile, workload and copy.
    pub member: Member,
    /// Name of its workload.
    pub workload: String,
    /// Names of its virtual machines, `workload/machine`.
    pub vms: Vec<String>,
    /// Names of its endpoints, by `state_machine::EndpointId`.
    pub endpoints: Vec<String>,
    /// What its calls ask, by `state_machine::KindId`.
    pub asks: Vec<Option<String>>,
    /// Kinds of I/O that copy whole disks.
    pub copy_kinds: Vec<KindId>,
    /// Virtual CPUs of each of its virtual machines.
    pub vcpus: Vec<u32>,
    /// Users at the same time, over all its groups: how many actions can be under way.
    pub users: u32,
}

/// An instance and its machine, before its first event.
#[derive(Debug)]
pub struct Driven {
    /// Who it is, and what it needs.
    pub instance: FleetInstance,
    /// What decides.
    pub machine: InstanceMachine,
}

/// Everything that an order means: names, disks and shapes. Machines are built where they are
/// driven ([`Fleet::drive`]).
#[derive(Debug, Clone)]
pub struct Fleet {
    /// What was ordered.
    pub order: StepOrder,
    /// By instance id.
    pub instances: Vec<FleetInstance>,
    /// Names of all that is numbered.
    pub topology: Topology,
}

impl Fleet {
    /// What `order` means. Instances of one workload differ in their names only, so each workload
    /// is laid out once.
    ///
    /// # Errors
    ///
    /// [`BuildError`] where a workload cannot be built.
    pub fn new(plan: &ResolvedPlan, order: StepOrder) -> Result<Self, BuildError> {
        let mut laid_out: BTreeMap<usize, Instance> = BTreeMap::new();
        for member in &order.members {
            if let Entry::Vacant(place) = laid_out.entry(member.workload) {
                place.insert(build(plan, &order, *member)?);
            }
        }
        let topology = Topology::default();
        let members = order.members.clone();
        // Hosts that the plan does not have were refused where it was placed.
        let placed = Placed::of(plan, order.tiles).unwrap_or_default();
        let mut fleet = Self { order, instances: Vec::new(), topology };
        for member in members {
            fleet.add(plan, member, &laid_out[&member.workload]);
            if let Some(entry) = fleet.topology.instances.last_mut() {
                entry.host = member.tile.and_then(|tile| placed.name_of(tile)).map(str::to_owned);
            }
        }
        Ok(fleet)
    }

    /// The instances with their machines.
    ///
    /// # Errors
    ///
    /// [`BuildError`] where a workload cannot be built.
    pub fn drive(self, plan: &ResolvedPlan) -> Result<Vec<Driven>, BuildError> {
        let Self { order, instances, .. } = self;
        let driven = |instance: FleetInstance| {
            let machine = build(plan, &order, instance.member)?.machine;
            Ok(Driven { instance, machine })
        };
        let mut all = instances.into_iter().map(driven).collect::<Result<Vec<_>, BuildError>>()?;
        let orders = all.iter().filter_map(|one| one.machine.move_order().cloned());
        let orders: Vec<_> = orders.collect();
        for one in all.iter_mut().filter(|one| one.instance.member.tile.is_none()) {
            one.machine.give_orders(&orders);
        }
        Ok(all)
    }

    /// All disks, in order.
    pub fn disks(&self) -> impl Iterator<Item = &DiskNeed> {
        self.instances.iter().flat_map(|instance| &instance.disks)
    }

    /// Virtual machines.
    pub fn vms(&self) -> u32 {
        number(self.topology.vms.len())
    }

    fn add(&mut self, plan: &ResolvedPlan, member: Member, built: &Instance) {
        let (workload, copies) = plan.tile_set.at(member.workload);
        let suffix = if *copies > 1 { format!("-{}", member.copy + 1) } else { String::new() };
        let place = match member.tile {
            Some(tile) => format!("tile-{}/{}{suffix}", tile + 1, workload.name),
            None => format!("{OPERATIONS}/{}{suffix}", workload.name),
        };
        let instance = InstanceId(number(self.instances.len()));
        let first_vm = self.vms();
        self.topology
            .vms
            .extend(built.vms.iter().map(|vm| VmEntry { instance, name: format!("{place}/{vm}") }));
        self.topology.instances.push(entry(&workload.name, member, built));
        let need = |disk: &workload::DiskLayout| DiskNeed {
            name: format!("{place}/{}", disk.name),
            size: disk.size,
            data: workload.data,
            disk: disk.name.clone(),
            role: disk.role,
            vm: disk.vm,
            tile: member.tile,
            on: if plan.settings.second.is_some() { disk.on } else { On::First },
        };
        self.instances.push(FleetInstance {
            shape: shape(instance, first_vm, built),
            disks: built.disks.iter().map(need).collect(),
            member,
            workload: workload.name.clone(),
            vms: built.vms.iter().map(|vm| format!("{}/{vm}", workload.name)).collect(),
            endpoints: built.endpoints.clone(),
            asks: built.kinds.iter().map(|kind| kind.ask.clone()).collect(),
            copy_kinds: built.copy_kinds(),
            vcpus: workload.vms.iter().map(|vm| vm.vcpus).collect(),
            users: match workload.replay {
                Some(_) => REPLAY_DEPTH,
                None => {
                    let users = workload.groups.iter().map(|group| users(&group.load));
                    users.fold(0, u32::saturating_add)
                }
            },
        });
    }
}

fn build(plan: &ResolvedPlan, order: &StepOrder, member: Member) -> Result<Instance, BuildError> {
    let (workload, _) = plan.tile_set.at(member.workload);
    let built = workload::build(&InstancePlan {
        workload,
        seed: order.seed,
        round: order.round,
        tile: member.tile.unwrap_or(OF_NO_TILE),
        position: number(member.workload),
        copy: member.copy,
        footprint: plan.footprint,
        time_scale: plan.time,
        cpu: plan.settings.engine.cpu,
        schedule: plan.traces.schedule(member.workload),
    })?;
    match carried(&plan.tile_set).filter(|(at, _)| *at == member.workload && member.copy == 0) {
        Some((_, carry)) if member.tile.is_some() => {
            let path = [member.tile.unwrap_or(OF_NO_TILE), number(member.workload)].map(u64::from);
            let path = path.into_iter().chain([order.round]);
            let seed = path.fold(order.seed, |seed, part| state_machine::mix(seed ^ part));
            built.carrying(&carry, workload, seed)
        }
        _ => Ok(built),
    }
}

/// The disk of each tile that operations move or take snapshots of, if one of them does: the
/// position of its workload, and how it is moved. What is not named is the smallest disk, the first
/// of several.
pub fn carried(set: &ResolvedTile) -> Option<(usize, Carry)> {
    let steps = set.operations.iter().flat_map(|(own, _)| &own.actions).flat_map(|own| &own.steps);
    let steps: Vec<&Step> = steps.collect();
    // They all name the same disk, or `spec` had refused them.
    let wanted = steps.iter().find_map(|step| disk_asked(step))?;
    let mut moves = steps.iter().filter_map(|step| match step {
        Step::Move(one) => Some((one.size.get(), one.outstanding)),
        _ => None,
    });
    let moved = moves.next();
    let snapshots = steps.iter().any(|step| matches!(step, Step::Snapshot(_)));
    let disks = set.workloads.iter().enumerate().flat_map(|(at, (workload, _))| {
        workload.vms.iter().flat_map(|vm| &vm.disks).map(move |disk| (at, disk))
    });
    let (at, disk) = match wanted {
        Some(name) => disks.into_iter().find(|(_, disk)| disk.name == *name)?,
        None => disks.min_by_key(|(_, disk)| disk.size)?,
    };
    // A disk that does not move has no blocks to copy.
    let (block, outstanding) = moved.unwrap_or((CHECK_SIZE.get(), 1));
    let (disk, moves) = (disk.name.clone(), moved.is_some());
    Some((at, Carry { disk, moves, snapshots, block, outstanding }))
}

/// What an operation does to whole disks, beyond reading and writing them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeDisk {
    /// On which datastore the disk is meant to lie.
    pub on: On,
    /// Whether it shares blocks with another one; else it is given back.
    pub shares: bool,
}

/// What operations do to whole disks.
pub fn whole_disks(set: &ResolvedTile) -> Vec<WholeDisk> {
    let mut found = Vec::new();
    for (workload, _) in &set.operations {
        let disks = || workload.vms.iter().flat_map(|vm| &vm.disks);
        let on =
            |name: &str| disks().find(|disk| disk.name == name).map_or(On::First, |disk| disk.on);
        workload.each_step(&mut |step| match step {
            Step::Link(link) => found.push(WholeDisk { on: on(&link.to), shares: true }),
            Step::Destroy(one) => found.push(WholeDisk { on: on(&one.disk), shares: false }),
            Step::Snapshot(_) => found.push(WholeDisk { on: On::First, shares: true }),
            _ => {}
        });
    }
    // The disk of a snapshot may have moved.
    if carried(set).is_some_and(|(_, carry)| carry.moves && carry.snapshots) {
        found.push(WholeDisk { on: On::Second, shares: true });
    }
    found.dedup();
    found
}

/// What stands in place of a tile in the names of disks and machines of infrastructure operations.
pub const OPERATIONS: &str = "operations";

/// The tile in the paths of their random streams: none that a step can have.
const OF_NO_TILE: u32 = u32::MAX;

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

/// What an order means.
///
/// # Errors
///
/// When a workload cannot be built at this scale.
pub fn fleet(plan: &ResolvedPlan, order: StepOrder) -> Result<Fleet, BenchError> {
    let tile = || plan.tile_set.tile.name.clone();
    Fleet::new(plan, order).map_err(|source| BenchError::Build { tile: tile(), source })
}

/// The same with its machines.
///
/// # Errors
///
/// When a workload cannot be built at this scale.
pub fn driven(plan: &ResolvedPlan, order: &StepOrder) -> Result<Vec<Driven>, BenchError> {
    let tile = || plan.tile_set.tile.name.clone();
    let fleet = fleet(plan, order.clone())?;
    fleet.drive(plan).map_err(|source| BenchError::Build { tile: tile(), source })
}

/// What a topology says of an instance.
pub(crate) fn entry(workload: &str, member: Member, built: &Instance) -> InstanceEntry {
    InstanceEntry {
        tile: member.tile,
        workload: workload.to_owned(),
        copy: member.copy,
        host: None,
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
