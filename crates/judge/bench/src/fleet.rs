//! Expansion of a step's order into instances, their disks and their names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceEntry, InstanceId, Topology, VmEntry, VmId};
use serde::{Deserialize, Serialize};
use spec::workload::{CHECK_SIZE, DataPattern, Endpoint, Load, On, Protocol, Role, Step, Workload};
use spec::{ResolvedTile, disk_asked};
use state_machine::{KindId, RequestText};
use units::Bytes;
use workload::moving::Carry;
use workload::{BuildError, Instance, InstanceMachine, InstancePlan};

use crate::error::BenchError;
use crate::placed::Placed;
use crate::plan::ResolvedPlan;

/// Identity of an instance in the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Tile, counted from 0; `None` for infrastructure operations, which belong to no tile.
    pub tile: Option<u32>,
    /// Position of its workload in the plan's list.
    pub workload: usize,
    /// Number among the copies of this workload in the tile, counted from 0.
    pub copy: u32,
}

/// Order of a step, as data. Together with the plan it is complete. Each driver builds its state
/// machines from both, so the same order gives the same requests on every driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOrder {
    /// Number of tiles in the step, over all drivers.
    pub tiles: u32,
    /// Number of the measurement in the run (`InstancePlan::round`).
    pub round: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Members of the step. The position of a member is the number of its instance.
    pub members: Vec<Member>,
}

impl StepOrder {
    /// Creates the order with all members of `tiles` tiles: tile by tile, workload by workload,
    /// copy by copy; then the infrastructure operations, once.
    pub fn whole(plan: &ResolvedPlan, tiles: u32, round: u64) -> Self {
        let members = members_of(&plan.tile_set, tiles);
        Self { tiles, round, seed: plan.seed, members }
    }
}

/// Returns the round of a repeat (counted from 0) of a step. Each step and repeat has its own
/// round. It is the same in other runs with this seed, also on another array, so that repeats can
/// be compared in pairs.
pub fn round(tiles: u32, repeat: u32) -> u64 {
    u64::from(tiles) << 32 | u64::from(repeat)
}

/// Returns the members of this many tiles, in order, with the infrastructure operations last.
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

/// Virtual disk that a step needs.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskNeed {
    /// Name, unique in the run and the same in every step: `tile-1/shop/shop-log`.
    pub name: String,
    /// Size of the disk.
    pub size: Bytes,
    /// Data pattern of the initial content.
    pub data: DataPattern,
    /// Name of the disk within its workload.
    pub disk: String,
    /// Role of the disk.
    pub role: Role,
    /// Position of the disk's virtual machine in the instance.
    pub vm: usize,
    /// Tile, counted from 0; `None` for a disk of infrastructure operations.
    pub tile: Option<u32>,
    /// Datastore for the disk; the first, if the run has only one.
    pub on: On,
}

/// A workload instance without its state machine.
#[derive(Debug, Clone)]
pub struct FleetInstance {
    /// Counts of objects that a recorder needs.
    pub shape: InstanceShape,
    /// Disks of the instance, indexed by `state_machine::DiskId`.
    pub disks: Vec<DiskNeed>,
    /// Tile, workload and copy of the instance.
    pub member: Member,
    /// Name of the workload.
    pub workload: String,
    /// Names of the virtual machines, `workload/VM`.
    pub vms: Vec<String>,
    /// Names of the endpoints, indexed by `state_machine::EndpointId`.
    pub endpoints: Vec<String>,
    /// Protocols of the endpoints, in the same order.
    pub protocols: Vec<Protocol>,
    /// Request texts of the calls, indexed by `state_machine::KindId`.
    pub asks: Vec<Option<RequestText>>,
    /// Real application that the instance needs, if its calls go to one.
    pub application: Option<applications::Need>,
    /// Kinds of I/O that copy whole disks.
    pub copy_kinds: Vec<KindId>,
    /// Virtual CPUs of each virtual machine.
    pub vcpus: Vec<u32>,
    /// Maximum number of concurrent users over all groups, which is the maximum number of actions
    /// in progress.
    pub users: u32,
}

/// An instance with its state machine, which has received no event yet.
#[derive(Debug)]
pub struct Driven {
    /// Description of the instance.
    pub instance: FleetInstance,
    /// State machine of the instance.
    pub machine: InstanceMachine,
}

/// Expanded order: names, disks and shapes. The driver builds the state machines
/// ([`Fleet::drive`]).
#[derive(Debug, Clone)]
pub struct Fleet {
    /// Order of the step.
    pub order: StepOrder,
    /// Instances, indexed by number.
    pub instances: Vec<FleetInstance>,
    /// Names of all numbered objects.
    pub topology: Topology,
}

impl Fleet {
    /// Expands an order. Instances of one workload differ only in their names, so each workload is
    /// laid out once.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a workload cannot be built.
    pub fn new(plan: &ResolvedPlan, order: StepOrder) -> Result<Self, BuildError> {
        let mut laid_out: BTreeMap<usize, Instance> = BTreeMap::new();
        for member in &order.members {
            if let Entry::Vacant(place) = laid_out.entry(member.workload) {
                place.insert(build(plan, &order, *member)?);
            }
        }
        let topology = Topology::default();
        let members = order.members.clone();
        // Unknown hosts were already refused when the tiles were placed.
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

    /// Builds the state machines of the instances.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a workload cannot be built.
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

    /// Returns the disks of all instances, in order.
    pub fn disks(&self) -> impl Iterator<Item = &DiskNeed> {
        self.instances.iter().flat_map(|instance| &instance.disks)
    }

    /// Returns the number of virtual machines.
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
            protocols: built.endpoints.iter().filter_map(|own| protocol(workload, own)).collect(),
            asks: built.kinds.iter().map(|kind| kind.ask.clone()).collect(),
            application: application(plan, workload, member, &place),
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

fn protocol(workload: &Workload, endpoint: &str) -> Option<Protocol> {
    let found = workload.endpoints.iter().find(|own| own.name == endpoint);
    found.map(|own| own.protocol)
}

/// Returns the application that an instance needs; `None` if the user named services.
fn application(
    plan: &ResolvedPlan,
    workload: &Workload,
    member: Member,
    place: &str,
) -> Option<applications::Need> {
    let spec::workload::Application { kind, size } = workload.application?;
    let is_named = |own: &Endpoint| plan.settings.endpoints.contains_key(&own.name);
    if workload.endpoints.iter().all(is_named) {
        return None;
    }
    let path = [member.tile.unwrap_or(OF_NO_TILE), number(member.workload), member.copy];
    let path = path.map(u64::from);
    let sessions = workload.groups.iter().map(|group| users(&group.load));
    Some(applications::Need {
        name: place.replace('/', "-"),
        kind: match kind {
            spec::workload::ApplicationKind::Shop => applications::Kind::Shop,
            spec::workload::ApplicationKind::Mail => applications::Kind::Mail,
            spec::workload::ApplicationKind::Web => applications::Kind::Web,
        },
        size: size.scale(plan.footprint),
        sessions: sessions.fold(0, u32::saturating_add),
        seed: path.into_iter().fold(plan.seed, |seed, part| state_machine::mix(seed ^ part)),
    })
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

/// Returns the disk of each tile that operations move or snapshot: the position of its workload,
/// and the settings for the operations. If the operations name no disk, it is the smallest disk, or
/// the first of several. `None` if no operation uses a disk.
pub fn carried(set: &ResolvedTile) -> Option<(usize, Carry)> {
    let steps = set.operations.iter().flat_map(|(own, _)| &own.actions).flat_map(|own| &own.steps);
    let steps: Vec<&Step> = steps.collect();
    // All operations name the same disk; `spec` refuses others.
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

/// Effect of an operation on a whole disk, in addition to reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeDisk {
    /// Datastore for the disk.
    pub on: On,
    /// True if the disk shares blocks with another disk (reflink); false if it is deleted.
    pub shares: bool,
}

/// Returns the effects of the operations on whole disks.
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
    // The disk of a snapshot may have moved to the second datastore.
    if carried(set).is_some_and(|(_, carry)| carry.moves && carry.snapshots) {
        found.push(WholeDisk { on: On::Second, shares: true });
    }
    found.dedup();
    found
}

/// Text in place of the tile in names of disks and virtual machines of infrastructure operations.
pub const OPERATIONS: &str = "operations";

/// Tile number of operations in paths of random streams. No tile of a step has this number.
const OF_NO_TILE: u32 = u32::MAX;

/// Maximum number of outstanding I/Os of a replayed load. Further I/Os wait in the generator, which
/// counts them. The value is four times the queue of a device in Linux (1023, `nr_requests` of
/// NVMe).
const REPLAY_DEPTH: u32 = 4096;

/// Returns the number of users that exist from the beginning.
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

/// Expands an order into a fleet.
///
/// # Errors
///
/// A workload cannot be built at this scale.
pub fn fleet(plan: &ResolvedPlan, order: StepOrder) -> Result<Fleet, BenchError> {
    let tile = || plan.tile_set.tile.name.clone();
    Fleet::new(plan, order).map_err(|source| BenchError::Build { tile: tile(), source })
}

/// Expands an order into instances with state machines.
///
/// # Errors
///
/// A workload cannot be built at this scale.
pub fn driven(plan: &ResolvedPlan, order: &StepOrder) -> Result<Vec<Driven>, BenchError> {
    let tile = || plan.tile_set.tile.name.clone();
    let fleet = fleet(plan, order.clone())?;
    fleet.drive(plan).map_err(|source| BenchError::Build { tile: tile(), source })
}

/// Returns the entry of an instance in the topology.
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

/// Returns the counts of objects that a recorder needs, for an instance whose first VM is
/// `first_vm`.
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
