use std::sync::Arc;

use machine::Operation;
use spec::replay::{ACTION, KINDS};
use spec::workload::{Burst, CpuMode, Load as SpecLoad, Role, UserGroup, Workload};
use units::{Bytes, Nanos, ParseError};

use crate::InstanceMachine;
use crate::compile::Compiler;
use crate::draw::Draw;
use crate::group::{Arrivals, Group, Load, Mix, Pace};
use crate::instance::{Seeds, TOKENS_MAX, WorkloadMachine};
use crate::payload::Data;
use crate::pick::Pick;
use crate::program::Program;
use crate::region::stride;
use crate::replay::{Mapping, ReplayMachine, Schedule};
use crate::rhythm::{self, Rhythm};
use crate::window::Windows;

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
    /// Its disks, by `machine::DiskId`.
    pub disks: Vec<DiskLayout>,
    /// Names of its actions, by `machine::ActionId`.
    pub actions: Vec<String>,
    /// Names of its user groups, by `machine::GroupId`.
    pub groups: Vec<String>,
    /// Its kinds of I/O and calls, by `machine::KindId`.
    pub kinds: Vec<KindInfo>,
    /// Names of its endpoints, by `machine::EndpointId`.
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
}

/// A kind of I/O or call. Steps that share a name on several disks or in several directions make
/// several kinds with that name; a limit on the name is a limit on all of them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindInfo {
    /// Its name for limits; by default disk and step, such as `db-read`.
    pub name: String,
    /// What it is.
    pub of: KindOf,
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

/// Why a workload cannot be built. A definition that `spec` has checked gives none of
/// these but the limits on numbers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A scale that scales nothing.
    #[error("{what} scale {value} of workload \"{workload}\" is not a number above 0")]
    Scale {
        /// Footprint or time.
        what: &'static str,
        /// The workload.
        workload: String,
        /// The scale.
        value: f64,
    },
    /// A name that is not defined.
    #[error("{user} of workload \"{workload}\" names {what} \"{name}\", which does not exist")]
    Unknown {
        /// The workload.
        workload: String,
        /// What uses the name: an action or a group.
        user: String,
        /// Disk, endpoint, VM or action.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A block size in a mix that cannot be read.
    #[error("block size in {user} of workload \"{workload}\"")]
    BlockSize {
        /// The workload.
        workload: String,
        /// The action.
        user: String,
        /// What is wrong with the text.
        #[source]
        source: Box<ParseError>,
    },
    /// Weights that choose nothing.
    #[error(
        "weights of {user} of workload \"{workload}\" are not all finite, zero or more, and one \
         above zero"
    )]
    Weights {
        /// The workload.
        workload: String,
        /// A group, a phase or a block-size mix.
        user: String,
    },
    /// An action that does nothing, which a user would repeat for ever without time passing.
    #[error("action \"{action}\" of workload \"{workload}\" has no step that takes place")]
    EmptyAction {
        /// The workload.
        workload: String,
        /// The action.
        action: String,
    },
    /// A replay whose trace was not read.
    #[error("the trace of workload \"{workload}\" was not read")]
    NoTrace {
        /// The workload.
        workload: String,
    },
    /// A replay with other disks than its trace was read for.
    #[error("workload \"{workload}\" has {disks} disks, and its trace was read for {devices}")]
    OtherDisks {
        /// The workload.
        workload: String,
        /// Its disks.
        disks: usize,
        /// Devices in the schedule.
        devices: usize,
    },
    /// More of something than ids allow.
    #[error("workload \"{workload}\" has {count} {what}; at most {max} can be numbered")]
    TooMany {
        /// The workload.
        workload: String,
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        max: u64,
    },
}

/// Compiles a workload into a machine. The same plan gives the same machine.
///
/// # Errors
///
/// When a scale is not above zero, a number of users exceeds what tokens can carry, or the
/// definition was not checked and contradicts itself.
pub fn build(plan: &InstancePlan) -> Result<Instance, BuildError> {
    let workload = plan.workload;
    check_scales(plan)?;
    check_counts(workload)?;
    let disks = lay_out_disks(plan)?;
    let seeds = Seeds {
        seed: plan.seed,
        path: [plan.tile, plan.position, plan.copy].map(u64::from),
        round: plan.round,
    };
    if workload.replay.is_some() {
        return build_replay(plan, disks, seeds);
    }
    let compiled = Compiler::new(plan, &disks, &seeds).compile()?;
    check_users(workload, &compiled.program)?;
    let groups = build_groups(plan, &seeds)?;
    let payload = seeds.payload();
    let cpu = plan.cpu.unwrap_or(workload.cpu);
    let mut machine =
        WorkloadMachine::new(compiled.program, groups, compiled.addresses, payload, seeds);
    machine.burn = cpu == CpuMode::Burn;
    for (number, group) in workload.groups.iter().enumerate() {
        (0..standing_users(group)).for_each(|user| {
            machine.add_user(number, user as usize);
        });
    }
    Ok(Instance {
        machine: InstanceMachine::Users(machine),
        vms: workload.vms.iter().map(|vm| vm.name.clone()).collect(),
        disks,
        actions: workload.actions.iter().map(|action| action.name.clone()).collect(),
        groups: workload.groups.iter().map(|group| group.name.clone()).collect(),
        kinds: compiled.kinds,
        endpoints: workload.endpoints.iter().map(|own| own.name.clone()).collect(),
    })
}

/// Blocks of a recorded load may be of any size: a kind is a direction on all disks together.
fn build_replay(
    plan: &InstancePlan,
    disks: Vec<DiskLayout>,
    seeds: Seeds,
) -> Result<Instance, BuildError> {
    let workload = plan.workload;
    let name = || workload.name.clone();
    let schedule = plan.schedule.ok_or_else(|| BuildError::NoTrace { workload: name() })?;
    let devices = schedule.ends().len();
    if devices != disks.len() {
        return Err(BuildError::OtherDisks { workload: name(), disks: disks.len(), devices });
    }
    let mapping = Mapping::of_blocks(disks.iter().map(|disk| disk.size));
    let data = Data::new(&workload.data);
    let machine = ReplayMachine::new(Arc::clone(schedule), mapping, data, seeds);
    let directions = [Operation::Read, Operation::Write, Operation::Flush];
    let kinds = KINDS.iter().zip(directions);
    Ok(Instance {
        machine: InstanceMachine::Replay(machine),
        vms: workload.vms.iter().map(|vm| vm.name.clone()).collect(),
        disks,
        actions: vec![ACTION.to_owned()],
        groups: vec!["trace".to_owned()],
        kinds: kinds
            .map(|(name, direction)| KindInfo {
                name: (*name).to_owned(),
                of: KindOf::Io { direction, disk: 0 },
            })
            .collect(),
        endpoints: Vec::new(),
    })
}

fn check_scales(plan: &InstancePlan) -> Result<(), BuildError> {
    for (what, value) in [("footprint", plan.footprint), ("time", plan.time_scale)] {
        if !(value.is_finite() && value > 0.0) {
            let workload = plan.workload.name.clone();
            return Err(BuildError::Scale { what, workload, value });
        }
    }
    Ok(())
}

fn check_counts(workload: &Workload) -> Result<(), BuildError> {
    let disks: usize = workload.vms.iter().map(|vm| vm.disks.len()).sum();
    let max = u64::from(u16::MAX);
    for (what, count) in [
        ("VMs", workload.vms.len()),
        ("disks", disks),
        ("actions", workload.actions.len()),
        ("user groups", workload.groups.len()),
        ("endpoints", workload.endpoints.len()),
    ] {
        if count as u64 > max {
            return Err(too_many(workload, what, count as u64, max));
        }
    }
    Ok(())
}

/// Users, with all their strands and counters, must fit the tokens.
fn check_users(workload: &Workload, program: &Program) -> Result<(), BuildError> {
    let users: u64 = workload.groups.iter().map(|group| u64::from(most_users(group))).sum();
    let each = u64::from(program.strands.max(program.counters));
    let max = TOKENS_MAX / each;
    if users > max { Err(too_many(workload, "users", users, max)) } else { Ok(()) }
}

fn too_many(workload: &Workload, what: &'static str, count: u64, max: u64) -> BuildError {
    BuildError::TooMany { workload: workload.name.clone(), what, count, max }
}

/// Users that exist from the beginning; those of open groups are made as they are needed.
fn standing_users(group: &UserGroup) -> u32 {
    match group.load {
        SpecLoad::Closed { users, .. } | SpecLoad::Paced { users, .. } => users,
        SpecLoad::Open { .. } => 0,
    }
}

fn most_users(group: &UserGroup) -> u32 {
    match group.load {
        SpecLoad::Closed { users, .. } | SpecLoad::Paced { users, .. } => users,
        SpecLoad::Open { outstanding_max, .. } => outstanding_max.max(1),
    }
}

fn lay_out_disks(plan: &InstancePlan) -> Result<Vec<DiskLayout>, BuildError> {
    let mut disks = Vec::new();
    for (vm, machine) in plan.workload.vms.iter().enumerate() {
        for disk in &machine.disks {
            let largest = crate::sizes::largest_block(plan.workload, &disk.name)?;
            let wanted = disk.size.scale(plan.footprint);
            let least = Bytes::new(4 * stride(largest));
            let size = wanted.max(least).max(Bytes::MIB).round_up(Bytes::MIB);
            disks.push(DiskLayout { vm, name: disk.name.clone(), size, role: disk.role });
        }
    }
    Ok(disks)
}

fn build_groups(plan: &InstancePlan, seeds: &Seeds) -> Result<Vec<Group>, BuildError> {
    plan.workload
        .groups
        .iter()
        .enumerate()
        .map(|(number, group)| build_group(plan, seeds, number, group))
        .collect()
}

fn build_group(
    plan: &InstancePlan,
    seeds: &Seeds,
    number: usize,
    group: &UserGroup,
) -> Result<Group, BuildError> {
    let workload = plan.workload;
    let user = format!("group \"{}\"", group.name);
    let vm = workload.vms.iter().position(|vm| vm.name == group.vm);
    let Some(vm) = vm.and_then(|vm| u16::try_from(vm).ok()) else {
        return Err(unknown(workload, user, "VM", &group.vm));
    };
    let mix = match &group.mix {
        Some(mix) => build_mix(workload, &user, mix.iter().map(|(name, w)| (name.as_str(), *w)))?,
        None => {
            let actions = workload.actions.iter();
            build_mix(workload, &user, actions.map(|a| (a.name.as_str(), a.weight)))?
        }
    };
    let phases = group.phases.iter().map(|phase| {
        let user = format!("a phase of {user}");
        let mix = phase.mix.iter().map(|(name, weight)| (name.as_str(), *weight));
        let windows = Windows::new(&phase.schedule, plan.time_scale);
        Ok((windows, build_mix(workload, &user, mix)?))
    });
    let schedule = group.schedule.as_ref();
    Ok(Group {
        vm,
        load: build_load(seeds, number, &group.load, plan.time_scale),
        windows: schedule.map_or(Windows::ALWAYS, |s| Windows::new(s, plan.time_scale)),
        mix,
        phases: phases.collect::<Result<_, _>>()?,
    })
}

fn build_load(seeds: &Seeds, number: usize, load: &SpecLoad, time_scale: f64) -> Load {
    match load {
        SpecLoad::Closed { think, .. } => Load::Closed { think: Draw::new(think) },
        SpecLoad::Paced { users, rate, backlog } => {
            let period_ns = f64::from(*users) / rate.get() * 1e9;
            Load::Paced { pace: Pace { period_ns }, backlog: *backlog as usize }
        }
        SpecLoad::Open { rate, outstanding_max, gaps, bursts } => {
            let mut stream = seeds.arrivals(number);
            let bursts: Vec<rhythm::Wanted> =
                bursts.iter().map(|burst| build_burst(burst, time_scale)).collect();
            let gaps = build_gaps(gaps.iter().flatten());
            let rhythm = Rhythm::new(rate.get(), &gaps, &bursts, &mut stream);
            Load::Open(Box::new(Arrivals::new(stream, rhythm, *outstanding_max)))
        }
    }
}

fn build_burst(burst: &Burst, time_scale: f64) -> rhythm::Wanted {
    rhythm::Wanted {
        io: burst.io.get(),
        time: burst.time.get(),
        length_ns: burst.length.as_secs_f64() * 1e9 * time_scale,
        gaps: build_gaps(burst.gaps.iter().flatten()),
    }
}

/// Seconds and weights.
fn build_gaps<'a>(gaps: impl Iterator<Item = (&'a String, &'a f64)>) -> Vec<(f64, f64)> {
    gaps.filter_map(|(gap, weight)| Some((gap.parse::<Nanos>().ok()?.as_secs_f64(), *weight)))
        .collect()
}

fn build_mix<'a>(
    workload: &Workload,
    user: &str,
    weights: impl Iterator<Item = (&'a str, f64)>,
) -> Result<Mix, BuildError> {
    let (mut actions, mut chances) = (Vec::new(), Vec::new());
    for (name, weight) in weights {
        let place = workload.actions.iter().position(|action| action.name == name);
        let place = place.and_then(|place| u16::try_from(place).ok());
        actions.push(place.ok_or_else(|| unknown(workload, user.to_owned(), "action", name))?);
        chances.push(weight);
    }
    let pick = Pick::new(&chances).ok_or_else(|| BuildError::Weights {
        workload: workload.name.clone(),
        user: user.to_owned(),
    })?;
    Ok(Mix { pick, actions: actions.into_boxed_slice() })
}

/// A name that is not defined.
pub fn unknown(workload: &Workload, user: String, what: &'static str, name: &str) -> BuildError {
    BuildError::Unknown { workload: workload.name.clone(), user, what, name: name.to_owned() }
}
