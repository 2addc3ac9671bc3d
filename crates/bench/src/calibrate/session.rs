use std::path::PathBuf;
use std::time::Duration;

use datastore::{Datastore, Target};
use jiff::Timestamp;
use record::run::{ToolFacts, Warning};
use record::rundir::RunId;
use units::{Bytes, Nanos};

use super::document::{Calibration, CandidateFacts, Demerits, Machine, Noise, point_facts};
use super::fit::{Effort, Fit, fit};
use super::loops::Span;
use super::measure::{Measured, Pace};
use super::model_disk;
use super::noise::noise_warnings;
use super::place::Place;
use super::sweep::{Contact, ROUNDS, Sweep, sweep};
use crate::error::BenchError;
use crate::progress::{Control, Request};
use crate::rig::RealRig;
use crate::run::summary;

/// What to calibrate, and what is allowed.
#[derive(Debug, Clone)]
pub struct CalibrateOptions {
    /// What is measured.
    pub target: Target,
    /// Name of the array; nothing for the device's name.
    pub name: Option<String>,
    /// Where its file goes; nothing for the user's directory of arrays.
    pub out: Option<PathBuf>,
    /// Fewer and shorter loops.
    pub quick: bool,
    /// Reads only, from what is there; for block devices and files.
    pub read_only: bool,
    /// Size of the disk that is measured.
    pub space: Bytes,
    /// Time of each loop; nothing for the default.
    pub point: Option<Nanos>,
    /// Sets of parameters each kind of model may try, about; nothing for the default.
    pub tries: Option<u32>,
    /// Where random numbers start.
    pub seed: u64,
    /// Threads that simulate.
    pub threads: usize,
    /// Identity of the block device whose content may be lost.
    pub destroy_data: Option<String>,
    /// An existing file that is not ours may be overwritten.
    pub overwrite_file: bool,
    /// A directory on a memory, overlay or root file system may be used.
    pub allow_root_fs: bool,
    /// The program.
    pub tool: ToolFacts,
    /// The command, for the file's source.
    pub command: String,
}

/// Smallest disk that is measured: a few of the largest blocks.
const SPACE_MIN: Bytes = Bytes::new(8 << 20);

/// Measures a target, fits a model and saves it as an array file.
///
/// # Errors
///
/// When the target is refused, the array's file may not be written, a loop fails, or it is
/// interrupted. Nothing of ours is left on the target then either.
pub fn calibrate(
    options: &CalibrateOptions,
    control: &Control,
    tell: &mut dyn FnMut(&str),
) -> Result<Calibration, BenchError> {
    let (store, subject) = open(options)?;
    let mut warnings: Vec<Warning> =
        store.warnings().iter().map(|found| warning(&found.id, found.text.clone())).collect();
    let (sweep, left) = measure_on(store, options, subject.span, (control, tell))?;
    warnings
        .extend(left.iter().map(|path| {
            warning("foreign", format!("left in place, not ours: {}", path.display()))
        }));
    let fit = fit_to(&sweep.points, &subject, options, (control, tell))?;
    warnings.extend(sweep.warning());
    let calibration = subject.report(options, &sweep, &fit, warnings);
    subject.place.save(&calibration)?;
    Ok(calibration)
}

/// What is calibrated.
struct Subject {
    started: Timestamp,
    place: Place,
    machine: Machine,
    target_summary: String,
    span: Span,
    /// What the target has room for.
    capacity: Bytes,
}

/// Makes the disk's store, after everything that could refuse it later was asked.
fn open(options: &CalibrateOptions) -> Result<(Datastore, Subject), BenchError> {
    let started = Timestamp::now();
    if options.read_only && matches!(options.target, Target::Directory(_)) {
        return Err(BenchError::NothingToRead);
    }
    let space = options.space.max(SPACE_MIN).round_up(Bytes::MIB);
    let store_options = store_options(options, started)?;
    datastore::preflight(&options.target, space, &store_options)?;
    let environment = record::env::capture(options.target.path(), options.tool.clone());
    let device = environment.storage.devices.first().map(|device| device.name.clone());
    let place = Place::of(options, device.as_deref())?;
    let store = Datastore::open(&options.target, space, &store_options)?;
    let subject = Subject {
        started,
        place,
        machine: Machine::of(&environment),
        target_summary: summary(store.preflight()),
        span: Span { size: space, seed: options.seed },
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

/// Runs the loops and removes the disk, also after a failure. What was left because it is not
/// ours comes along.
fn measure_on(
    store: Datastore,
    options: &CalibrateOptions,
    span: Span,
    contact: Contact<'_>,
) -> Result<(Sweep, Vec<PathBuf>), BenchError> {
    let pace = pace(options);
    let mut rig =
        RealRig::over(store, options.seed, Nanos(pace.duration.0 / 8).max(Nanos::from_millis(1)));
    let sweep = sweep(&mut rig, options, (span, pace), contact);
    let removed = rig.remove();
    let sweep = sweep?;
    Ok((sweep, removed?))
}

fn fit_to(
    points: &[Measured],
    subject: &Subject,
    options: &CalibrateOptions,
    (control, tell): Contact<'_>,
) -> Result<Fit, BenchError> {
    tell("fitting models to the loops");
    let is_stopped = || control.request() != Request::GoOn;
    let contact: super::fit::Contact<'_> = (&is_stopped, &mut |line| tell(&format!("  {line}")));
    let found = fit(points, (subject.span, subject.capacity), effort(options), contact);
    if is_stopped() { Err(BenchError::Interrupted) } else { Ok(found) }
}

impl Subject {
    fn report(
        &self,
        options: &CalibrateOptions,
        sweep: &Sweep,
        fit: &Fit,
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

/// How long a loop runs in each round. In quick mode all rounds of the 60 loops and their
/// warm-ups are a minute; those of the 105 loops of the whole matrix are four and a half.
fn pace(options: &CalibrateOptions) -> Pace {
    let default = Nanos::from_millis(if options.quick { 800 } else { 2000 });
    let point = options.point.unwrap_or(default).max(Nanos::from_millis(64));
    let duration = Nanos(point.0 / u64::from(ROUNDS));
    Pace { warm_up: Nanos(duration.0 / 4), duration }
}

/// On a core like those we saw, the search takes about a third of its limit.
fn effort(options: &CalibrateOptions) -> Effort {
    let (evaluations, answers, at_most) =
        if options.quick { (80, 500.0, 30) } else { (240, 1000.0, 180) };
    let evaluations = options.tries.unwrap_or(evaluations);
    let at_most = Duration::from_secs(at_most);
    Effort { evaluations, answers, seconds: 0.1, threads: options.threads, at_most }
}
