use run_store::run::ModelFacts;
use stats::Histogram;
use units::{Nanos, Ratio};

/// How late answers were sent: later than the model and the faults say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Answers.
    pub answers: u64,
    /// Half of them were at most so late.
    pub p50: Nanos,
    /// 99 of 100 were.
    pub p99: Nanos,
    /// The latest.
    pub max: Nanos,
}

impl Lateness {
    pub(crate) fn of(times: &Histogram) -> Self {
        let share = |share: f64| times.percentile(Ratio::new(share)).unwrap_or_default();
        let max = times.max().unwrap_or_default();
        Self { answers: times.count(), p50: share(0.5), p99: share(0.99), max }
    }
}

/// What a lab did.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Since the mount.
    pub elapsed: Nanos,
    /// How punctual it was.
    pub lateness: Lateness,
    /// What each part of the model did.
    pub model: ModelFacts,
    /// Faults that were done.
    pub faults: u64,
    /// Reads that were answered with wrong bytes.
    pub wrong_reads: u64,
}
