use std::sync::Arc;

use spec::replay::{ACTION, KINDS};
use spec::workload::{Burst, CpuMode, Load as SpecLoad, On, UserGroup, Workload};
use state_machine::{DiskId, Operation};
use units::{Bytes, Nanos};

use crate::InstanceMachine;
use crate::compile::Compiler;
use crate::draw::Draw;
use crate::error::{BuildError, unknown};
use crate::group::{Arrivals, Group, Load, Mix, Pace};
use crate::instance::{Seeds, TOKENS_MAX, WorkloadMachine};
use crate::layout::{DiskLayout, Instance, InstancePlan, KindInfo, KindOf};
use crate::moving::{self, Carried, Carry, MoveDisks};
use crate::payload::Data;
use crate::pick::Pick;
use crate::program::Program;
use crate::region::stride;
use crate::replay::{Mapping, ReplayMachine};
use crate::rhythm::{self, Rhythm};
use crate::window::Windows;

/// Compiles a workload into a state machine. The same plan gives the same state machine.
///
/// # Errors
///
/// If a scale is not above zero, if a number of users exceeds what tokens can carry, or if the
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
    let standing: u64 = workload.groups.iter().map(|group| u64::from(standing_users(group))).sum();
    machine.make_room(usize::try_from(standing).unwrap_or(0));
    for (number, group) in workload.groups.iter().enumerate() {
        (0..standing_users(group)).for_each(|user| {
            machine.add_user(number, user as usize);
        });
    }
    Ok(Instance {
        machine: InstanceMachine::Users(Box::new(machine)),
        vms: workload.vms.iter().map(|vm| vm.name.clone()).collect(),
        disks,
        actions: compiled.actions,
        groups: workload.groups.iter().map(|group| group.name.clone()).collect(),
        kinds: compiled.kinds,
        endpoints: workload.endpoints.iter().map(|own| own.name.clone()).collect(),
    })
}

impl Instance {
    /// Wraps the instance so that it can move a disk or make snapshots of it. After its own disks
    /// follow `NAME-moved`, the target of a move, and `NAME-snapshot` (at the target
    /// `NAME-moved-snapshot`). [`KINDS`] follow its own kinds. `seed` chooses the places of a moved
    /// disk that are compared.
    ///
    /// # Errors
    ///
    /// [`BuildError::Unknown`] if the instance has no such disk, [`BuildError::TooMany`] if kinds
    /// or disks exceed the ids.
    pub fn carrying(
        mut self,
        carry: &Carry,
        workload: &Workload,
        seed: u64,
    ) -> Result<Self, BuildError> {
        let user = "an operation that moves disks".to_owned();
        let found = self.disks.iter().position(|disk| disk.name == carry.disk);
        let at = found.ok_or_else(|| unknown(workload, user, "disk", &carry.disk))?;
        let number = |what, count: usize| {
            u16::try_from(count).ok().filter(|count| *count < u16::MAX - 4).ok_or_else(|| {
                let (count, max) = (count as u64, u64::from(u16::MAX));
                BuildError::TooMany { workload: workload.name.clone(), what, count, max }
            })
        };
        let kinds = number("kinds of I/O and calls", self.kinds.len())?;
        let (known, first) = (number("disks", at)?, number("disks", self.disks.len())?);
        let own = self.disks[at].clone();
        let of_vm =
            (0..first).map(DiskId).filter(|disk| self.disks[usize::from(disk.0)].vm == own.vm);
        let of_vm = of_vm.collect();
        let mut next = first;
        // A disk that is missing is never asked for, so it gets the number of the disk itself.
        let mut add = |is_there: bool, suffix: &str, on| {
            if !is_there {
                return DiskId(known);
            }
            self.disks.push(DiskLayout {
                name: format!("{}-{suffix}", own.name),
                on,
                ..own.clone()
            });
            next += 1;
            DiskId(next - 1)
        };
        let place = MoveDisks {
            here: DiskId(known),
            there: add(carry.moves, "moved", On::Second),
            beside: add(carry.snapshots, "snapshot", own.on),
            beside_there: add(carry.moves && carry.snapshots, "moved-snapshot", On::Second),
            known: DiskId(known),
            of_vm,
            size: own.size,
            kinds,
        };
        self.kinds.extend(moving::KINDS.map(|(name, direction)| KindInfo {
            name: name.to_owned(),
            of: KindOf::Io { direction, disk: at },
            ask: None,
        }));
        self.machine =
            InstanceMachine::Carried(Box::new(Carried::new(self.machine, place, carry, seed)));
        Ok(self)
    }
}

/// Builds a replay. Blocks of a recorded load may have any size, so a kind is a direction on all
/// disks together.
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
        machine: InstanceMachine::Replay(Box::new(machine)),
        vms: workload.vms.iter().map(|vm| vm.name.clone()).collect(),
        disks,
        actions: vec![ACTION.to_owned()],
        groups: vec!["trace".to_owned()],
        kinds: kinds
            .map(|(name, direction)| KindInfo {
                name: (*name).to_owned(),
                of: KindOf::Io { direction, disk: 0 },
                ask: None,
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

/// Checks that the tokens can number all users with their strands and counters.
fn check_users(workload: &Workload, program: &Program) -> Result<(), BuildError> {
    let users: u64 = workload.groups.iter().map(|group| u64::from(most_users(group))).sum();
    let each = u64::from(program.strands.max(program.counters));
    let max = TOKENS_MAX / each;
    if users > max { Err(too_many(workload, "users", users, max)) } else { Ok(()) }
}

fn too_many(workload: &Workload, what: &'static str, count: u64, max: u64) -> BuildError {
    BuildError::TooMany { workload: workload.name.clone(), what, count, max }
}

/// Returns the number of users that exist from the beginning. Users of open groups are created on
/// demand.
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
            disks.push(DiskLayout {
                vm,
                name: disk.name.clone(),
                size,
                role: disk.role,
                on: disk.on,
            });
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
            let bursts: Vec<rhythm::BurstPlan> =
                bursts.iter().map(|burst| build_burst(burst, time_scale)).collect();
            let gaps = build_gaps(gaps.iter().flatten());
            let rhythm = Rhythm::new(rate.get(), &gaps, &bursts, &mut stream);
            Load::Open(Box::new(Arrivals::new(stream, rhythm, *outstanding_max)))
        }
    }
}

fn build_burst(burst: &Burst, time_scale: f64) -> rhythm::BurstPlan {
    rhythm::BurstPlan {
        io: burst.io.get(),
        time: burst.time.get(),
        length_ns: burst.length.as_secs_f64() * 1e9 * time_scale,
        gaps: build_gaps(burst.gaps.iter().flatten()),
    }
}

/// Returns the means of interarrival times in seconds, with their weights.
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
