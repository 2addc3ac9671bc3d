use std::time::Instant;

use jiff::Timestamp;
use run_store::gauge::{GaugeName, GaugeSource, Readings};
use run_store::run::{
    CHECK_WARNING, Cause, Check, Disturbance, Figure, HostStep, Phase, Steady, Step, StepEvent,
    Verdict, WarmUp, Warning,
};
use run_store::series::StepKey;
use run_store::slice::{Slice, Topology};
use spec::workload::{MOVE_STAGES, SNAPSHOT_STAGES};
use units::Nanos;

use crate::error::BenchError;
use crate::fleet::Fleet;
use crate::placed::Placed;
use crate::plan::ResolvedPlan;
use crate::progress::{Control, Observer, Progress, Request};
use crate::rig::{Clocks, HostEvent, HostLoad, Load, LoadOutcome, Received, Rig};
use crate::score::References;
use crate::step::checks::{REPEATS_AGREE, clock_step, submitted_is_completed};
use crate::step::course::{Course, POLL, drifts_towards_a_limit, steady_of};
use crate::step::hosts::{SLOW_MIN, slow_hosts};
use crate::step::playing::Playing;
use crate::step::power::StepWatts;
use crate::step::report::{StepFacts, StepPlace, unsure_limits, untested_limits};
use crate::step::sink::Sink;
use crate::step::tick::tick;
use crate::step::{bottleneck, power, waits};
use crate::verdict::{Judged, StepJudge, excuse_silent_service, fail_undelivered};
use bystanders::disturbance::{WindowSums, seen};

/// Sampling time without load, to see other programs' work. `/proc` counts in ticks of 10 ms, so
/// one second resolves a twentieth.
const QUIET: Nanos = Nanos::from_millis(1500);

/// Maximum silence of a load before it is abandoned. Slices arrive at least every few seconds, and
/// a worker that hangs that long in the kernel will not return soon.
const SILENCE_MAX: Nanos = Nanos::from_secs(60);

/// Everything that running a step needs.
pub struct StepBench<'a, R> {
    /// Plan of the run.
    pub plan: &'a ResolvedPlan,
    /// Reference values, each of which is one tile's worth of work.
    pub references: &'a References,
    /// Driver of the load.
    pub rig: &'a mut R,
    /// Control for requests to stop.
    pub control: &'a Control,
    /// Observer of the run.
    pub observer: &'a mut dyn Observer,
    /// Receiver of the slices.
    pub series: &'a mut dyn Sink,
}

/// A step that was measured completely or partly.
#[derive(Debug)]
pub struct Measured {
    /// Entry of the step, marked as interrupted if it did not run to its end.
    pub step: Step,
    /// I/O backend of the load.
    pub backend: String,
    /// Maximum number of I/Os in flight per worker.
    pub depth: u32,
    /// Error that ended the step early.
    pub error: Option<BenchError>,
}

impl<R: Rig> StepBench<'_, R> {
    /// Runs a single step. An early end is an error.
    pub fn alone(&mut self, fleet: &Fleet, place: &StepPlace) -> Result<Step, BenchError> {
        let measured = self.measure(fleet, place)?;
        match measured.error {
            Some(error) => Err(error),
            None => Ok(complete(measured.step)),
        }
    }

    /// Drives `fleet` through warm-up and window. Its disks are prepared.
    pub fn measure(&mut self, fleet: &Fleet, place: &StepPlace) -> Result<Measured, BenchError> {
        let before = self.rig.clocks();
        let placed = Placed::of(self.plan, place.tiles)?;
        let playing = Playing::of(self.plan, &fleet.instances);
        let mut load = self.rig.start(self.plan, &fleet.order)?;
        let (members, topology) = (&fleet.order.members, &fleet.topology);
        let judge = StepJudge { tile: &self.plan.tile_set, members, topology, placed: &placed };
        let mut course = Course::new(self.plan, judge, playing, self.rig.watch());
        if self.rig.is_balanced() {
            course.expect_moves();
        }
        course.meters = self.rig.meters();
        let watts = StepWatts::begin(self.rig.power(), &mut course.meters);
        if course.phase() == Phase::Measured {
            load.mark();
            watts.measured();
        }
        let error = self.drive(&mut load, &mut course, place, &watts).err();
        let model = course.warm_up.is_some().then(|| load.model()).flatten();
        let modelled = if course.warm_up.is_some() { load.energy() } else { Vec::new() };
        let hosts = load.hosts();
        let events = load.events();
        load.stop();
        // Waiting for a hanging load would hang this thread, so the load is left until the program
        // ends.
        let ended = match error {
            Some(BenchError::Aborted | BenchError::Silent(_)) => Err(error),
            // The first error is the cause; later errors are its consequences.
            error => match self.drain(&mut load, &mut course, place) {
                Ok(later) => Ok(error.or(later)),
                Err(stuck) => Err(Some(stuck)),
            },
        };
        let error = match ended {
            Ok(error) => error,
            Err(reason) => {
                load.abandon();
                return Err(reason.unwrap_or(BenchError::Aborted));
            }
        };
        let (unit, span) = (load.unit(), StepWatts::span(load.began(), &course.window));
        // Failed I/O is only a consequence of it.
        let cause = load.cause();
        let outcome = load.finish()?;
        let after = self.rig.clocks();
        let replay = course.playing.facts(self.plan, unit, &outcome);
        let beside = (hosts, events, before, after);
        let mut measured = self.conclude(course, place, cause.or(error), &outcome, beside);
        let step = &mut measured.step;
        (step.model, step.replay) = (model, replay);
        step.bottleneck = Some(bottleneck::of(step, &[]));
        waits::tell(step);
        watts.tell(step, span, &self.plan.host_names(), self.control);
        power::tell_modelled(step, modelled);
        Ok(measured)
    }

    /// Receives slices until the window is complete.
    fn drive(
        &mut self,
        load: &mut R::Load,
        course: &mut Course<'_>,
        place: &StepPlace,
        watts: &StepWatts,
    ) -> Result<(), BenchError> {
        let mut silent = Nanos::ZERO;
        while !course.is_complete() {
            match self.control.request() {
                Request::GoOn => {}
                Request::Stop => return Err(BenchError::Interrupted),
                Request::Abort => return Err(BenchError::Aborted),
            }
            let asked = Instant::now();
            let received = load.next(POLL);
            course.waited(asked.elapsed());
            let slice = match received {
                Received::Slice(slice) => slice,
                Received::Nothing => {
                    silent = silent.saturating_add(POLL.into());
                    if silent > SILENCE_MAX.max(Nanos(self.plan.slice.0.saturating_mul(4))) {
                        return Err(BenchError::Silent(silent));
                    }
                    continue;
                }
                Received::Ended => return Err(BenchError::Silent(silent)),
                Received::Failed(error) => return Err(error),
            };
            silent = Nanos::ZERO;
            if let Some(by_tile) = load.driven_by() {
                course.place(by_tile);
            }
            let phase = course.phase();
            let mut readings = course.read();
            readings.add(load.read());
            self.keep(&readings, key(place, phase), &course.topology, &slice)?;
            course.take(&slice, &readings);
            if phase != course.phase() {
                load.mark();
                watts.measured();
            }
            self.observer.event(&Progress::Tick(&tick(self.plan, course, &slice)));
            if slice.io.iter().any(|row| row.errors > 0) {
                // Failures get their details when the load has ended and they are known.
                return Err(BenchError::Storage { tiles: place.tiles, failures: Vec::new() });
            }
        }
        Ok(())
    }

    /// Stores slices after the window. An error when storing does not abandon the load: it is
    /// returned after the load has ended.
    fn drain(
        &mut self,
        load: &mut R::Load,
        course: &mut Course<'_>,
        place: &StepPlace,
    ) -> Result<Option<BenchError>, BenchError> {
        let (mut silent, mut unstored) = (Nanos::ZERO, None);
        loop {
            match load.next(POLL) {
                Received::Ended => return Ok(unstored),
                Received::Failed(error) => return Ok(unstored.or(Some(error))),
                Received::Slice(slice) => {
                    course.little.add(&slice);
                    course.playing.see(&slice);
                    let key = key(place, Phase::RampDown);
                    let stored = self.keep(&load.read(), key, &course.topology, &slice);
                    unstored = unstored.or(stored.err());
                }
                Received::Nothing if self.control.request() == Request::Abort => {
                    return Err(BenchError::Aborted);
                }
                Received::Nothing => {
                    silent = silent.saturating_add(POLL.into());
                    if silent > SILENCE_MAX {
                        return Err(BenchError::Silent(silent));
                    }
                }
            }
        }
    }

    /// Stores a slice, and sends it to the observer.
    fn keep(
        &mut self,
        readings: &Readings,
        key: StepKey,
        topology: &Topology,
        slice: &Slice,
    ) -> Result<(), BenchError> {
        self.series.append(key, topology, slice)?;
        self.series.readings(key, slice, readings)?;
        self.observer.event(&Progress::Slice { key, topology, slice, readings });
        Ok(())
    }

    fn conclude(
        &mut self,
        mut course: Course<'_>,
        place: &StepPlace,
        error: Option<BenchError>,
        outcome: &LoadOutcome,
        (hosts, events, before, after): (Vec<HostLoad>, Vec<HostEvent>, Clocks, Clocks),
    ) -> Measured {
        let error = name_failures(error, (self.plan, &course.topology, place.tiles), outcome);
        let mut judged = course.judged();
        let steady = steady_of(&course.rounds, !events.is_empty());
        let mut checks = Vec::from_iter(course.little.check());
        checks.push(submitted_is_completed(outcome));
        let (disturbances, gauges) = (course.disturbances(), course.gauges());
        // Writes through a cache reach the device long after they were submitted.
        let is_direct = !self.plan.settings.engine.buffered;
        let disturbances = if is_direct { disturbances } else { seen(disturbances) };
        let disturbances = match judged.verdict {
            // Work that goes on without load is not for our storage.
            Verdict::Failed | Verdict::Inconclusive
                if error.is_none() && !disturbances.is_empty() =>
            {
                self.confirmed(&mut course, disturbances)
            }
            _ => seen(disturbances),
        };
        let disturbances = [disturbances, outcome.disturbances.clone()].concat();
        let hosts = course.hosts(&judged, &hosts, (place.tiles, self.plan.seed));
        let address_of = |endpoint: &str| self.plan.settings.endpoints.get(endpoint);
        let silent = course.judge.silent_services(&course.window, address_of);
        if let Some(error) = &error {
            judged.verdict = Verdict::Interrupted;
            judged.cause = Cause::Unfinished;
            judged.reason = format!("the step was not finished: {error}");
        } else {
            fail_undelivered(&mut judged, &outcome.warnings);
            excuse_silent_service(&mut judged, &silent);
            excuse(&mut judged, &checks, &steady, &Beside::of(&disturbances, &hosts));
        }
        let mut warnings = outcome.warnings.clone();
        warnings.extend(silent);
        warnings.extend(untested_limits(&judged));
        warnings.extend(unsure_limits(&course.judge, &judged));
        warnings.extend(clock_step(before, after));
        let told = course.events(&events, self.plan.seed);
        warnings.extend(tiles_moved(&told));
        warnings.extend(slow_hosts(&hosts).into_iter().map(|text| Warning {
            id: "slow-host".to_owned(),
            text,
            value: None,
            limit: Some(format!("{SLOW_MIN} times")),
            hint: Some("check the host's path to the storage: link, switch, multipath".to_owned()),
        }));
        let facts = StepFacts {
            gauges,
            tile: &self.plan.tile_set,
            references: self.references,
            members: course.judge.members,
            topology: course.judge.topology,
            window: &course.window,
            judged,
            disturbances,
            hosts,
            under_operations: course.operation_sums.under_operations(self.plan.seed),
            events: told,
            steady,
            work: &course.work,
            slices_per_block: course.slices_per_block,
            seed: self.plan.seed,
        };
        let warm_up = course.warm_up.unwrap_or_else(|| WarmUp {
            rule: "none".to_owned(),
            reached: false,
            duration_ns: course.elapsed.0,
            detail: "the step ended during warm-up".to_owned(),
        });
        let mut step = facts.step(place, warm_up, checks, warnings);
        (step.generator.cpu_user_us_per_io, step.generator.cpu_system_us_per_io) =
            cpu_per_io(outcome);
        Measured { step, backend: outcome.backend.clone(), depth: outcome.depth, error }
    }
}

impl<R: Rig> StepBench<'_, R> {
    fn confirmed(&self, course: &mut Course<'_>, found: Vec<Disturbance>) -> Vec<Disturbance> {
        let Some(watch) = &mut course.watch else { return found };
        let load = WindowSums::of(watch.seconds(), watch.device());
        watch.restart();
        if watch.look().is_err() {
            return seen(found);
        }
        watch.restart();
        self.rig.rest(QUIET, self.control);
        match watch.look() {
            Ok(()) => WindowSums::of(watch.seconds(), watch.device()).confirms(found, &load),
            Err(_) => seen(found),
        }
    }
}

/// Influences other than the storage.
pub struct Beside<'a> {
    disturbances: &'a [Disturbance],
    hosts: &'a [HostStep],
}

impl<'a> Beside<'a> {
    /// Collects the disturbances and each host's part.
    pub const fn of(disturbances: &'a [Disturbance], hosts: &'a [HostStep]) -> Self {
        Self { disturbances, hosts }
    }

    /// Returns the host because of which the step has no result about the storage. Its slices did
    /// not arrive in time, or its generator was the bottleneck, either by itself or in a step that
    /// did not pass.
    fn unfit_host(&self, verdict: Verdict) -> Option<String> {
        self.hosts.iter().find_map(|host| {
            let late = Nanos(host.slice_late_max_ns);
            if late > SLICE_LATE_MAX {
                return Some(format!(
                    "host {} reported its slices {late} late (limit {SLICE_LATE_MAX})",
                    host.host
                ));
            }
            let began = Nanos(host.began_late_ns);
            if began > BEGAN_LATE_MAX {
                return Some(format!(
                    "host {} began {began} after the common start time (limit {BEGAN_LATE_MAX})",
                    host.host
                ));
            }
            let why = host.generator.reason.as_ref()?;
            (host.generator.saturated || verdict != Verdict::Passed)
                .then(|| format!("the generator on host {} was the limit: {why}", host.host))
        })
    }
}

/// Maximum delay of a host's slices. A host with a longer delay was stopped, or its network link
/// was full. Our choice: the lease, after which the host would have been lost.
pub const SLICE_LATE_MAX: Nanos = Nanos::from_secs(2);

/// Maximum delay of a host's start. A host with a longer delay was busy with other work. Our
/// choice: a tenth of a slice.
pub const BEGAN_LATE_MAX: Nanos = Nanos::from_millis(100);

/// Makes a verdict inconclusive if anything other than the storage explains it.
pub fn excuse(judged: &mut Judged, checks: &[Check], steady: &Steady, beside: &Beside<'_>) {
    let disturbances = beside.disturbances;
    if let Some(check) = checks.iter().find(|check| !check.passed) {
        let figure =
            |figure: &Figure| figure.value.map_or_else(String::new, |v| format!("{v:.3} "));
        judged.reason = format!(
            "nothing is decided: the step's own figures contradict each other ({}: found {}where \
             {}{} are expected)",
            check.id,
            figure(&check.found),
            figure(&check.expected),
            check.unit
        );
        (judged.verdict, judged.cause) = (Verdict::Inconclusive, Cause::Inconsistent);
    } else if let Some(reason) = beside.unfit_host(judged.verdict) {
        judged.reason = reason;
        (judged.verdict, judged.cause) = (Verdict::Inconclusive, Cause::Generator);
    } else if let Some(worst) = disturbances.iter().find(|own| excuses(own, judged.verdict))
        && judged.cause != Cause::Generator
    {
        judged.reason = worst.to_string();
        (judged.verdict, judged.cause) = (Verdict::Inconclusive, Cause::Disturbed);
    } else if drifts_towards_a_limit(judged, steady) {
        judged.reason = format!("it was not steady while measured: {}", steady.detail);
        (judged.verdict, judged.cause) = (Verdict::Inconclusive, Cause::NotSteady);
    }
}

/// Returns true if a disturbance explains a verdict. Other programs make responses longer, never
/// shorter, so a passed step stays passed. An exception is a program that was stopped: it requested
/// less, so even a pass proves nothing.
fn excuses(disturbance: &Disturbance, verdict: Verdict) -> bool {
    verdict != Verdict::Passed || disturbance.gauge == GaugeName::Paused
}

/// Returns a warning that views of the run by host would mislead, because tiles moved.
fn tiles_moved(events: &[StepEvent]) -> Option<Warning> {
    let all = events.iter().flat_map(|event| &event.tiles);
    // The series of a simulation name no host, so moves of VMs mislead nobody.
    let whole = all.filter(|tile| tile.vm.is_none());
    let count = whole.filter(|tile| tile.to.as_ref() != Some(&tile.from)).count();
    (count > 0).then(|| Warning {
        id: "tiles-moved".to_owned(),
        text: "tiles moved between hosts while they were measured, so nothing is shown by host. A \
             slice counts for the host that drove it at its end"
            .to_owned(),
        value: Some(format!("{count} times")),
        limit: None,
        hint: Some("the column host of the series names the host that drove each row".to_owned()),
    })
}

fn key(place: &StepPlace, phase: Phase) -> StepKey {
    StepKey { step: place.step, tiles: place.tiles, repeat: place.repeat, phase }
}

/// Adds the details of failures. They are only known at the end of a load, and explain why it
/// ended.
fn name_failures(
    error: Option<BenchError>,
    (plan, topology, tiles): (&ResolvedPlan, &Topology, u32),
    outcome: &LoadOutcome,
) -> Option<BenchError> {
    if !outcome.mismatches.is_empty() {
        return Some(BenchError::Mismatch(outcome.mismatches.clone()));
    }
    if outcome.failures.is_empty() || matches!(error, Some(BenchError::Over(_))) {
        return error;
    }
    let mut failures = outcome.failures.clone();
    for failure in &mut failures {
        failure.during = during(plan, topology, failure.of);
    }
    Some(BenchError::Storage { tiles, failures })
}

/// Returns the operation and its stage during which an I/O failed.
fn during(
    plan: &ResolvedPlan,
    topology: &Topology,
    (instance, kind): (u32, u16),
) -> Option<String> {
    let entry = topology.instances.get(instance as usize)?;
    let kind = entry.kinds.get(usize::from(kind))?;
    let (action, stage) = match entry.tile {
        Some(_) => carried_stage(kind)?,
        None => {
            let operations = &plan.tile_set.operations;
            let (workload, _) = operations.iter().find(|(own, _)| own.name == entry.workload)?;
            workload.stage_of_kind(kind)?
        }
    };
    Some(format!("the operation {action} failed in its stage {stage}"))
}

/// Returns the operation and stage of a kind of I/O on the disk of a tile's VM. Such I/Os are in
/// rows of the VM, with special kinds.
fn carried_stage(kind: &str) -> Option<(&'static str, &'static str)> {
    let [copying, switching, checking] = MOVE_STAGES;
    let [creating, _, deleting] = SNAPSHOT_STAGES;
    Some(match kind {
        "move-read" | "move-write" | "mirrored-write" => ("move", copying),
        "move-flush" => ("move", switching),
        "move-check" => ("move", checking),
        "snapshot-link" => ("snapshot", creating),
        "snapshot-delete" => ("snapshot", deleting),
        _ => return None,
    })
}

/// Returns user and kernel CPU time per completed I/O, in microseconds.
fn cpu_per_io(outcome: &LoadOutcome) -> (Figure, Figure) {
    let absent = || Figure::absent("no process ran, or nothing completed");
    match outcome.cpu_s {
        Some((user, system)) if outcome.completed > 0 => {
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let each = |seconds: f64| Figure::of(seconds * 1e6 / outcome.completed as f64);
            (each(user), each(system))
        }
        _ => (absent(), absent()),
    }
}

/// Returns the maximum duration of a step, without preparing its disks.
pub fn step_at_most(plan: &ResolvedPlan) -> Nanos {
    let measured = plan.duration.0.saturating_mul(u64::from(plan.method.lengthen_max));
    plan.warm_up_max.saturating_add(Nanos(measured))
}

/// Returns the position of a step that starts now.
pub fn place_now(step: u32, repeat: u32, order: u32, tiles: u32) -> StepPlace {
    StepPlace { step, repeat, order, tiles, started: Timestamp::now() }
}

/// Returns a warning for a window that was not steady, whatever its verdict is.
fn unsteady(step: &Step) -> Option<Warning> {
    let steady = step.steady.as_ref().filter(|steady| steady.reached == Some(false))?;
    Some(Warning {
        id: "not-steady".to_owned(),
        text: "rates or service times drifted while they were measured".to_owned(),
        value: Some(steady.detail.clone()),
        limit: Some(steady.rule.clone()),
        hint: Some("a longer measure.warm-up-max (or --standard) lets it settle".to_owned()),
    })
}

/// Adds warnings that follow from a measured step's own figures.
pub fn complete(mut step: Step) -> Step {
    step.warnings.extend(unsteady(&step));
    step.warnings.extend(step.checks.iter().filter(|check| !check.passed).map(broken_check));
    step
}

fn broken_check(check: &Check) -> Warning {
    let text = |figure: &Figure| {
        figure.value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:.4}"))
    };
    let (found, expected) = (text(&check.found), text(&check.expected));
    let unit = &check.unit;
    // Repeats that differ are normal near an edge; the other checks fail only if something was
    // counted wrongly.
    let text_of = match check.id.as_str() {
        REPEATS_AGREE => {
            format!(
                "two repeats differ by more than the field's rule allows: {found} after {expected} {unit}"
            )
        }
        id => format!(
            "the step's own figures contradict each other ({id}): found {found}, expected {expected} {unit}"
        ),
    };
    Warning {
        id: format!("{CHECK_WARNING}{}", check.id),
        text: text_of,
        limit: Some(format!("{expected} within {:.2} %", check.tolerance * 100.0)),
        value: Some(found),
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use run_store::gauge::GaugeName;
    use run_store::run::GeneratorHealth;

    use super::*;
    use crate::step::checks;

    fn judged(verdict: Verdict, cause: Cause) -> Judged {
        let generator = GeneratorHealth {
            lateness_p99_ns: None,
            lateness_max_ns: None,
            worker_cpu_max: Figure::of(0.1),
            cpu_user_us_per_io: Figure::of(1.0),
            cpu_system_us_per_io: Figure::of(1.0),
            queued: 0,
            in_flight_mean: Figure::of(1.0),
            saturated: false,
            reason: None,
        };
        let (pooled, instances, hosts) = (Vec::new(), Vec::new(), Vec::new());
        let reason = "the shop's orders reach 2 s".to_owned();
        Judged { verdict, cause, reason, pooled, instances, hosts, broken: None, generator }
    }

    fn calm() -> Steady {
        Steady { rule: String::new(), reached: Some(true), detail: String::new() }
    }

    fn compiler() -> Disturbance {
        let (by, value, limit) = ("cc1plus".to_owned(), 0.83, 0.1);
        Disturbance { gauge: GaugeName::CpuOthers, by, value, limit }
    }

    #[test]
    fn repeats_that_differ_are_not_told_as_wrong_figures() {
        let scores = [38.762, 36.972];
        let check = checks::repeats_within_3_percent(&scores).expect("two repeats");
        let warning = broken_check(&check);
        assert_eq!(warning.id, "check-repeats-agree");
        let text = "two repeats differ by more than the field's rule allows: 36.9720 after 38.7620 tiles' worth of work";
        assert_eq!(warning.text, text);
    }

    #[test]
    fn limit_broken_beside_a_compiler_is_not_the_storages_fault() {
        let mut failed = judged(Verdict::Failed, Cause::LimitBroken);
        excuse(&mut failed, &[], &calm(), &Beside::of(&[compiler()], &[]));
        assert_eq!((failed.verdict, failed.cause), (Verdict::Inconclusive, Cause::Disturbed));
        assert_eq!(
            failed.reason,
            "other processes used 83 % of the processors (limit 10 %), most of it cc1plus"
        );
        let mut passed = judged(Verdict::Passed, Cause::LimitsHeld);
        excuse(&mut passed, &[], &calm(), &Beside::of(&[compiler()], &[]));
        assert_eq!(passed.verdict, Verdict::Passed, "others only make answers longer");
    }

    #[test]
    fn step_whose_figures_contradict_each_other_says_nothing() {
        let check = Check {
            id: "littles-law".to_owned(),
            expected: Figure::of(4.0),
            found: Figure::of(8.0),
            unit: "requests in flight".to_owned(),
            tolerance: 0.005,
            passed: false,
        };
        let mut passed = judged(Verdict::Passed, Cause::LimitsHeld);
        excuse(&mut passed, &[check], &calm(), &Beside::of(&[], &[]));
        assert_eq!((passed.verdict, passed.cause), (Verdict::Inconclusive, Cause::Inconsistent));
        assert!(
            passed.reason.contains("found 8.000 where 4.000 requests in flight are expected"),
            "{}",
            passed.reason
        );
    }
}
