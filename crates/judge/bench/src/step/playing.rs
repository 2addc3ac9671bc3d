use std::collections::BTreeSet;
use std::sync::Arc;

use run_store::run::{Latency, PlayedTrace, ReplayFacts};
use run_store::slice::{Slice, VmId};
use spec::replay::Replay;
use units::{Bytes, Nanos};
use workload::replay::{Mapping, Schedule};

use crate::fleet::FleetInstance;
use crate::plan::ResolvedPlan;
use crate::rig::LoadOutcome;

/// Delay above which an I/O counts as late.
const LATE: Nanos = Nanos::from_millis(1);

/// Recorded loads of a step during their replay.
#[derive(Debug, Default)]
pub struct Playing {
    /// For each instance: true if it replays a trace.
    plays: Vec<bool>,
    /// First replaying copy of each replaying workload: position, schedule, and mapping to its
    /// disks.
    first: Vec<(usize, Arc<Schedule>, Mapping)>,
    copies: u32,
    ended: u32,
    elapsed: Option<Nanos>,
    /// VMs whose I/O is a replay.
    vms: BTreeSet<VmId>,
    answered: u64,
}

impl Playing {
    /// Returns the recorded loads of these instances of a plan.
    pub fn of(plan: &ResolvedPlan, instances: &[FleetInstance]) -> Self {
        let mut playing = Self::default();
        for instance in instances {
            let position = instance.member.workload;
            let schedule = plan.traces.schedule(position);
            playing.plays.push(schedule.is_some());
            let Some(schedule) = schedule else { continue };
            playing.copies += 1;
            playing.vms.extend(instance.shape.disk_vms.iter().copied());
            if !playing.first.iter().any(|(known, ..)| *known == position) {
                let mapping = Mapping::of_blocks(instance.disks.iter().map(|disk| disk.size));
                playing.first.push((position, Arc::clone(schedule), mapping));
            }
        }
        playing
    }

    /// Counts the copies that ended in a slice.
    pub fn see(&mut self, slice: &Slice) {
        let own = slice.io.iter().filter(|row| self.vms.contains(&row.vm));
        self.answered += own.map(|row| row.service.count() + row.errors).sum::<u64>();
        for row in &slice.actions {
            let ended = row.service.count() + row.errors;
            if ended == 0 || !self.plays.get(row.instance.0 as usize).is_some_and(|plays| *plays) {
                continue;
            }
            self.ended += 1;
            let took = Nanos(u64::try_from(row.service.sum_ns).unwrap_or(u64::MAX));
            self.elapsed = self.elapsed.max((row.errors == 0).then_some(took));
        }
    }

    /// Returns true if there was only recorded load, and it has ended.
    pub fn is_over(&self) -> bool {
        !self.plays.is_empty() && self.plays.iter().all(|plays| *plays) && self.ended >= self.copies
    }

    /// Returns true if there is only recorded load.
    fn is_alone(&self) -> bool {
        self.plays.iter().all(|plays| *plays)
    }

    /// Returns true if there is any recorded load.
    pub const fn is_any(&self) -> bool {
        self.copies > 0
    }

    /// Returns the facts about the replay.
    pub fn facts(
        &self,
        plan: &ResolvedPlan,
        unit: Bytes,
        outcome: &LoadOutcome,
    ) -> Option<ReplayFacts> {
        if !self.is_any() {
            return None;
        }
        let late = &outcome.handed_over_late;
        Some(ReplayFacts {
            traces: self.first.iter().filter_map(|one| played(plan, unit, one)).collect(),
            copies: self.copies,
            ended: self.ended,
            elapsed_ns: self.elapsed.map(|elapsed| elapsed.0),
            // Beside other load, only completions are known by VM; submissions are counted
            // together.
            submitted: if self.is_alone() { outcome.submitted } else { self.answered },
            submission_error: Latency::from(late),
            late_1ms: late.expand().count_above(LATE),
        })
    }
}

fn played(
    plan: &ResolvedPlan,
    unit: Bytes,
    (position, schedule, mapping): &(usize, Arc<Schedule>, Mapping),
) -> Option<PlayedTrace> {
    let (workload, _) = plan.tile_set.workloads.get(*position)?;
    let Replay { trace, vm, speed, .. } = workload.replay.as_ref()?;
    let recording = plan.traces.recording(*position)?;
    let (counts, folded) = (schedule.counts(), mapping.in_units_of(unit).folded(schedule));
    Some(PlayedTrace {
        workload: workload.name.clone(),
        trace: trace.clone(),
        format: recording.format.clone(),
        vm: vm.clone(),
        devices: recording.devices.clone(),
        pace: recording.pace().to_owned(),
        speed: speed.to_string(),
        ios: schedule.len(),
        bytes: counts.bytes,
        trace_span_ns: schedule.trace_span().0,
        memory_bytes: schedule.bytes(),
        discards: counts.discards,
        empty: counts.empty,
        unit_bytes: unit.get(),
        rounded: folded.rounded,
        folded: folded.moved,
        cut: folded.cut,
    })
}
