use std::path::PathBuf;

use jiff::Timestamp;
use run_store::env::Environment;
use run_store::run::{ToolFacts, Warning};
use serde::Serialize;
use spec::array::{Calibrated, Disk};
use stats::Histogram;
use units::{Nanos, Ratio};

use super::fit::{Candidate, Fit, mean_demerit};
use super::matrix::Mix;
use super::measure::{Answers, Measured};
use super::model_disk;

/// A finished calibration: what was measured, what was fitted, and how far off it is.
///
/// Format `tilemark.calibration/1.0`. Shares are parts of 1, times nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Name and version of this format.
    pub schema: &'static str,
    /// The program.
    pub tool: ToolFacts,
    /// Name of the array.
    pub name: String,
    /// Where its file is.
    pub path: PathBuf,
    /// The command that made it.
    pub command: String,
    /// When measuring began.
    pub started: Timestamp,
    /// What was measured, as it was named.
    pub target: String,
    /// The same in words a person recognises.
    pub target_summary: String,
    /// The machine.
    pub machine: Machine,
    /// Whether fewer and shorter loops were run.
    pub quick: bool,
    /// Whether nothing was written.
    pub read_only: bool,
    /// Where random numbers started.
    pub seed: u64,
    /// Size of the disk that was measured, in bytes.
    pub span_bytes: u64,
    /// Time of each loop in all rounds together, without warm-ups, in nanoseconds.
    pub point_ns: u64,
    /// Time for everything, in nanoseconds.
    pub elapsed_ns: u64,
    /// What else the machine did.
    pub noise: Noise,
    /// How the last round differed from the first.
    pub drift: Option<Drift>,
    /// The kind of model that was chosen.
    pub chosen: &'static str,
    /// The fitted disk, as in the array file.
    pub disk: Disk,
    /// How far it is off with a tile, as in the array file.
    pub calibrated: Calibrated,
    /// Its demerits.
    pub demerits: Demerits,
    /// Every kind of model that was tried, best first.
    pub candidates: Vec<CandidateFacts>,
    /// Every loop.
    pub points: Vec<PointFacts>,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
}

/// The machine that measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors the scheduler sees.
    pub processors: Option<u32>,
    /// What names a virtual machine.
    pub virtualisation: Option<String>,
    /// The block device, with its model.
    pub device: Option<String>,
}

impl Machine {
    /// Out of all that is known of it.
    pub fn of(environment: &Environment) -> Self {
        let device = environment.storage.devices.first().map(|device| {
            let model = device.model.as_deref().map(|model| format!(" ({})", model.trim()));
            format!("{}{}", device.name, model.unwrap_or_default())
        });
        Self {
            kernel: environment.system.kernel.clone(),
            cpu: environment.cpu.model.clone(),
            processors: environment.cpu.logical,
            virtualisation: environment.system.virtualisation.clone(),
            device,
        }
    }

    /// One line about it.
    pub fn sentence(&self) -> String {
        let device = self.device.as_deref().unwrap_or("an unknown device");
        let processors = self.processors.map_or_else(String::new, |count| format!("{count} x "));
        let cpu = self.cpu.as_deref().unwrap_or("an unknown processor");
        let kernel = self.kernel.as_deref().unwrap_or("unknown");
        let guest = self.virtualisation.as_deref().map(|kind| format!(", virtual ({kind})"));
        format!("{device}, {processors}{cpu}, kernel {kernel}{}", guest.unwrap_or_default())
    }
}

/// What else the machine did while it was measured. Null is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Noise {
    /// Share of the CPU time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// Share of the CPU time that other processes used.
    pub others: Option<f64>,
    /// Mean demerit of the rounds of each loop that were fitted against the rounds between
    /// them: what is left of a model that knows the former by heart.
    pub floor: Option<f64>,
    /// Highest CPU share of a generator thread in any loop.
    pub worker_cpu: f64,
}

/// The last round against the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// I/Os per second in the last round, as a multiple of those in the first: the geometric
    /// mean over all loops.
    pub iops: f64,
    /// Mean demerit of the last round against the first.
    pub demerit: Option<f64>,
}

/// Mean demerits over loops, in the rounds that were not fitted; null without any.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demerits {
    /// Of the loops that were fitted.
    pub training: Option<f64>,
    /// Of those it did not see, by a model made without them.
    pub validation: Option<f64>,
    /// Of all, by the model that is saved.
    pub all: Option<f64>,
    /// Of all, with the fastest 99 % only.
    pub all_p99: Option<f64>,
    /// Of the fastest 99 % of the fitted rounds of each loop against the others.
    pub floor_p99: Option<f64>,
    /// The worst loop.
    pub worst: Option<f64>,
    /// The same by mix.
    pub mixes: Vec<MixDemerits>,
}

/// Mean demerits of the loops of one mix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MixDemerits {
    /// The mix.
    pub mix: Mix,
    /// Of the loops that were fitted.
    pub training: Option<f64>,
    /// Of those it did not see, by a model made without them.
    pub validation: Option<f64>,
    /// Of all, by the model that is saved.
    pub all: Option<f64>,
    /// Of all, with the fastest 99 % only.
    pub all_p99: Option<f64>,
    /// Of the fitted rounds of each loop against the others.
    pub floor: Option<f64>,
    /// The same with the fastest 99 % only.
    pub floor_p99: Option<f64>,
}

/// A kind of model that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateFacts {
    /// Its name.
    pub name: &'static str,
    /// Mean demerit of the loops that were fitted.
    pub training: Option<f64>,
    /// Mean demerit of those it did not see, by a model made without them.
    pub validation: Option<f64>,
    /// Sets of parameters that were tried.
    pub evaluations: u32,
    /// The best it came to.
    pub disk: Disk,
}

/// One loop, measured and modelled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PointFacts {
    /// What it does.
    pub mix: Mix,
    /// Bytes of an I/O.
    pub block_bytes: u64,
    /// I/Os outstanding.
    pub depth: u32,
    /// Whether the fit saw it.
    pub training: bool,
    /// What was measured.
    pub measured: Side,
    /// What the model gives.
    pub model: Side,
    /// The demerit of the model that is saved.
    pub demerit: Option<f64>,
    /// The demerit of a model made without the unseen loops.
    pub foreseen: Option<f64>,
    /// The demerit of the fastest 99 %.
    pub demerit_p99: Option<f64>,
    /// The demerit of the fitted rounds of the loop against the others.
    pub floor: Option<f64>,
    /// The same of the fastest 99 %.
    pub floor_p99: Option<f64>,
}

/// Reads and writes of a loop together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Side {
    /// Answers per second.
    pub iops: f64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<u64>,
    /// 99th percentile of latency.
    pub p99_ns: Option<u64>,
}

impl Side {
    fn of(answers: &Answers) -> Self {
        let all: Histogram = answers.all();
        let at = |share: f64| all.percentile(Ratio::new(share)).map(|Nanos(ns)| ns);
        Self { iops: answers.iops(), mean_ns: all.mean_ns(), p50_ns: at(0.5), p99_ns: at(0.99) }
    }
}

/// Every loop with the model that was chosen.
pub fn point_facts(points: &[Measured], fit: &Fit) -> Vec<PointFacts> {
    let best = fit.best();
    let foreseen = best.foreseen_demerits(points);
    let facts = |(place, measured): (usize, &Measured)| PointFacts {
        mix: measured.point.mix,
        block_bytes: measured.point.block.get(),
        depth: measured.point.depth,
        training: measured.point.is_training,
        measured: Side::of(&measured.answers),
        model: Side::of(&best.answers[place]),
        demerit: best.demerits[place],
        foreseen: foreseen[place],
        demerit_p99: measured.checked().demerit_p99(&best.answers[place]),
        floor: measured.checked().demerit(measured.fitted()),
        floor_p99: measured.checked().demerit_p99(measured.fitted()),
    };
    points.iter().enumerate().map(facts).collect()
}

impl Demerits {
    /// Means over the loops.
    pub fn of(points: &[PointFacts]) -> Self {
        let mean = |keep: &dyn Fn(&PointFacts) -> bool, value: Value| {
            let kept = points.iter().filter(|point| keep(point));
            stats::mean(&kept.filter_map(value).collect::<Vec<_>>())
        };
        let (demerit, demerit_p99): (Value, Value) = (|p| p.demerit, |p| p.demerit_p99);
        let foreseen: Value = |p| p.foreseen;
        let (floor, floor_p99): (Value, Value) = (|p| p.floor, |p| p.floor_p99);
        let of_mix = |mix: Mix| MixDemerits {
            mix,
            training: mean(&|point| point.mix == mix && point.training, demerit),
            validation: mean(&|point| point.mix == mix && !point.training, foreseen),
            all: mean(&|point| point.mix == mix, demerit),
            all_p99: mean(&|point| point.mix == mix, demerit_p99),
            floor: mean(&|point| point.mix == mix, floor),
            floor_p99: mean(&|point| point.mix == mix, floor_p99),
        };
        let measured = Mix::ALL.into_iter().filter(|mix| points.iter().any(|p| p.mix == *mix));
        Self {
            training: mean(&|point| point.training, demerit),
            validation: mean(&|point| !point.training, foreseen),
            all: mean(&|_| true, demerit),
            all_p99: mean(&|_| true, demerit_p99),
            floor_p99: mean(&|_| true, floor_p99),
            worst: points.iter().filter_map(demerit).reduce(f64::max),
            mixes: measured.map(of_mix).collect(),
        }
    }
}

type Value = fn(&PointFacts) -> Option<f64>;

impl CandidateFacts {
    /// What a reader wants to know of it.
    pub fn of(points: &[Measured], candidate: &Candidate) -> Self {
        Self {
            name: candidate.name,
            training: mean_demerit(points, &candidate.demerits, true),
            validation: mean_demerit(points, &candidate.foreseen_demerits(points), false),
            evaluations: candidate.evaluations,
            disk: model_disk(&candidate.model),
        }
    }
}
