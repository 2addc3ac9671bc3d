use std::time::{Duration, Instant};

use datastore::Datastore;
use jiff::Timestamp;
use run_store::run::Warning;
use run_store::rundir::RunId;
use spec::array::{Calibrated, TileCheck};
use units::{Bytes, Nanos};

use super::check;
use super::document::{Calibration, CandidateFacts, Demerits, Machine, Noise, point_facts};
use super::error::CalibrateError;
use super::fit::{Effort, Fit, fit};
use super::loops::Span;
use super::matrix::matrix;
use super::measure::{Measured, Pace};
use super::model_disk;
use super::noise::noise_warnings;
use super::options::CalibrateOptions;
use super::place::{ArrayLocation, array};
use super::sweep::{Contact, ROUNDS, Sweep, sweep};
use bench::BenchError;
use bench::progress::{Control, Request, about};
use bench::rig::RealRig;
use bench::run::{page_cache, summary};
use bench::simulate::Stage;
use bench::step::step_at_most;

/// Minimum size of the measured disk: a few of the largest blocks.
const SPACE_MIN: Bytes = Bytes::new(8 << 20);

/// Measures a target, fits a model and saves it as an array file.
///
/// # Errors
///
/// If the target is refused, the array's file may not be written, a loop fails, or it is
/// interrupted. The target is also cleaned up in these cases.
pub fn calibrate(
    options: &CalibrateOptions,
    control: &Control,
    tell: &mut dyn FnMut(&str),
) -> Result<Calibration, CalibrateError> {
    let (store, subject) = open(options)?;
    let mut warnings: Vec<Warning> =
        store.warnings().iter().map(|found| warning(&found.id, found.text.clone())).collect();
    let stage = match options.read_only {
        true => None,
        false => Some(check::stage(
            subject.span.size,
            Nanos(pace(options).duration.0 * u64::from(ROUNDS)),
        )?),
    };
    tell(&whole(options, stage.as_ref()));
    let mut rig = RealRig::over(store, options.seed, slice(options));
    let found = measure_on(&mut rig, (&subject, stage.as_ref()), options, (control, &mut *tell));
    let removed = rig.remove();
    let (sweep, fit, check) = found?;
    let left = removed?;
    warnings
        .extend(left.iter().map(|path| {
            warning("foreign", format!("left in place, not ours: {}", path.display()))
        }));
    warnings.extend(sweep.warning());
    let calibrated = Calibrated { buffered: subject.is_buffered, check };
    let calibration = subject.report(options, (&sweep, &fit, calibrated), warnings);
    subject.place.save(&calibration)?;
    Ok(calibration)
}

/// Target and output file of a calibration.
struct Subject {
    started: Timestamp,
    place: ArrayLocation,
    machine: Machine,
    target_summary: String,
    span: Span,
    /// True if the measurement includes the page cache.
    is_buffered: bool,
    /// Capacity of the target.
    capacity: Bytes,
}

/// Opens the datastore for the disk, after all other checks.
fn open(options: &CalibrateOptions) -> Result<(Datastore, Subject), CalibrateError> {
    let started = Timestamp::now();
    if options.read_only && !options.target.facts().has_content {
        return Err(BenchError::NothingToRead.into());
    }
    let space = options.space.max(SPACE_MIN).round_up(Bytes::MIB);
    let store_options = store_options(options, started)?;
    let needed = if options.read_only { space } else { space + check::disks(space)? };
    let before =
        datastore::preflight(&options.target, needed, &store_options).map_err(BenchError::from)?;
    let cached = page_cache(&before);
    if let Some(why) = cached.clone().filter(|_| !options.buffered) {
        return Err(CalibrateError::PageCache { target: options.target.to_string(), why });
    }
    let environment = run_store::env::capture(options.target.path(), options.tool.clone());
    let device = environment.storage.devices.first().map(|device| device.name.clone());
    let place = ArrayLocation::of(options, device.as_deref())?;
    let store =
        Datastore::open(&options.target, needed, &store_options).map_err(BenchError::from)?;
    // The target's direct I/O is known for certain only after it is open.
    let cached = cached.or_else(|| page_cache(store.preflight()));
    if let Some(why) = cached.clone().filter(|_| !options.buffered) {
        return Err(CalibrateError::PageCache { target: options.target.to_string(), why });
    }
    let subject = Subject {
        started,
        place,
        machine: Machine::of(&environment),
        target_summary: summary(store.preflight()),
        span: Span { size: space, seed: options.seed },
        is_buffered: cached.is_some(),
        capacity: store.capacity().max(space),
    };
    Ok((store, subject))
}

fn store_options(
    options: &CalibrateOptions,
    started: Timestamp,
) -> Result<datastore::Options, BenchError> {
    let id = RunId::new("calibrate", started).map_err(|source| BenchError::Random { source })?;
    Ok(datastore::Options {
        buffered: false,
        write: !options.read_only,
        space_max: None,
        destroy_data: options.destroy_data.clone(),
        overwrite_file: options.overwrite_file,
        allow_root_fs: options.allow_root_fs,
        run_id: id.to_string(),
        adopt: None,
    })
}

/// Returns the duration of the whole calibration without filling the disk, as text.
fn whole(options: &CalibrateOptions, stage: Option<&Stage>) -> String {
    let Pace { warm_up, duration } = pace(options);
    let loops = matrix(options.quick, options.read_only).len() as u64 * u64::from(ROUNDS);
    let loops = Nanos(loops.saturating_mul(warm_up.0 + duration.0));
    let fit = Nanos::from(effort(options).at_most);
    let check = check_at_most(stage);
    let all = about(loops.saturating_add(fit).saturating_add(check));
    let check = match stage {
        Some(_) => format!(", at most {} of a check", about(check)),
        None => String::new(),
    };
    format!("about {all}: {} of loops, at most {} of fitting{check}", about(loops), about(fit))
}

/// Returns the maximum duration of the check; zero without a check.
fn check_at_most(stage: Option<&Stage>) -> Nanos {
    stage.map_or(Nanos::ZERO, |stage| step_at_most(stage.plan()))
}

/// Returns the length of the slices of a loop.
fn slice(options: &CalibrateOptions) -> Nanos {
    Nanos(pace(options).duration.0 / 8).max(Nanos::from_millis(1))
}

/// Runs the loops, fits a model, and checks it with a step of a tile on the same target.
fn measure_on(
    rig: &mut RealRig,
    (subject, stage): (&Subject, Option<&Stage>),
    options: &CalibrateOptions,
    (control, tell): Contact<'_>,
) -> Result<(Sweep, Fit, Option<TileCheck>), CalibrateError> {
    let check_at_most = check_at_most(stage);
    let after = Nanos::from(effort(options).at_most).saturating_add(check_at_most);
    let sweep = sweep(rig, options, (subject.span, pace(options), after), (control, &mut *tell))?;
    let points = (sweep.points.as_slice(), check_at_most);
    let fit = fit_to(points, subject, options, (control, &mut *tell))?;
    let Some(stage) = stage else { return Ok((sweep, fit, None)) };
    rig.set_slice(stage.plan().slice);
    let array = array("fitted", &model_disk(&fit.best().model));
    let found = check::check(rig, stage, (&array, options.seed), (control, tell))?;
    Ok((sweep, fit, Some(found)))
}

/// Fits a model to the points. The work after it takes at most `after`.
fn fit_to(
    (points, after): (&[Measured], Nanos),
    subject: &Subject,
    options: &CalibrateOptions,
    (control, tell): Contact<'_>,
) -> Result<Fit, BenchError> {
    tell("fitting models to the loops");
    let is_stopped = || control.request() != Request::GoOn;
    let (effort, begun) = (effort(options), Instant::now());
    let mut tell_left = |line: &str| {
        let left = Nanos::from(effort.at_most.saturating_sub(begun.elapsed()));
        tell(&format!("  {line}, about {} left", about(left.saturating_add(after))));
    };
    let contact: super::fit::Contact<'_> = (&is_stopped, &mut tell_left);
    let found = fit(points, (subject.span, subject.capacity), effort, contact);
    if is_stopped() { Err(BenchError::Interrupted) } else { Ok(found) }
}

impl Subject {
    fn report(
        &self,
        options: &CalibrateOptions,
        (sweep, fit, calibrated): (&Sweep, &Fit, Calibrated),
        mut warnings: Vec<Warning>,
    ) -> Calibration {
        let best = fit.best();
        let points = point_facts(&sweep.points, fit);
        let floor = stats::mean(&points.iter().filter_map(|p| p.floor).collect::<Vec<_>>());
        let noise = Noise { floor, ..sweep.noise };
        warnings.extend(noise_warnings(&noise));
        warnings.extend(fit.warning());
        let candidate = |candidate| CandidateFacts::of(&sweep.points, candidate);
        Calibration {
            schema: "tilemark.calibration/1.0",
            tool: options.tool.clone(),
            name: self.place.name.clone(),
            path: self.place.path.clone(),
            command: options.command.clone(),
            started: self.started,
            target: options.target.to_string(),
            target_summary: self.target_summary.clone(),
            machine: self.machine.clone(),
            quick: options.quick,
            read_only: options.read_only,
            seed: options.seed,
            span_bytes: self.span.size.get(),
            point_ns: pace(options).duration.0 * u64::from(ROUNDS),
            elapsed_ns: elapsed(self.started),
            noise,
            drift: sweep.drift,
            chosen: best.name,
            disk: model_disk(&best.model),
            calibrated,
            demerits: Demerits::of(&points),
            candidates: fit.candidates.iter().map(candidate).collect(),
            points,
            warnings,
        }
    }
}

fn warning(id: &str, text: String) -> Warning {
    Warning { id: id.to_owned(), text, value: None, limit: None, hint: None }
}

fn elapsed(since: Timestamp) -> u64 {
    u64::try_from(Timestamp::now().duration_since(since).as_nanos()).unwrap_or(0)
}

/// Returns the durations of a loop in each round. In quick mode, all rounds of the 60 loops with
/// warm-ups take a minute; all rounds of the 105 loops of the whole matrix take four and a half
/// minutes.
fn pace(options: &CalibrateOptions) -> Pace {
    let default = Nanos::from_millis(if options.quick { 800 } else { 2000 });
    let point = options.point.unwrap_or(default).max(Nanos::from_millis(64));
    let duration = Nanos(point.0 / u64::from(ROUNDS));
    Pace { warm_up: Nanos(duration.0 / 4), duration }
}

/// Returns the limits of the search. On typical cores the search takes about a third of its time
/// limit.
fn effort(options: &CalibrateOptions) -> Effort {
    let (evaluations, answers, at_most) =
        if options.quick { (80, 500.0, 30) } else { (240, 1000.0, 180) };
    let evaluations = options.tries.unwrap_or(evaluations);
    let at_most = Duration::from_secs(at_most);
    Effort { evaluations, answers, seconds: 0.1, threads: options.threads, at_most }
}
