use std::collections::BTreeMap;

use run_store::run::{Cause, Known, Resized, Run, Step, Warning};
use run_store::rundir::{EventKind, EventLog, RunDir, files};
use serde_json::json;
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::fleet::{DiskNeed, StepOrder, fleet, round};
use crate::ladder::{Ladder, StepResult, StepRunner};
use crate::plan::ResolvedPlan;
use crate::progress::{Control, Observer, Progress, Request};
use crate::rig::{Prefilled, Rig};
use crate::run::answer::work_of;
use crate::run::document::RunFacts;
use crate::run::kept::StoredSlices;
use crate::run::larger::{Larger, Reason};
use crate::run::power::{self, RunPower};
use crate::run::{End, TileLoad, answer};
use crate::step::bottleneck;
use crate::step::checks::repeats_within_3_percent;
use crate::step::report::StepPlace;
use crate::step::runner::{StepBench, complete, step_at_most};

/// Runs the ladder's steps on a rig, and stores their results.
pub struct Climber<'a, R> {
    plan: &'a ResolvedPlan,
    facts: RunFacts<'a>,
    rig: &'a mut R,
    directory: &'a RunDir,
    control: &'a Control,
    observer: &'a mut dyn Observer,
    kept: StoredSlices,
    events: EventLog,
    begun_ns: i128,
    steps: Vec<Step>,
    /// Step number of each number of tiles, in the order of visits.
    numbers: BTreeMap<u32, u32>,
    /// Time for which storage and host must rest before the next step.
    rest_due: Nanos,
    prefill: Option<Prefilled>,
    backend: String,
    provisioned: Bytes,
    depth: u32,
    /// Earlier search with its plan, set after disks were made larger.
    search: Option<Search<'a>>,
    /// Result of reading back all written data, in words.
    verified: Option<String>,
    power: RunPower,
}

/// State of the search with the smaller disks, before they were made larger.
struct Search<'a> {
    plan: &'a ResolvedPlan,
    facts: RunFacts<'a>,
    ladder: Ladder,
    steps: Vec<Step>,
    held: u32,
    failed: u32,
}

impl Search<'_> {
    /// Returns the steps with disks of the other size, which are stored beside the run's own steps.
    fn beside(
        &self,
        is_search: bool,
        footprint: f64,
        tile_bytes: Bytes,
        steps: &[Step],
    ) -> Resized {
        let (held, failed) = (self.held, self.failed);
        let (tile_bytes, steps) = (tile_bytes.get(), steps.to_vec());
        Resized { is_search, footprint, tile_bytes, held, failed, steps }
    }
}

impl<'a, R: Rig> Climber<'a, R> {
    /// Creates a climber before its first step.
    pub fn new(
        plan: &'a ResolvedPlan,
        facts: RunFacts<'a>,
        rig: &'a mut R,
        directory: &'a RunDir,
        control: &'a Control,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, BenchError> {
        let begun_ns = rig.clocks().monotonic_ns;
        let power = RunPower::begin(facts.power_policies);
        let mut climber = Self {
            plan,
            facts,
            rig,
            directory,
            control,
            observer,
            kept: StoredSlices::new(directory.series()?),
            events: directory.events()?,
            begun_ns,
            steps: Vec::new(),
            numbers: BTreeMap::new(),
            rest_due: Nanos::ZERO,
            prefill: None,
            backend: "none".to_owned(),
            provisioned: Bytes::ZERO,
            depth: 0,
            search: None,
            verified: None,
            power,
        };
        climber.event(EventKind::RunStart, &json!({ "id": climber.facts.id }))?;
        Ok(climber)
    }

    /// Reads back all written data, if the run verifies.
    pub fn check_written(&mut self) -> Result<(), BenchError> {
        if let Some(found) = self.rig.check_written()? {
            self.event(EventKind::Verified, &json!({ "text": found }))?;
            self.verified = Some(found);
        }
        Ok(())
    }

    /// Reads everything back and returns the result: the end of the climb, or wrong blocks. Wrong
    /// blocks during the climb are a reason to check all blocks.
    pub fn verified(&mut self, climbed: Result<(), BenchError>) -> Result<(), BenchError> {
        let checked = match climbed {
            Ok(()) => self.check_written(),
            Err(BenchError::Mismatch(mut seen)) => {
                match self.check_written() {
                    Ok(()) => {}
                    Err(BenchError::Mismatch(all)) => {
                        let is_new = |wrong: &String| !seen.contains(wrong);
                        let new: Vec<String> = all.into_iter().filter(is_new).collect();
                        seen.extend(new);
                    }
                    Err(error) => {
                        seen.push(format!("verification could not read everything back: {error}"))
                    }
                }
                Err(BenchError::Mismatch(seen))
            }
            Err(error) => Err(error),
        };
        if let Err(BenchError::Mismatch(wrong)) = &checked {
            self.event(EventKind::WrongBlocks, &json!({ "blocks": wrong }))?;
        }
        checked
    }

    /// Returns the reason, from the plan, why disks cannot be made larger.
    pub fn obstacle(&self) -> Option<Reason> {
        self.facts.kept_small
    }

    /// Records the reason why disks keep their size.
    pub fn keep_size(&mut self, reason: Reason) {
        self.facts.kept_small = Some(reason);
    }

    /// Returns the speed of the first write of the disks, in bytes per second; 0 if unknown.
    pub fn fill_bytes_per_s(&self) -> f64 {
        self.prefill.as_ref().map_or(0.0, |done| done.first_write.bytes_per_second())
    }

    /// Returns the remaining time of a run of this length.
    pub fn time_left(&self, budget: Nanos) -> Nanos {
        budget.saturating_sub(self.now())
    }

    /// Returns the maximum number of tiles of this load whose disks fit.
    pub fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        self.rig.tiles_that_fit(load)
    }

    /// Returns true if storage can rest between steps.
    pub fn can_rest(&self) -> bool {
        self.rig.can_rest()
    }

    /// Removes all disks, so that the next step creates new ones. Returns false if the rig cannot
    /// do that.
    ///
    /// # Errors
    ///
    /// The disks could not be removed, or the storage could not be claimed again.
    pub fn renew_disks(&mut self) -> Result<bool, BenchError> {
        self.rig.renew_disks()
    }

    /// Continues with larger disks. The answer of the run still comes from the search until a step
    /// with larger disks has a result.
    ///
    /// # Errors
    ///
    /// The plan cannot be stored.
    pub fn confirm(
        &mut self,
        larger: &'a Larger,
        ladder: Ladder,
        (held, failed): (u32, u32),
    ) -> Result<(), BenchError> {
        let (before, after) = (self.facts.load.bytes, larger.load.bytes);
        let mut facts = self.facts.clone();
        facts.kept_small = Some(Reason::Undecided);
        let steps = std::mem::take(&mut self.steps);
        self.search = Some(Search { plan: self.plan, facts, ladder, steps, held, failed });
        self.facts.resize(larger)?;
        self.facts.search = Some((before, held, failed));
        self.plan = &larger.plan;
        self.numbers.clear();
        self.provisioned = Bytes::ZERO;
        self.directory.write_text(files::PLAN, &larger.plan.to_toml()?)?;
        let fields = json!({ "held": held, "failed": failed, "tile_bytes": after.get() });
        self.event(EventKind::LargerDisks, &fields)?;
        self.observer.event(&Progress::LargerDisks { held, failed, before, after });
        Ok(())
    }

    /// Writes the last documents. The directory must still be finished afterwards. Returns the run
    /// even if it could not be written.
    pub fn finish(self, ladder: &Ladder, end: &End) -> (Run, Result<(), BenchError>) {
        let mut run = self.document(ladder, end);
        let plan = self.unconfirmed(ladder).map(|search| search.plan);
        self.power.end(&mut run);
        run.warnings.extend(power::close(self.rig.power().as_deref()));
        run.ended = Some(self.rig.wall());
        let directory = self.directory;
        let stored = match plan.map(ResolvedPlan::to_toml).transpose() {
            Ok(Some(plan)) => directory.write_text(files::PLAN, &plan).map_err(BenchError::from),
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        let stored = self.store(&run, end).and(stored);
        (run, stored)
    }

    fn store(mut self, run: &Run, end: &End) -> Result<(), BenchError> {
        if let End::Failed(error) = end {
            self.event(EventKind::Error, &json!({ "id": error.id(), "text": error.to_string() }))?;
        }
        for warning in &run.warnings {
            self.observer.event(&Progress::Warning(warning));
        }
        self.event(EventKind::RunEnd, &json!({ "answer": run.answer.sentence }))?;
        self.kept.finish(self.directory.at())?;
        Ok(self.directory.write_run(run)?)
    }

    /// Returns the search with smaller disks, as long as steps with larger disks have no result.
    fn unconfirmed(&self, ladder: &Ladder) -> Option<&Search<'a>> {
        self.search.as_ref().filter(|_| !ladder.is_telling())
    }

    fn document(&self, ladder: &Ladder, end: &End) -> Run {
        let prefill = self.prefill.as_ref().map(Prefilled::document);
        let document = |plan, facts: &RunFacts<'_>, ladder, steps: &[Step]| {
            let answer = answer::answer(plan, facts, ladder, end, steps);
            facts.run(plan, answer, steps.to_vec(), prefill, end)
        };
        let (plan, facts, steps) = (self.plan, &self.facts, &*self.steps);
        let mut run = match self.unconfirmed(ladder) {
            Some(old) => document(old.plan, &old.facts, &old.ladder, &old.steps),
            None => document(plan, facts, ladder, steps),
        };
        run.resized = self.search.as_ref().map(|old| match ladder.is_telling() {
            true => old.beside(true, old.plan.footprint, old.facts.load.bytes, &old.steps),
            false => old.beside(false, plan.footprint, facts.load.bytes, steps),
        });
        run.engine.backend.clone_from(&self.backend);
        run.engine.depth = self.depth;
        self.power.tell(self.rig.power().as_deref(), self.rig.supplies(), &mut run);
        run.target.provisioned_bytes = Some(self.provisioned.get());
        run.warnings.extend(self.verified.as_ref().map(|text| Warning {
            id: Known::Verified.id().to_owned(),
            text: text.clone(),
            value: None,
            limit: None,
            hint: None,
        }));
        run.write_sentences();
        run
    }

    fn now(&self) -> Nanos {
        let elapsed = self.rig.clocks().monotonic_ns - self.begun_ns;
        Nanos(u64::try_from(elapsed).unwrap_or(0))
    }

    fn event(&mut self, kind: EventKind, fields: &serde_json::Value) -> Result<(), BenchError> {
        let now = self.now();
        Ok(self.events.append(now, kind, fields)?)
    }

    /// Creates and fills the disks that no earlier step needed.
    fn prepare(&mut self, tiles: u32, disks: &[DiskNeed]) -> Result<(), BenchError> {
        let done = fill(self.rig, disks, self.control, self.observer)?;
        self.provisioned = self.provisioned.max(self.facts.load.bytes * u64::from(tiles));
        if let Some(done) = done {
            self.event(EventKind::Prefill, &json!({ "tiles": tiles, "bytes": done.bytes }))?;
            match &mut self.prefill {
                Some(before) => before.add(done),
                none => *none = Some(done),
            }
        }
        Ok(())
    }

    fn place(&mut self, tiles: u32, repeat: u32) -> StepPlace {
        let before = self.search.iter().flat_map(|search| &search.steps);
        let last = before.clone().map(|step| step.step).max().unwrap_or(0);
        let next = last + u32::try_from(self.numbers.len()).unwrap_or(u32::MAX) + 1;
        let step = *self.numbers.entry(tiles).or_insert(next);
        let ran = before.count() + self.steps.len();
        let order = u32::try_from(ran).unwrap_or(u32::MAX) + 1;
        StepPlace { step, repeat: repeat + 1, order, tiles, started: self.rig.wall() }
    }

    fn begin(&mut self, place: &StepPlace) -> Result<(), BenchError> {
        self.observer.event(&Progress::StepBegins {
            tiles: place.tiles,
            vms: self.facts.load.vms.saturating_mul(place.tiles),
            repeat: place.repeat,
            repeats: self.plan.repeats,
            at_most: step_at_most(self.plan),
        });
        let fields = json!({ "step": place.step, "tiles": place.tiles, "repeat": place.repeat });
        self.event(EventKind::StepStart, &fields)
    }

    /// Stores a step that was measured completely or partly.
    fn keep(&mut self, mut step: Step) -> Result<(), BenchError> {
        step.checks.extend(self.repeats_check(&step));
        step.bottleneck = Some(bottleneck::of(&step, &self.steps));
        let step = complete(step);
        for warning in &step.warnings {
            self.observer.event(&Progress::Warning(warning));
        }
        self.observer.event(&Progress::StepEnds(&step));
        let fields = json!({
            "step": step.step,
            "tiles": step.tiles,
            "repeat": step.repeat,
            "verdict": step.verdict.name(),
            "reason": step.reason,
        });
        self.event(EventKind::StepEnd, &fields)?;
        self.steps.push(step);
        Ok(())
    }

    fn repeats_check(&self, step: &Step) -> Option<run_store::run::Check> {
        let before = self.steps.iter().filter(|before| before.tiles == step.tiles);
        let scores: Option<Vec<f64>> = before.chain([step]).map(work_of).collect();
        repeats_within_3_percent(&scores?)
    }
}

impl<R: Rig> StepRunner for Climber<'_, R> {
    type Error = BenchError;

    fn run_step(&mut self, tiles: u32, repeat: u32) -> Result<StepResult, BenchError> {
        let begun = self.now();
        self.rig.rest(std::mem::take(&mut self.rest_due), self.control);
        match self.control.request() {
            Request::GoOn => {}
            Request::Stop => return Err(BenchError::Interrupted),
            Request::Abort => return Err(BenchError::Aborted),
        }
        if let Some(panel) = self.rig.power() {
            let (rig, control) = (&*self.rig, self.control);
            let rest = |time| rig.rest(time, control);
            self.power.idle(&panel, self.plan.duration, control, &rest);
        }
        let order = StepOrder::whole(self.plan, tiles, round(tiles, repeat));
        let fleet = fleet(self.plan, order)?;
        let disks: Vec<DiskNeed> = fleet.disks().cloned().collect();
        self.prepare(tiles, &disks)?;
        let place = self.place(tiles, repeat);
        self.begin(&place)?;
        let mut bench = StepBench {
            plan: self.plan,
            references: self.facts.references,
            rig: self.rig,
            control: self.control,
            observer: self.observer,
            series: &mut self.kept,
        };
        let measured = bench.measure(&fleet, &place)?;
        self.backend = measured.backend;
        self.depth = self.depth.max(measured.depth);
        let result = StepResult::of(&measured.step, Nanos::ZERO);
        self.rest_due = self.rest_after(&measured.step, &result);
        self.keep(measured.step)?;
        if let Some(error) = measured.error {
            return Err(error);
        }
        Ok(StepResult { took: self.now().saturating_sub(begun), ..result })
    }

    /// Stores the results so far, for readers during the run and in case of a kill.
    fn ran(&mut self, ladder: &Ladder) -> Result<(), BenchError> {
        let run = self.document(ladder, &End::NotYet);
        Ok(self.directory.write_run(&run)?)
    }
}

impl<R: Rig> Climber<'_, R> {
    /// Returns the time for which storage and host must rest after a step. It is the measurement
    /// time of a step after an overload (twice the limit, or no completions) and before a disturbed
    /// step is repeated; otherwise zero.
    fn rest_after(&self, step: &Step, result: &StepResult) -> Nanos {
        let is_overload = match step.cause {
            Some(Cause::LimitBroken) => result.room.is_some_and(|room| room < -1.0),
            Some(Cause::GaveUp | Cause::NoAnswer | Cause::CallsFailed) => true,
            _ => false,
        };
        let rests = is_overload || result.try_again && result.failed.is_none();
        if rests { self.plan.duration } else { Nanos::ZERO }
    }
}

/// Creates and fills disks, and reports the progress.
///
/// # Errors
///
/// The rig has no room, filling fails, or `control` requests a stop.
pub fn fill<R: Rig>(
    rig: &mut R,
    disks: &[DiskNeed],
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Option<Prefilled>, BenchError> {
    let done = rig.prepare(disks, &mut |so_far| {
        observer.event(&Progress::Prefill {
            done: so_far.done,
            total: so_far.total,
            bytes_per_s: so_far.bytes_per_s,
        });
        control.request() == Request::GoOn
    });
    match done {
        Err(BenchError::Prefill(engine::prefill::PrefillError::Cancelled { .. })) => {
            Err(BenchError::Interrupted)
        }
        other => other,
    }
}
