use run_store::run::{PooledLimit, Run, Statistic, Step};
use spec::array::{Array, Raid};
use stats::Minimum;
use units::Nanos;

use super::formula::{Load, loads};

use super::MEMORY;
use super::drives::{Drives, LIKE};
use super::model::{Kind, Knobs, Memory};
use crate::measured::{counts, is_finished};
use bench::BenchError;
use bench::plan::ResolvedPlan;
use bench::progress::{Control, Request};
use bench::simulate::{Settings, Stage};

/// Maximum number of tile counts that are simulated in a trial.
const COUNTS_MAX: usize = 4;
/// Trials from each start, and further trials from the best starts: some 190 in all, which take no
/// longer than a quick run. Our choice.
const TRIALS_FIRST: u32 = 18;
const TRIALS: u32 = 40;
/// Starts that are searched further.
const STARTS_KEPT: usize = 2;
/// Difference of costs below which models are equal.
const TOLERANCE: f64 = 1e-3;
/// Maximum misfit of a model that is kept beside the best model: this multiple of the best misfit,
/// plus [`NOISE`]. Figures of a quick run vary by some 5 % between repeats; the multiple is our
/// choice.
const AS_GOOD: f64 = 1.25;
const NOISE: f64 = 0.05 * 0.05;
/// Step of the search, as a natural logarithm: a factor of 1.5.
const STEP: f64 = 0.4;
/// I/Os of a tile count in a trial: enough for the 95th percentile of an action with one in a
/// hundred I/Os.
const IOS: f64 = 30_000.0;
/// Minimum and maximum measured time of a trial. The maximum warm-up follows.
const MEASURED: [Nanos; 2] = [Nanos::from_secs(1), Nanos::from_secs(10)];
const WARM_UP: Nanos = Nanos::from_secs(2);
/// Weight of the I/Os per second against the other figures: limits break because of the load.
const RATE_WEIGHT: f64 = 4.0;
/// Weight of the closest limit, which decides the edge.
const LIMIT_WEIGHT: f64 = 2.0;
/// Mean latency of reads above which hard disks are tried, in seconds. A revolution of the fastest
/// disk takes 4 ms, but a disk's own memory completes many reads. Our choice.
const DRIVES_FROM: f64 = 0.001;
/// First step of the number of disks, as a natural logarithm: a factor of 2.
const DRIVES_STEP: f64 = 0.7;
/// Trials of each kind of disk, and further trials of the best kind; our choice.
const DRIVES_TRIALS: u32 = 6;
const DRIVES_LAST: u32 = 16;
/// Misfit at which the search of hard disks ends early, as a multiple of the misfit of servers; our
/// choice.
const HOPELESS: f64 = 4.0;
/// Maximum misfit of a figure, as a natural logarithm: larger factors than 20 count as 20.
const MISFIT_MAX: f64 = 3.0;

/// Measured figures of a tile count, and the stage on which models are simulated.
struct Target {
    load: Load,
    /// Limits of the steps.
    limits: Vec<PooledLimit>,
    stage: Stage,
}

/// Returns the figures of the run that a model should reproduce: its lowest tile count, and the
/// highest tile counts up to the first that did not pass, [`COUNTS_MAX`] in all.
fn targets(run: &Run, plan: &ResolvedPlan) -> Result<Vec<Target>, BenchError> {
    let mut counts = counts(run);
    while counts.len() > COUNTS_MAX {
        counts.remove(1);
    }
    let measured = loads(&run.steps).into_iter().filter(|load| counts.contains(&load.tiles));
    let target = |load: Load| {
        let finished = run.steps.iter().filter(|step| is_finished(step));
        let limits = finished
            .filter(|step| step.tiles == load.tiles)
            .flat_map(|step| step.limits.clone())
            .collect();
        let enough = Nanos::from_secs_f64(IOS / load.rate);
        let duration = enough.clamp(MEASURED[0], MEASURED[1]).min(plan.duration_asked);
        let warm_up = WARM_UP.min(duration);
        let settings = Settings {
            warm_up_min: warm_up,
            warm_up_max: warm_up,
            duration,
            lengthen_max: 1,
            ..Settings::of_plan(plan)
        };
        Ok(Target { load, limits, stage: Stage::new(&plan.tile_set, &settings)? })
    };
    measured.map(target).collect()
}

impl Target {
    /// Returns the distance of a modelled step from the measured steps: a weighted mean of squared
    /// logarithms.
    fn misfit(&self, step: &Step) -> f64 {
        let Some(modelled) = loads(std::slice::from_ref(step)).pop() else {
            return MISFIT_MAX * MISFIT_MAX;
        };
        let measured = &self.load;
        let part = |share: f64, modelled: Option<f64>, measured: Option<f64>| {
            share
                * modelled
                    .zip(measured)
                    .map_or(0.0, |(modelled, measured)| misfit(modelled, measured))
        };
        let sum = RATE_WEIGHT * misfit(modelled.rate, measured.rate)
            + part(measured.reads, modelled.read, measured.read)
            + part(1.0 - measured.reads, modelled.write, measured.write)
            + LIMIT_WEIGHT * self.closest(step).unwrap_or(0.0);
        sum / (RATE_WEIGHT + 1.0 + LIMIT_WEIGHT)
    }

    /// Returns the misfit at the limit with the least room. Values far above a limit count as 1.5
    /// times the limit, because the latency of an overloaded step only depends on its length.
    fn closest(&self, step: &Step) -> Option<f64> {
        let share = |limit: &PooledLimit| {
            let measured = limit.result.measured_ns?;
            Some(Nanos(measured).as_secs_f64() / Nanos(limit.result.limit_ns).as_secs_f64())
        };
        let decide = self.limits.iter().filter(|one| one.result.statistic != Statistic::Max);
        let (limit, measured) = decide
            .filter_map(|limit| Some((limit, share(limit)?)))
            .max_by(|one, other| one.1.total_cmp(&other.1))?;
        let is_same = |other: &&PooledLimit| {
            other.workload == limit.workload
                && other.result.name == limit.result.name
                && other.result.statistic == limit.result.statistic
        };
        let modelled = share(step.limits.iter().find(is_same)?)?;
        Some(misfit(modelled.min(1.5), measured.min(1.5)))
    }
}

fn misfit(modelled: f64, measured: f64) -> f64 {
    (modelled.max(1e-12) / measured).ln().clamp(-MISFIT_MAX, MISFIT_MAX).powi(2)
}

/// Trial of the search.
struct Trial {
    misfit: f64,
    kind: Kind,
    array: Array,
}

/// Searches models that serve the run's own users as its storage did, by simulation: Nelder and
/// Mead's search, briefly from each start, then further from the best. The best model is first. The
/// others are of other kinds and fit as well.
///
/// # Errors
///
/// If the tile cannot be simulated, or `control` stops.
pub(super) fn refine(
    run: &Run,
    plan: &ResolvedPlan,
    threads: usize,
    control: &Control,
) -> Result<Vec<Array>, BenchError> {
    let targets = targets(run, plan)?;
    let mut search = Search { run, seed: plan.seed, targets, threads, control, trials: Vec::new() };
    let starts = starts(&search.targets, run.tile.disk_bytes);
    let mut found = Vec::new();
    for start in starts {
        let place = search.servers(&start, &start.place(), (STEP, TRIALS_FIRST))?;
        found.push((start, place));
    }
    found.sort_by(|one, other| one.1.cost.total_cmp(&other.1.cost));
    for (start, from) in found.iter().take(STARTS_KEPT) {
        search.servers(start, &from.place, (STEP / 2.0, TRIALS))?;
    }
    search.drives(run.tile.disk_bytes)?;
    Ok(as_good(search.trials))
}

/// Function from a position of a search to the model there, with its kind.
type Models<'a> = dyn Fn(&Run, &[f64]) -> Option<(Kind, Array)> + 'a;

/// Search, with all its trials.
struct Search<'a> {
    run: &'a Run,
    seed: u64,
    targets: Vec<Target>,
    threads: usize,
    control: &'a Control,
    trials: Vec<Trial>,
}

impl Search<'_> {
    /// Searches servers from a position.
    fn servers(
        &mut self,
        start: &Knobs,
        place: &[f64],
        effort: (f64, u32),
    ) -> Result<Minimum, BenchError> {
        self.minimise(place, effort, &|run, place| {
            let model = start.at(place)?;
            Some((model.kind(), super::array(run, &model)))
        })
    }

    /// Searches hard disks, if reads are slow enough: first each speed with each kind of memory,
    /// then the other RAID levels of the best, then the best more closely.
    fn drives(&mut self, tile_bytes: u64) -> Result<(), BenchError> {
        let known = self.trials.len();
        let mut found: Vec<(f64, Drives)> = Vec::new();
        for start in drives(&self.targets, tile_bytes) {
            found.push(self.closer(&start, &[0.0], (DRIVES_STEP, DRIVES_TRIALS))?);
        }
        let least = |found: &[(f64, Drives)]| {
            found.iter().min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, drives)| *drives)
        };
        let Some(best) = least(&found) else { return Ok(()) };
        let misfit = |trials: &[Trial]| trials.iter().map(|it| it.misfit).fold(f64::MAX, f64::min);
        if misfit(&self.trials[known..]) > HOPELESS * misfit(&self.trials[..known]) {
            return Ok(());
        }
        for raid in [Raid::Raid0, Raid::Raid5, Raid::Raid6] {
            let start = Drives { raid, ..best };
            found.push(self.closer(&start, &[0.0], (DRIVES_STEP, DRIVES_TRIALS))?);
        }
        let best = least(&found).unwrap_or(best);
        let axes = if best.memory.is_some() { 2 } else { 1 };
        self.closer(&best, &vec![0.0; axes], (DRIVES_STEP / 2.0, DRIVES_LAST))?;
        Ok(())
    }

    /// Searches the number of disks and, with a second axis, the size of their memory. Returns the
    /// misfit and the disks.
    fn closer(
        &mut self,
        start: &Drives,
        place: &[f64],
        effort: (f64, u32),
    ) -> Result<(f64, Drives), BenchError> {
        let found = self.minimise(place, effort, &|run, place| {
            let drives = start.at(place);
            Some((drives.kind(), drives.array(run)?))
        })?;
        Ok((found.cost, start.at(&found.place)))
    }

    /// Minimises the misfit over the positions of a search, from the position `place`.
    fn minimise(
        &mut self,
        place: &[f64],
        (step, trials): (f64, u32),
        model: &Models<'_>,
    ) -> Result<Minimum, BenchError> {
        let mut cost = |place: &[f64]| {
            model(self.run, place).and_then(|model| self.trial(model)).unwrap_or(f64::INFINITY)
        };
        let found = stats::minimise(place, step, (trials, TOLERANCE), &mut cost);
        match self.control.request() {
            Request::GoOn => Ok(found),
            _ => Err(BenchError::Interrupted),
        }
    }

    /// Simulates a model and returns its mean misfit; `None` if it cannot be simulated.
    fn trial(&mut self, (kind, array): (Kind, Array)) -> Option<f64> {
        let goes_on = || self.control.request() == Request::GoOn;
        let play = |target: &Target, _: &dyn Fn(())| {
            let steps = (target.load.tiles, 0);
            // What no step can be played on has no misfit; if that is all, the search of the edge says
            // why.
            let step = target.stage.step(&array, steps, self.seed, self.control).ok()?;
            Some(target.misfit(&step))
        };
        let misfits = parallel::run(&self.targets, self.threads, &goes_on, play, |_| ());
        let misfits: Option<Vec<f64>> = misfits.into_iter().map(Option::flatten).collect();
        let misfit = stats::mean(&misfits?)?;
        self.trials.push(Trial { misfit, kind, array });
        Some(misfit)
    }
}

/// Returns the best model, and the best model of each other kind that fits as well. Kinds differ in
/// their response to changes, but a run does not distinguish servers from a link, nor hits of
/// memory from other I/Os.
fn as_good(mut trials: Vec<Trial>) -> Vec<Array> {
    trials.sort_by(|one, other| one.misfit.total_cmp(&other.misfit));
    let Some(least) = trials.first().map(|trial| trial.misfit) else { return Vec::new() };
    trials.retain(|trial| trial.misfit <= AS_GOOD * least + NOISE);
    let mut kinds = Vec::new();
    trials.retain(|trial| {
        let is_new = !kinds.contains(&trial.kind);
        kinds.push(trial.kind);
        is_new
    });
    trials.into_iter().map(|trial| trial.array).collect()
}

/// Returns the starts of the search among servers: few servers, many, many behind a link with a
/// rate, and servers behind memory. The memory completes writes, and also reads of a small or large
/// part of the data.
#[expect(clippy::cast_precision_loss, reason = "a start")]
fn starts(targets: &[Target], tile_bytes: u64) -> Vec<Knobs> {
    let Some(Target { load: least, .. }) = targets.first() else { return Vec::new() };
    let loads = || targets.iter().map(|target| target.load);
    let ratio = least.write.zip(least.read).map_or(1.0, |(write, read)| write / read);
    let few = Knobs {
        capacity: loads().map(|load| load.rate).fold(0.0, f64::max) * 1.1,
        service: 0.3 * least.latency,
        outside: 0.1 * least.latency,
        write: ratio.clamp(0.05, 20.0),
        spread: 0.5,
        rate: None,
        memory: None,
        reads: least.reads,
    };
    let many = Knobs { service: 0.9 * least.latency, ..few };
    // Whatever holds writes may hold reads, too. How much of them is searched from both ends.
    let hit =
        loads().flat_map(|load| [load.read, load.write]).flatten().fold(f64::INFINITY, f64::min);
    let data = f64::from(targets.last().map_or(1, |target| target.load.tiles)) * tile_bytes as f64;
    let slowest = loads().filter_map(|load| load.read).fold(least.latency, f64::max);
    let memories = [0.0, 0.05 * data, 0.5 * data].map(|reads| Knobs {
        capacity: if reads > 0.0 { 0.5 * few.capacity } else { few.capacity },
        service: 0.6 * slowest,
        write: 1.0,
        spread: 0.1,
        memory: Some(Memory { hit, reads, writes: MEMORY }),
        ..few
    });
    let bytes = loads().map(|load| load.bytes).fold(0.0, f64::max);
    let narrow = Knobs { rate: Some(1.2 * bytes), ..many };
    [few, many, narrow].into_iter().chain(memories).collect()
}

/// Returns the starts of the search among hard disks: each shipped disk, without memory, with
/// memory for writes, and with memory for writes and reads.
#[expect(clippy::cast_precision_loss, reason = "a start")]
fn drives(targets: &[Target], tile_bytes: u64) -> Vec<Drives> {
    let loads = || targets.iter().map(|target| target.load);
    let slowest = loads().filter_map(|load| load.read).fold(0.0, f64::max);
    if slowest < DRIVES_FROM {
        return Vec::new();
    }
    let rate = loads().map(|load| load.rate).fold(0.0, f64::max);
    let hit =
        loads().flat_map(|load| [load.read, load.write]).flatten().fold(f64::INFINITY, f64::min);
    let data = f64::from(targets.last().map_or(1, |target| target.load.tiles)) * tile_bytes as f64;
    let memories = [None, Some(0.0), Some(0.05 * data)];
    let starts = LIKE.iter().flat_map(|&(like, each)| {
        memories.map(|reads| Drives {
            like,
            count: (rate / each).max(2.0),
            raid: Raid::Raid10,
            memory: reads.map(|reads| Memory { hit, reads, writes: MEMORY }),
        })
    });
    starts.collect()
}
