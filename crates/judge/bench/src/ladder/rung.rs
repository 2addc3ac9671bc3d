use run_store::run::{Cause, Step, Verdict};
use stats::REPEAT_CHANGE_MAX;
use units::Nanos;

/// Judgement of a step about the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// All limits were met.
    Passed,
    /// At least one limit was broken.
    Failed,
    /// No judgement: the generator was the bottleneck, or there were too few samples.
    Inconclusive,
}

/// Result of a completed step for the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    /// Judgement of the step.
    pub judgement: Judgement,
    /// Probability that a limit was broken, 0 to 1; `None` if the step measured nothing about the
    /// storage.
    pub failed: Option<f64>,
    /// True if the reason for an inconclusive step may be temporary, so that the step is repeated.
    pub try_again: bool,
    /// True if other programs' work disturbed the step. The work of the step may then be too low.
    pub disturbed: bool,
    /// Distance to the closest limit, as a share of the limit; `None` if nothing was measured.
    pub room: Option<f64>,
    /// Work done, in tiles' worth; `None` if the tile has no scored workload.
    pub throughput: Option<f64>,
    /// Standard deviation of the work of one repeat; `None` if the work is exact.
    pub throughput_error: Option<f64>,
    /// Duration of the step, including its preparation.
    pub took: Nanos,
}

impl StepResult {
    /// Creates the result of a judged step. `took` is its duration.
    pub fn of(step: &Step, took: Nanos) -> Self {
        let judgement = match step.verdict {
            Verdict::Passed => Judgement::Passed,
            Verdict::Failed => Judgement::Failed,
            Verdict::Inconclusive | Verdict::Interrupted => Judgement::Inconclusive,
        };
        let decide = || step.limits.iter().map(|limit| &limit.result).filter(|own| own.decides());
        let chances = decide().filter_map(|limit| limit.chance_of_break);
        let failed = match judgement {
            Judgement::Passed => Some(0.0),
            Judgement::Failed => Some(1.0),
            // Probability of the limit that most likely broke, as a lower bound for all limits.
            Judgement::Inconclusive if step.cause == Some(Cause::Undecided) => {
                Some(chances.reduce(f64::max).unwrap_or(0.5))
            }
            Judgement::Inconclusive => None,
        };
        let room = decide().filter_map(|limit| limit.margin.value).reduce(f64::min);
        let score = step.score.as_ref();
        let interval = score.and_then(|score| score.interval.as_ref());
        Self {
            judgement,
            failed,
            try_again: step.verdict == Verdict::Inconclusive
                && match step.cause {
                    Some(
                        Cause::Disturbed
                        | Cause::Inconsistent
                        | Cause::NotSteady
                        | Cause::Undecided,
                    ) => true,
                    Some(Cause::Generator) => !step.generator.saturated,
                    _ => false,
                },
            disturbed: !step.disturbances.is_empty(),
            room,
            throughput: score.and_then(|score| score.applications.value),
            // Half of a 95 % interval is 1.96 standard deviations of a normal mean.
            throughput_error: interval
                .map(|interval| (interval.high - interval.low) / (2.0 * 1.96)),
            took,
        }
    }

    /// Raises the error to the value for steps in real time, because repeats differ more than the
    /// slices of one step.
    #[must_use]
    pub(super) fn in_real_time(self) -> Self {
        let repeated = self.throughput.map(|work| work * REPEAT_CHANGE_MAX);
        let error = self.throughput_error.into_iter().chain(repeated).reduce(f64::max);
        Self { throughput_error: error, ..self }
    }

    /// Makes a step inconclusive that passed, but did too little work while it was disturbed.
    #[must_use]
    pub fn silenced(self) -> Self {
        Self { judgement: Judgement::Inconclusive, failed: None, try_again: true, ..self }
    }

    /// Creates a result without probabilities.
    pub fn plain(judgement: Judgement, throughput: Option<f64>, took: Nanos) -> Self {
        let failed = match judgement {
            Judgement::Passed => Some(0.0),
            Judgement::Failed => Some(1.0),
            Judgement::Inconclusive => None,
        };
        Self {
            judgement,
            failed,
            try_again: false,
            disturbed: false,
            room: None,
            throughput,
            throughput_error: None,
            took,
        }
    }
}

/// All runs of one number of tiles.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rung {
    /// Runs in the order of execution.
    pub runs: Vec<StepResult>,
}

impl Rung {
    /// Returns the majority of the runs with a judgement; inconclusive if there is none, or if
    /// there is a tie.
    pub fn judgement(&self) -> Judgement {
        let said = || self.runs.iter().filter_map(|run| run.failed);
        let (failed, count) = said().fold((0.0, 0.0), |sum, failed| (sum.0 + failed, sum.1 + 1.0));
        let more = failed * 2.0 - count;
        let any = |wanted| self.runs.iter().any(|run| run.judgement == wanted);
        // Undecided samples lean to one side, but decide nothing alone.
        if more < 0.0 && any(Judgement::Passed) {
            Judgement::Passed
        } else if more > 0.0 && any(Judgement::Failed) {
            Judgement::Failed
        } else {
            Judgement::Inconclusive
        }
    }

    /// Returns true if no run has a judgement about the storage.
    pub fn said_nothing(&self) -> bool {
        self.runs.iter().all(|run| run.failed.is_none())
    }

    /// Returns true if all runs were disturbed.
    pub fn is_disturbed(&self) -> bool {
        self.runs.iter().all(|run| run.disturbed)
    }

    /// Returns the mean work of the runs, in tiles' worth; `None` if a run has none. Disturbed runs
    /// only count if there are no others.
    pub fn throughput(&self) -> Option<f64> {
        let sum: Option<f64> = self.counted().map(|run| run.throughput).sum();
        let count = self.counted().count();
        (count > 0).then_some(sum? / count as f64)
    }

    /// Returns the standard error of the mean work if single runs scatter by the share `scatter` of
    /// their work; `None` without work.
    pub fn error(&self, scatter: f64) -> Option<f64> {
        Some(self.throughput()? * scatter / (self.counted().count() as f64).sqrt())
    }

    /// Returns the runs that count for the work.
    pub(super) fn counted(&self) -> impl Iterator<Item = &StepResult> {
        let all = self.is_disturbed();
        self.runs.iter().filter(move |run| all || !run.disturbed)
    }
}
