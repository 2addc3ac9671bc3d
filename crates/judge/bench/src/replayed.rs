use std::collections::BTreeMap;

use run_store::run::{Check, LimitResult, Phase, Step};
use run_store::series::{OpenOn, StoredSlice};
use run_store::slice::{
    ActionRow, CallRow, InstanceEntry, InstanceId, IoRow, OpenRow, Slice, Topology, Unfinished,
    VmEntry, VmId,
};
use spec::ResolvedTile;
use spec::workload::{Action, Workload};
use units::Nanos;

use crate::fleet::{Member, members_of};
use crate::placed::Placed;
use crate::score::{References, SliceWork, slice_work};
use crate::step::against::Sums;
use crate::step::checks::{LittleSums, SUBMITTED_IS_COMPLETED};
use crate::step::course::steady_of;
use crate::step::report::{StepFacts, StepPlace};
use crate::step::runner::{Beside, excuse};
use crate::step::{Rounds, waits};
use crate::verdict::{
    CONFIDENCE, Judged, LimitSamples, StepJudge, excuse_silent_service, fail_undelivered,
    judge_limit,
};
use crate::window::{ActionTotals, KindTotals, Window};

/// A step that is rebuilt from its stored slices.
pub struct Replayed<'a> {
    tile: &'a ResolvedTile,
    members: Vec<Member>,
    /// Position of each workload instance, keyed by tile, name and copy.
    positions: BTreeMap<(Option<u32>, String, u32), usize>,
    topology: Topology,
    placed: Placed,
    window: Window,
    samples: LimitSamples,
    rounds: Rounds,
    slices_per_block: usize,
    has_begun: bool,
    /// I/Os in flight at the end of the last slice.
    in_flight: u64,
    work: Vec<SliceWork>,
    little: LittleSums,
    operations: Sums,
    /// Number of rows with workloads that the tile does not have.
    pub strangers: u64,
}

impl<'a> Replayed<'a> {
    /// Creates a stored step without slices.
    pub fn new(tile: &'a ResolvedTile, step: &Step, slices_per_block: usize) -> Self {
        let tiles = step.tiles;
        let placed = Placed::of_step(&step.hosts, tiles);
        let (members, mut positions) = (members_of(tile, tiles), BTreeMap::new());
        let mut topology = Topology::default();
        for (at, member) in members.iter().enumerate() {
            let (workload, _) = tile.at(member.workload);
            positions.insert((member.tile, workload.name.clone(), member.copy), at);
            topology.instances.push(InstanceEntry {
                tile: member.tile,
                workload: workload.name.clone(),
                copy: member.copy,
                host: None,
                actions: names_of(workload),
                groups: vec![String::new()],
                kinds: Vec::new(),
            });
            // Rows have no VM of the instance, and none is needed here.
            let instance = InstanceId(id(at));
            topology.vms.push(VmEntry { instance, name: String::new() });
        }
        let window = Window::new(&topology, Nanos::ZERO, 0);
        let judge = StepJudge { tile, members: &members, topology: &topology, placed: &placed };
        let operations = Sums::of_operations(&judge);
        let samples = LimitSamples::new(&judge, slices_per_block);
        Self {
            tile,
            members,
            positions,
            topology,
            placed,
            window,
            samples,
            rounds: Rounds::new(slices_per_block),
            slices_per_block,
            has_begun: false,
            in_flight: 0,
            work: Vec::new(),
            little: LittleSums::new(!step.hosts.is_empty()),
            operations,
            strangers: 0,
        }
    }

    /// Adds the next slice.
    pub fn take(&mut self, stored: StoredSlice) {
        let phase = stored.key.phase;
        if phase == Phase::Measured && !self.has_begun {
            self.has_begun = true;
            self.window = Window::new(&self.topology, stored.start, self.in_flight);
        }
        let slice = self.slice(stored);
        self.little.add(&slice);
        self.in_flight = slice.generator.in_flight;
        if phase == Phase::Measured {
            self.window.add(&slice);
            self.rounds.add(&slice);
            let Self { tile, members, topology, placed, samples, operations, .. } = self;
            let judge = StepJudge { tile, members, topology, placed };
            samples.add(&judge, &slice);
            operations.add_operations(&judge, &slice);
            self.work.push(slice_work(self.tile, &self.members, &self.topology, &slice));
        }
    }

    /// Converts a stored slice to the form that the driver reported, without the names of VMs and
    /// groups.
    fn slice(&mut self, stored: StoredSlice) -> Slice {
        let mut slice = Slice {
            start: stored.start,
            width: stored.width,
            generator: stored.generator.unwrap_or_default(),
            ..Slice::default()
        };
        for row in stored.io {
            let Some(instance) = self.position(row.tile, row.workload, row.copy) else { continue };
            slice.io.push(IoRow {
                vm: VmId(id(instance)),
                kind: self.kind(instance, row.kind),
                direction: row.direction,
                class: row.class,
                bytes: row.bytes,
                errors: row.errors,
                service: row.service,
                response: row.response,
            });
        }
        for row in stored.calls {
            let Some(instance) = self.position(row.tile, row.workload, row.copy) else { continue };
            slice.calls.push(CallRow {
                instance: InstanceId(id(instance)),
                kind: self.kind(instance, row.kind),
                bytes: row.bytes,
                errors: row.errors,
                service: row.service,
                response: row.response,
            });
        }
        for row in stored.actions {
            let Some(instance) = self.position(row.tile, row.workload, row.copy) else { continue };
            slice.actions.push(ActionRow {
                instance: InstanceId(id(instance)),
                action: self.action(instance, row.action),
                group: 0,
                errors: row.errors,
                dropped: row.dropped,
                service: row.service,
                response: row.response,
            });
        }
        for row in stored.open {
            let Some(instance) = self.position(row.tile, row.workload, row.copy) else { continue };
            let what = match row.on {
                OpenOn::Io(direction) => Unfinished::Io(self.kind(instance, row.name), direction),
                OpenOn::Call => Unfinished::Call(self.kind(instance, row.name)),
                OpenOn::Action => Unfinished::Action(self.action(instance, row.name)),
                OpenOn::Start => Unfinished::Start(self.action(instance, row.name)),
            };
            slice.open.push(OpenRow { instance: InstanceId(id(instance)), what, ages: row.ages });
        }
        slice
    }

    fn position(&mut self, tile: Option<u32>, workload: String, copy: u32) -> Option<usize> {
        let found = self.positions.get(&(tile, workload, copy)).copied();
        self.strangers += u64::from(found.is_none());
        found
    }

    fn kind(&mut self, instance: usize, name: String) -> u16 {
        let totals = &mut self.window.instances[instance].kinds;
        number_of(&mut self.topology.instances[instance].kinds, name, || {
            totals.push(KindTotals::default());
        })
    }

    fn action(&mut self, instance: usize, name: String) -> u16 {
        let totals = &mut self.window.instances[instance].actions;
        number_of(&mut self.topology.instances[instance].actions, name, || {
            totals.push(ActionTotals::default());
        })
    }

    /// Returns the first limit of a workload, evaluated over all tiles together.
    pub fn pooled_limit(&self, workload: usize) -> LimitResult {
        let Self { tile, members, topology, placed, .. } = self;
        let judge = StepJudge { tile, members, topology, placed };
        let samples = self.samples.together(&judge, (workload, 0));
        judge_limit(&tile.at(workload).0.limits[0], &samples, CONFIDENCE)
    }

    /// Returns the step rebuilt from these slices, and its judgement. Values that are in no series
    /// are taken from the stored step.
    pub fn conclude(self, stored: &Step, references: &References, seed: u64) -> (Step, Judged) {
        let Self { tile, members, topology, placed, .. } = &self;
        let judge = StepJudge { tile, members, topology, placed };
        let mut judged = judge.judge(&self.window, &self.samples);
        // Values that are in no series are taken from the stored step: completions after the last
        // slice, and disturbances.
        let beyond = |check: &&Check| check.id == SUBMITTED_IS_COMPLETED;
        let mut checks = Vec::from_iter(self.little.check());
        checks.extend(stored.checks.iter().find(beyond).cloned());
        let steady = steady_of(&self.rounds, !stored.events.is_empty());
        let mut hosts = stored.hosts.clone();
        for (host, limits) in hosts.iter_mut().zip(&judged.hosts) {
            host.limits.clone_from(limits);
        }
        fail_undelivered(&mut judged, &stored.warnings);
        excuse_silent_service(&mut judged, &stored.warnings);
        excuse(&mut judged, &checks, &steady, &Beside::of(&stored.disturbances, &hosts));
        let facts = StepFacts {
            gauges: stored.gauges.clone(),
            tile: self.tile,
            references,
            members: &self.members,
            topology: &self.topology,
            window: &self.window,
            judged: judged.clone(),
            disturbances: stored.disturbances.clone(),
            hosts,
            under_operations: self.operations.under_operations(seed),
            events: stored.events.clone(),
            steady,
            work: &self.work,
            slices_per_block: self.slices_per_block,
            seed,
        };
        let place = StepPlace {
            step: stored.step,
            repeat: stored.repeat,
            order: stored.order,
            tiles: stored.tiles,
            started: stored.started,
        };
        let warm_up = stored.warm_up.clone();
        let mut step = facts.step(&place, warm_up, checks, stored.warnings.clone());
        step.model.clone_from(&stored.model);
        if stored.waits.is_empty() {
            // Earlier versions did not compute waits.
            step.waits.clear();
        }
        waits::tell(&mut step);
        (step, judged)
    }
}

/// Returns the names of actions, then of their stages, in the order in which state machines number
/// them.
fn names_of(workload: &Workload) -> Vec<String> {
    let whole = workload.actions.iter().map(|own| own.name.clone());
    whole.chain(workload.actions.iter().flat_map(Action::stages)).collect()
}

/// Returns the position of a name in a list. Adds a new name to the list and calls `added`.
fn number_of(names: &mut Vec<String>, name: String, mut added: impl FnMut()) -> u16 {
    let position = names.iter().position(|own| *own == name).unwrap_or_else(|| {
        names.push(name);
        added();
        names.len() - 1
    });
    u16::try_from(position).unwrap_or(u16::MAX)
}

fn id(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
