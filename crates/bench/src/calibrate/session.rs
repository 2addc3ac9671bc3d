use std::path::{Path, PathBuf};

use datastore::{Datastore, Target};
use indexmap::IndexMap;
use jiff::Timestamp;
use record::run::{ToolFacts, Warning};
use record::rundir::{RunId, default_base};
use spec::array::{Array, Disk, Pool, Raid};
use units::{Bytes, Nanos};

use super::document::{Calibration, CandidateFacts, Demerits, Drift, Machine, Noise, point_facts};
use super::fit::{Effort, fit};
use super::loops::Span;
use super::matrix::{Point, matrix, shuffled};
use super::measure::{Measured, Pace, measure};
use super::model_disk;
use super::noise::{CpuTimes, TICKS_PER_S};
use crate::error::BenchError;
use crate::progress::{Control, NoObserver, Request};
use crate::rig::{RealRig, Rig};
use crate::run::{fill, summary};

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

/// Where fitted arrays are kept if nobody says otherwise: `$XDG_DATA_HOME/tilemark/arrays`, or
/// `~/.local/share/tilemark/arrays`.
///
/// # Errors
///
/// When neither variable is an absolute path.
pub fn user_arrays() -> Result<PathBuf, BenchError> {
    let runs = default_base()?;
    Ok(runs.parent().map_or_else(|| runs.clone(), |data| data.join("arrays")))
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
    let started = Timestamp::now();
    let id = RunId::new("calibrate", started).map_err(|source| BenchError::Random { source })?;
    if options.read_only && matches!(options.target, Target::Directory(_)) {
        return Err(BenchError::NothingToRead);
    }
    let space = options.space.max(SPACE_MIN).round_up(Bytes::MIB);
    let store_options = datastore::Options {
        buffered: false,
        write: !options.read_only,
        space_max: None,
        destroy_data: options.destroy_data.clone(),
        overwrite_file: options.overwrite_file,
        allow_root_fs: options.allow_root_fs,
        run_id: id.to_string(),
        adopt: None,
    };
    datastore::preflight(&options.target, space, &store_options)?;
    let environment = record::env::capture(options.target.path(), options.tool.clone());
    let machine = Machine::of(&environment);
    let device = environment.storage.devices.first().map(|device| device.name.clone());
    let place = Place::of(options, device.as_deref())?;
    let store = Datastore::open(&options.target, space, &store_options)?;
    let target_summary = summary(store.preflight());
    let mut warnings: Vec<Warning> =
        store.warnings().iter().map(|found| warning(&found.id, found.text.clone())).collect();
    let capacity = store.capacity().max(space);
    let span = Span { size: space, seed: options.seed };
    let pace = pace(options);
    let mut rig = RealRig::over(store, options.seed, Nanos(pace.duration.0 / 8));
    let session = run_on(&mut rig, options, (span, pace), (control, tell));
    let removed = rig.remove();
    let session = session?;
    for path in removed? {
        warnings.push(warning("foreign", format!("left in place, not ours: {}", path.display())));
    }
    tell("fitting models to the loops");
    let effort = effort(options);
    let is_stopped = || control.request() != Request::GoOn;
    let fit = fit(
        &session.points,
        (span, capacity),
        effort,
        (&is_stopped, &mut |name| {
            tell(&format!("  {name}"));
        }),
    );
    if is_stopped() {
        return Err(BenchError::Interrupted);
    }
    let best = fit.best();
    let points = point_facts(&session.points, &fit);
    let noise = Noise {
        floor: stats::mean(&points.iter().filter_map(|point| point.floor).collect::<Vec<_>>()),
        ..session.noise
    };
    warnings.extend(noise_warnings(&noise));
    if session.silent > 0 {
        let text = format!(
            "{} of the loops had fewer than {ANSWERS_MIN} answers and were left out",
            session.silent
        );
        warnings.push(Warning {
            hint: Some("give each loop more time with --point".to_owned()),
            ..warning("few-answers", text)
        });
    }
    let calibration = Calibration {
        schema: "tilemark.calibration/1.0",
        tool: options.tool.clone(),
        name: place.name.clone(),
        path: place.path.clone(),
        command: options.command.clone(),
        started,
        target: options.target.to_string(),
        target_summary,
        machine,
        quick: options.quick,
        read_only: options.read_only,
        seed: options.seed,
        span_bytes: space.get(),
        point_ns: pace.duration.0,
        elapsed_ns: elapsed(started),
        noise,
        drift: session.drift,
        chosen: best.name,
        disk: model_disk(&best.model),
        demerits: Demerits::of(&points),
        candidates: fit
            .candidates
            .iter()
            .map(|candidate| CandidateFacts::of(&session.points, candidate))
            .collect(),
        points,
        warnings,
    };
    place.save(&calibration)?;
    Ok(calibration)
}

fn warning(id: &str, text: String) -> Warning {
    Warning { id: id.to_owned(), text, value: None, limit: None, hint: None }
}

fn elapsed(since: Timestamp) -> u64 {
    u64::try_from(Timestamp::now().duration_since(since).as_nanos()).unwrap_or(0)
}

/// A loop in quick mode is half a second; 60 of them and a prefill are about a minute. The 105
/// loops of the whole matrix take about three.
fn pace(options: &CalibrateOptions) -> Pace {
    let default = Nanos::from_millis(if options.quick { 600 } else { 1400 });
    let duration = options.point.unwrap_or(default).max(Nanos::from_millis(16));
    Pace { warm_up: Nanos(duration.0 / 4), duration }
}

fn effort(options: &CalibrateOptions) -> Effort {
    let (evaluations, answers) = if options.quick { (80, 500.0) } else { (240, 1000.0) };
    let evaluations = options.tries.unwrap_or(evaluations);
    Effort { evaluations, answers, seconds: 0.1, threads: options.threads }
}

fn noise_warnings(noise: &Noise) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut above = |id: &str, found: Option<f64>, limit: f64, text: &str, hint: &str| {
        if let Some(found) = found.filter(|found| *found > limit) {
            warnings.push(Warning {
                id: id.to_owned(),
                text: text.to_owned(),
                value: Some(format!("{:.1} %", found * 100.0)),
                limit: Some(format!("{:.0} %", limit * 100.0)),
                hint: Some(hint.to_owned()),
            });
        }
    };
    let quiet = "measure again when the machine is idle";
    above("steal", noise.steal, 0.01, "the host gave CPU time to other guests", quiet);
    above("others", noise.others, 0.05, "other processes used the CPU", quiet);
    above(
        "unlike-itself",
        noise.floor,
        0.1,
        "the device was not like itself: first and second halves of loops differ",
        "no model can be better than this; measure again when the machine is idle",
    );
    above(
        "generator-busy",
        Some(noise.worker_cpu),
        0.9,
        "the generator's thread was busy in some loop, which the model takes for the device",
        "use a machine with a faster core",
    );
    warnings
}

/// A loop with fewer answers says nothing about a distribution; our choice.
const ANSWERS_MIN: u64 = 50;

/// What was measured.
struct Session {
    points: Vec<Measured>,
    noise: Noise,
    drift: Option<Drift>,
    /// Loops left out because too little was answered.
    silent: usize,
}

type Contact<'a> = (&'a Control, &'a mut dyn FnMut(&str));

/// Fills the disk and runs every loop.
fn run_on<R: Rig>(
    rig: &mut R,
    options: &CalibrateOptions,
    (span, pace): (Span, Pace),
    (control, tell): Contact<'_>,
) -> Result<Session, BenchError> {
    if !options.read_only {
        tell(&format!("filling {}", span.size));
        fill(rig, &[span.disk()], control, &mut NoObserver)?;
    }
    let matrix = matrix(options.quick, options.read_only);
    let order = shuffled(matrix.len(), options.seed);
    let before = CpuTimes::now();
    let mut own_s = 0.0;
    let mut one = |point: &Point, number: usize| {
        let round = number as u64;
        let measured = measure(rig, (point, span, round), pace, control)?;
        own_s += measured.cpu_s;
        tell(&line(&measured, number + 1, matrix.len()));
        Ok::<_, BenchError>(measured)
    };
    let mut points: Vec<Option<Measured>> = vec![None; matrix.len()];
    for (number, place) in order.iter().enumerate() {
        points[*place] = Some(one(&matrix[*place], number)?);
    }
    let drift = match order.first() {
        None => None,
        Some(first) => {
            let again = one(&matrix[*first], matrix.len())?;
            points[*first].as_ref().map(|first| Drift {
                iops: again.answers.iops() / first.answers.iops(),
                demerit: first.answers.demerit(&again.answers),
            })
        }
    };
    let points: Vec<Measured> = points.into_iter().flatten().collect();
    let (points, silent): (Vec<_>, Vec<_>) =
        points.into_iter().partition(|measured| measured.answers.count() >= ANSWERS_MIN);
    if points.is_empty() {
        return Err(BenchError::Silent(pace.duration));
    }
    let worker_cpu = points.iter().map(|measured| measured.worker_cpu).fold(0.0, f64::max);
    let noise = Noise { worker_cpu, ..cpu_noise(before, own_s) };
    Ok(Session { points, noise, drift, silent: silent.len() })
}

fn line(measured: &Measured, number: usize, of: usize) -> String {
    let Point { block, depth, mix, .. } = measured.point;
    let iops = measured.answers.iops();
    format!("[{number}/{of}] {:5} {block:>8} depth {depth:2}  {iops:8.0} I/Os/s", mix.name())
}

fn cpu_noise(before: Option<CpuTimes>, own_s: f64) -> Noise {
    let Some(spent) = before.and_then(|before| Some(CpuTimes::now()?.since(before))) else {
        return Noise::default();
    };
    let share = |ticks: f64| (spent.total > 0.0).then(|| ticks.max(0.0) / spent.total);
    let others = share(spent.busy - own_s * TICKS_PER_S);
    Noise { steal: share(spent.steal), others, ..Noise::default() }
}

/// Where the array goes.
struct Place {
    name: String,
    path: PathBuf,
}

/// What the source of every file of ours begins with.
const OURS: &str = "tilemark calibrate";

impl Place {
    /// Refuses, before anything is measured, what could not be saved or found afterwards.
    fn of(options: &CalibrateOptions, device: Option<&str>) -> Result<Self, BenchError> {
        let from_file = options.out.as_deref().and_then(Path::file_stem);
        let from_file = from_file.map(|stem| stem.to_string_lossy().into_owned());
        let name = options.name.clone().or(from_file);
        let name = name.unwrap_or_else(|| device.unwrap_or("disk").to_lowercase());
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(BenchError::ArrayName { name, why: "is not of a-z, 0-9 and -" });
        }
        if options.out.is_none() && spec::shipped::array_names().any(|shipped| shipped == name) {
            return Err(BenchError::ArrayName { name, why: "is the name of a shipped array" });
        }
        let path = match &options.out {
            Some(path) => path.clone(),
            None => user_arrays()?.join(format!("{name}.toml")),
        };
        let is_ours = |text: &str| text.lines().any(|line| line.starts_with(&source_begins()));
        match std::fs::read_to_string(&path) {
            Ok(text) if !is_ours(&text) => Err(BenchError::ArrayExists { path }),
            Ok(_) => Ok(Self { name, path }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self { name, path }),
            Err(source) => Err(BenchError::ArrayFile { path, source }),
        }
    }

    /// Writes the file beside its place first, so that an earlier one is replaced as a whole.
    fn save(&self, calibration: &Calibration) -> Result<(), BenchError> {
        let failed = |source| BenchError::ArrayFile { path: self.path.clone(), source };
        let text = array_text(calibration)?;
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let beside = self.path.with_extension("toml.new");
        std::fs::write(&beside, text).map_err(failed)?;
        std::fs::rename(&beside, &self.path).map_err(failed)
    }
}

fn source_begins() -> String {
    format!("source = \"{OURS}")
}

/// The array's file: one pool of one fitted disk.
pub(super) fn array_text(calibration: &Calibration) -> Result<String, BenchError> {
    let day = calibration.started.strftime("%Y-%m-%d");
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "unknown".to_owned(), |share| format!("{:.1} %", share * 100.0))
    };
    let demerits = &calibration.demerits;
    let array = Array {
        name: calibration.name.clone(),
        title: format!("{}, measured on {day}", calibration.target_summary),
        source: format!(
            "{OURS}, {day}: {}. Model \"{}\", mean demerit {} over fitted loops, {} over others; \
             the device against itself {}. Command: {}",
            calibration.machine.sentence(),
            calibration.chosen,
            percent(demerits.training),
            percent(demerits.validation),
            percent(calibration.noise.floor),
            calibration.command,
        ),
        hosts: None,
        lun_queue: None,
        link: None,
        controller: None,
        tiers: Vec::new(),
        pools: vec![pool()],
        local: None,
        places: Vec::new(),
        disks: IndexMap::<String, Disk>::from([("fitted".to_owned(), calibration.disk.clone())]),
    };
    toml::to_string_pretty(&array).map_err(|source| BenchError::ArrayText { source })
}

fn pool() -> Pool {
    Pool {
        name: "disk".to_owned(),
        disk: "fitted".to_owned(),
        count: 1,
        raid: Raid::Raid0,
        sets: 1,
        element: Bytes::new(64 << 10),
        per_tile: false,
        tiered: true,
    }
}
