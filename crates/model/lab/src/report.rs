use run_store::run::ModelFacts;
use stats::Histogram;
use units::{Nanos, Ratio};

/// Lateness of answers, compared with the times of the model and the faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Number of answers.
    pub answers: u64,
    /// Median lateness.
    pub p50: Nanos,
    /// 99th percentile of lateness.
    pub p99: Nanos,
    /// Largest lateness.
    pub max: Nanos,
}

impl Lateness {
    pub(crate) fn of(times: &Histogram) -> Self {
        let share = |share: f64| times.percentile(Ratio::new(share)).unwrap_or_default();
        let max = times.max().unwrap_or_default();
        Self { answers: times.count(), p50: share(0.5), p99: share(0.99), max }
    }
}

/// Report of a lab.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Time since the mount.
    pub elapsed: Nanos,
    /// Lateness of the answers.
    pub lateness: Lateness,
    /// Counters of the model's parts.
    pub model: ModelFacts,
    /// Number of faults.
    pub faults: u64,
    /// Number of reads that were answered with wrong bytes.
    pub wrong_reads: u64,
}
