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

/// Completed calibration: measurements, the fitted model, and its errors.
///
/// Format `tilemark.calibration/1.0`. Shares are parts of 1, and times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Name and version of this format.
    pub schema: &'static str,
    /// Version of the program.
    pub tool: ToolFacts,
    /// Name of the array.
    pub name: String,
    /// Path of the array's file.
    pub path: PathBuf,
    /// Command line that created the array.
    pub command: String,
    /// Start of the measurement.
    pub started: Timestamp,
    /// Target as given.
    pub target: String,
    /// Description of the target, for display.
    pub target_summary: String,
    /// Computer on which the measurement ran.
    pub machine: Machine,
    /// True if fewer and shorter loops were run.
    pub quick: bool,
    /// True if nothing was written.
    pub read_only: bool,
    /// Seed of random numbers.
    pub seed: u64,
    /// Size of the measured disk, in bytes.
    pub span_bytes: u64,
    /// Total time of each loop over all rounds, without warm-ups, in nanoseconds.
    pub point_ns: u64,
    /// Total time of the calibration, in nanoseconds.
    pub elapsed_ns: u64,
    /// Other work on the computer during the measurement.
    pub noise: Noise,
    /// Difference of the last round from the first.
    pub drift: Option<Drift>,
    /// Kind of the chosen model.
    pub chosen: &'static str,
    /// Fitted disk, as in the array file.
    pub disk: Disk,
    /// Error with a tile, as in the array file.
    pub calibrated: Calibrated,
    /// Demerits of the chosen model.
    pub demerits: Demerits,
    /// Kinds of models that were tried, best first.
    pub candidates: Vec<CandidateFacts>,
    /// Results of all loops.
    pub points: Vec<PointFacts>,
    /// Warnings for readers.
    pub warnings: Vec<Warning>,
}

/// Computer on which the measurement ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Number of processors that the scheduler sees.
    pub processors: Option<u32>,
    /// Name of the virtualisation.
    pub virtualisation: Option<String>,
    /// Block device, with its model.
    pub device: Option<String>,
}

impl Machine {
    /// Selects facts from an environment.
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

    /// Describes the computer in one line.
    pub fn sentence(&self) -> String {
        let device = self.device.as_deref().unwrap_or("an unknown device");
        let processors = self.processors.map_or_else(String::new, |count| format!("{count} x "));
        let cpu = self.cpu.as_deref().unwrap_or("an unknown processor");
        let kernel = self.kernel.as_deref().unwrap_or("unknown");
        let guest = self.virtualisation.as_deref().map(|kind| format!(", virtual ({kind})"));
        format!("{device}, {processors}{cpu}, kernel {kernel}{}", guest.unwrap_or_default())
    }
}

/// Other work on the computer during the measurement. Null means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Noise {
    /// Share of CPU time that the hypervisor gave to other VMs.
    pub steal: Option<f64>,
    /// Share of CPU time that other processes used.
    pub others: Option<f64>,
    /// Mean demerit of the fitted rounds of each loop against the other rounds: the lowest error
    /// that a model can reach.
    pub floor: Option<f64>,
    /// Highest CPU share of a generator thread in any loop.
    pub worker_cpu: f64,
}

/// Difference of the last round from the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// IOPS in the last round, as a multiple of the IOPS in the first round: the geometric mean
    /// over all loops.
    pub iops: f64,
    /// Mean demerit of the last round against the first.
    pub demerit: Option<f64>,
}

/// Mean demerits over loops, in the rounds that were not fitted; null if there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demerits {
    /// Mean over the fitted loops.
    pub training: Option<f64>,
    /// Mean over the unseen loops, with a model fitted without them.
    pub validation: Option<f64>,
    /// Mean over all loops, with the saved model.
    pub all: Option<f64>,
    /// Mean over all loops, for the fastest 99 % only.
    pub all_p99: Option<f64>,
    /// Mean demerit of the fitted rounds of each loop against the other rounds, for the fastest 99
    /// % only.
    pub floor_p99: Option<f64>,
    /// Maximum over the loops.
    pub worst: Option<f64>,
    /// Demerits by mix.
    pub mixes: Vec<MixDemerits>,
}

/// Mean demerits of the loops of one mix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MixDemerits {
    /// Mix of the loops.
    pub mix: Mix,
    /// Mean over the fitted loops.
    pub training: Option<f64>,
    /// Mean over the unseen loops, with a model fitted without them.
    pub validation: Option<f64>,
    /// Mean over all loops, with the saved model.
    pub all: Option<f64>,
    /// Mean over all loops, for the fastest 99 % only.
    pub all_p99: Option<f64>,
    /// Mean demerit of the fitted rounds of each loop against the other rounds.
    pub floor: Option<f64>,
    /// Mean demerit of the fitted rounds against the other rounds, for the fastest 99 % only.
    pub floor_p99: Option<f64>,
}

/// Kind of model that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateFacts {
    /// Name of the kind.
    pub name: &'static str,
    /// Mean demerit of the fitted loops.
    pub training: Option<f64>,
    /// Mean demerit of the unseen loops, with a model fitted without them.
    pub validation: Option<f64>,
    /// Number of parameter sets that were tried.
    pub evaluations: u32,
    /// Best parameters.
    pub disk: Disk,
}

/// Loop, measured and modelled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PointFacts {
    /// Mix of reads and writes.
    pub mix: Mix,
    /// Bytes per I/O.
    pub block_bytes: u64,
    /// Outstanding I/Os.
    pub depth: u32,
    /// True if the loop was fitted.
    pub training: bool,
    /// Measured figures.
    pub measured: Side,
    /// Figures of the model.
    pub model: Side,
    /// Demerit of the saved model.
    pub demerit: Option<f64>,
    /// Demerit of a model that was fitted without the unseen loops.
    pub foreseen: Option<f64>,
    /// Demerit for the fastest 99 % only.
    pub demerit_p99: Option<f64>,
    /// Demerit of the loop's fitted rounds against the other rounds.
    pub floor: Option<f64>,
    /// Demerit of the fitted rounds, for the fastest 99 % only.
    pub floor_p99: Option<f64>,
}

/// Figures of a loop, reads and writes together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Side {
    /// Completed I/Os per second.
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

/// Returns the facts of every loop with the chosen model.
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
    /// Computes the means over the loops.
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
    /// Returns the facts of a candidate.
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
