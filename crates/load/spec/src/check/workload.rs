use units::{Bytes, Nanos, Rate, Ratio};

use super::access::{ROUNDING, Steps, percent, time};
use super::finding::{Finding, Findings};
use super::limits;
use super::replay::replay_kinds;
use crate::locate::DefinitionPath;
use crate::workload::{
    Action, Burst, Counted, Load, RandomTime, Schedule, Step, Time, UserGroup, Workload,
};

/// Minimum duration of a burst. Shorter bursts are described by interarrival times.
const BURST_MIN: Nanos = Nanos::from_millis(10);

/// Finds all semantic errors in a workload.
pub(crate) fn workload_findings(workload: &Workload) -> Vec<Finding> {
    let mut found = Findings::default();
    let root = DefinitionPath::default();
    found.names("workload", [(root.key("name"), workload.name.as_str())]);
    found.says_something(root.key("title"), "the title", &workload.title);
    found.says_something(root.key("source"), "the source", &workload.source);
    machines(workload, &mut found);
    found.names(
        "action",
        workload
            .actions
            .iter()
            .enumerate()
            .map(|(i, action)| (root.key("action").index(i).key("name"), action.name.as_str())),
    );
    let kinds = match &workload.replay {
        Some(replay) => replay_kinds(workload, replay, &mut found),
        None => Steps::check(workload, &mut found),
    };
    found.names(
        "endpoint",
        workload.endpoints.iter().enumerate().map(|(i, endpoint)| {
            (root.key("endpoint").index(i).key("name"), endpoint.name.as_str())
        }),
    );
    application(workload, &mut found);
    groups(workload, &mut found);
    limits::metric(workload, &kinds, &mut found);
    limits::limits(workload, &kinds, &mut found);
    ideal_speed(workload, &mut found);
    found.into_vec()
}

fn application(workload: &Workload, found: &mut Findings) {
    let Some(application) = workload.application else { return };
    let place = DefinitionPath::default().key("application");
    if application.size == Bytes::ZERO {
        found.add(place.key("size"), "the size is 0 and must be above 0");
    }
    let protocols = application.kind.protocols();
    if !workload.endpoints.iter().any(|endpoint| protocols.contains(&endpoint.protocol)) {
        let names: Vec<&str> = protocols.iter().map(|own| own.name()).collect();
        let message =
            format!("no endpoint speaks {}, the protocol of this application", names.join(" or "));
        found.add(place.key("kind"), message);
    }
}

/// Kind of object in a workload whose time is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    /// An action, or a stage of an action.
    Action,
    /// A kind of I/O.
    Io,
    /// A kind of call.
    Call,
}

/// Returns the objects of a valid workload that can have limits.
pub(crate) fn timed(workload: &Workload) -> Vec<(Timed, String)> {
    let mut found = Findings::default();
    let kinds = match &workload.replay {
        Some(replay) => replay_kinds(workload, replay, &mut found),
        None => Steps::check(workload, &mut found),
    };
    let actions = workload.actions.iter().flat_map(Action::names);
    let kinds = kinds
        .into_iter()
        .map(|(name, kind)| (if kind.is_call() { Timed::Call } else { Timed::Io }, name));
    actions.map(|name| (Timed::Action, name)).chain(kinds).collect()
}

fn machines(workload: &Workload, found: &mut Findings) {
    let vm = DefinitionPath::default().key("vm");
    found.not_empty(vm.clone(), "the list of virtual machines", &workload.vms);
    let vms = workload.vms.iter().enumerate();
    found.names(
        "vm",
        vms.clone().map(|(i, machine)| (vm.index(i).key("name"), machine.name.as_str())),
    );
    found.names(
        "disk",
        vms.clone().flat_map(|(i, machine)| {
            let disks = vm.index(i).key("disk");
            machine
                .disks
                .iter()
                .enumerate()
                .map(move |(j, disk)| (disks.index(j).key("name"), disk.name.as_str()))
        }),
    );
    for (i, machine) in vms {
        found.at_least_one(vm.index(i).key("vcpus"), "the number of vCPUs", machine.vcpus);
    }
}

fn groups(workload: &Workload, found: &mut Findings) {
    let users = DefinitionPath::default().key("users");
    found.names(
        "group of users",
        workload
            .groups
            .iter()
            .enumerate()
            .map(|(i, group)| (users.index(i).key("name"), group.name.as_str())),
    );
    let vms: Vec<&str> = workload.vms.iter().map(|vm| vm.name.as_str()).collect();
    for (i, group) in workload.groups.iter().enumerate() {
        let place = users.index(i);
        found.known(place.key("vm"), "vm", &group.vm, &vms);
        load(&group.load, &place.key("load"), found);
        if let Some(when) = &group.schedule {
            schedule(when, &place.key("schedule"), found);
        }
        if let Some(weights) = &group.mix {
            mix(weights, workload, &place.key("mix"), found);
        }
        for (j, phase) in group.phases.iter().enumerate() {
            let phase_place = place.key("phase").index(j);
            schedule(&phase.schedule, &phase_place.key("schedule"), found);
            mix(&phase.mix, workload, &phase_place.key("mix"), found);
        }
    }
    action_weights(workload, found);
}

fn action_weights(workload: &Workload, found: &mut Findings) {
    let action = DefinitionPath::default().key("action");
    let weights = workload
        .actions
        .iter()
        .enumerate()
        .map(|(i, one)| (action.index(i).key("weight"), one.weight));
    if workload.groups.iter().all(|group| group.mix.is_some()) {
        // No random choice uses these weights, so they need no positive sum.
        found.each_weight(weights);
    } else if workload.actions.is_empty() {
        found.add(
            DefinitionPath::default().key("users"),
            "there are users, but no action they could do",
        );
    } else {
        found.weights(action.clone(), weights);
    }
}

fn mix(
    weights: &indexmap::IndexMap<String, f64>,
    workload: &Workload,
    place: &DefinitionPath,
    found: &mut Findings,
) {
    let actions: Vec<&str> = workload.actions.iter().map(|action| action.name.as_str()).collect();
    if weights.is_empty() {
        found.add(place.clone(), "the mix is empty");
        return;
    }
    for name in weights.keys() {
        found.known(place.at_key(name), "action", name, &actions);
    }
    found.weights(place.clone(), weights.iter().map(|(name, weight)| (place.key(name), *weight)));
}

fn load(load: &Load, place: &DefinitionPath, found: &mut Findings) {
    let positive = |rate: Rate, place: DefinitionPath, found: &mut Findings| {
        if rate.get() <= 0.0 {
            found.add(place, "the rate is 0 and must be above 0");
        }
    };
    match load {
        Load::Closed { users, think } => {
            found.at_least_one(place.key("closed").key("users"), "the number of users", *users);
            time(think, &place.key("closed").key("think"), found);
        }
        Load::Paced { users, rate, .. } => {
            found.at_least_one(place.key("paced").key("users"), "the number of users", *users);
            positive(*rate, place.key("paced").key("rate"), found);
        }
        Load::Open { rate, outstanding_max, gaps, bursts } => {
            let open = place.key("open");
            positive(*rate, open.key("rate"), found);
            found.at_least_one(open.key("outstanding-max"), "outstanding-max", *outstanding_max);
            if let Some(gaps) = gaps {
                self::gaps(gaps, &open.key("gaps"), found);
            }
            self::bursts(bursts, &open.key("bursts"), found);
        }
    }
}

fn bursts(bursts: &[Burst], place: &DefinitionPath, found: &mut Findings) {
    for (i, burst) in bursts.iter().enumerate() {
        let place = place.index(i);
        for (key, share) in [("io", burst.io), ("time", burst.time)] {
            if share == Ratio::ZERO {
                found.add(place.key(key), format!("{key} is 0% and must be above 0%"));
            }
        }
        if burst.time == Ratio::ONE {
            found.add(place.key("time"), "a burst that takes all of the time is not a burst");
        }
        if burst.length < BURST_MIN {
            let message = format!("the length {} is below {BURST_MIN}", burst.length);
            found.add(place.key("length"), message);
        }
        if let Some(gaps) = &burst.gaps {
            self::gaps(gaps, &place.key("gaps"), found);
        }
    }
    let io: f64 = bursts.iter().map(|burst| burst.io.get()).sum();
    if io > 1.0 + ROUNDING {
        found.add(place.clone(), format!("the bursts take {} of the arrivals", percent(io)));
    }
}

fn gaps(gaps: &indexmap::IndexMap<String, f64>, place: &DefinitionPath, found: &mut Findings) {
    for key in gaps.keys() {
        match key.parse::<Nanos>() {
            Err(error) => found.add(place.at_key(key), error.to_string()),
            Ok(Nanos::ZERO) => found.add(place.at_key(key), "the gap is 0 and must be above 0"),
            Ok(_) => {}
        }
    }
    if gaps.is_empty() {
        found.add(place.clone(), "the mix of gaps is empty");
    } else {
        found.weights(place.clone(), gaps.iter().map(|(key, weight)| (place.key(key), *weight)));
    }
}

fn schedule(schedule: &Schedule, place: &DefinitionPath, found: &mut Findings) {
    if let Some(active) = schedule.active {
        found.some_time(place.key("active"), "the active time", active);
    }
    match (schedule.active, schedule.every) {
        (_, Some(Nanos::ZERO)) => {
            found.add(place.key("every"), "the period is 0 and must be above 0");
        }
        (Some(active), Some(every)) if active > every => found.add(
            place.key("active"),
            format!("the active time {active} is longer than the period {every}"),
        ),
        (None, Some(_)) => found.add_help(
            place.key("every"),
            "a period without an active time",
            "add how long of each period it is active, such as active = \"3m\"",
        ),
        _ => {}
    }
}

/// Finds closed loops without any waiting. They run as fast as the storage. With ideal storage they
/// would be infinitely fast, so the reference could not be computed. Without I/O such a loop never
/// ends.
fn ideal_speed(workload: &Workload, found: &mut Findings) {
    let mut endless = false;
    for (i, group) in workload.groups.iter().enumerate() {
        let Load::Closed { think, .. } = group.load else { continue };
        if takes_time(&think) {
            continue;
        }
        for action in workload.actions.iter().filter(|action| may_do(group, action)) {
            if !action.steps.iter().any(Step::has_io) && !action.steps.iter().any(step_takes_time) {
                found.add_help(
                    DefinitionPath::default().key("users").index(i).key("load"),
                    format!("action \"{}\" takes no time, so its users would spin", action.name),
                    "add a think time, an I/O step or a wait",
                );
            }
            endless |= !action.steps.iter().any(step_takes_time);
        }
    }
    if endless && workload.metric.reference.is_none() && workload.metric.count != Counted::None {
        found.add_help(
            DefinitionPath::default().key("metric"),
            "a closed loop without think time has no rate of its own, so the metric needs a \
            reference",
            "add metric.reference: the value that counts as one tile's worth",
        );
    }
}

fn may_do(group: &UserGroup, action: &Action) -> bool {
    let named = |mix: &indexmap::IndexMap<String, f64>| {
        mix.get(&action.name).is_some_and(|weight| *weight > 0.0)
    };
    group.mix.as_ref().map_or(action.weight > 0.0, named)
        || group.phases.iter().any(|phase| named(&phase.mix))
}

fn takes_time(time: &Time) -> bool {
    match time {
        Time::Fixed(time) | Time::Random(RandomTime::Exponential(time)) => *time > Nanos::ZERO,
        Time::Random(RandomTime::Uniform(_, high)) => *high > Nanos::ZERO,
    }
}

fn step_takes_time(step: &Step) -> bool {
    match step {
        Step::Cpu(time) | Step::Wait(time) => takes_time(time),
        Step::Move(_) | Step::Snapshot(_) => true,
        other => other.inner().iter().any(step_takes_time),
    }
}
