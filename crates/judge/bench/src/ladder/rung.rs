use run_store::run::{Cause, Step, Verdict};
use stats::REPEAT_CHANGE_MAX;
use units::Nanos;

/// What one step said about the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Every limit was kept.
    Passed,
    /// At least one limit was broken.
    Failed,
    /// The step says nothing about the storage: the generator was the limit, or there were
    /// too few samples.
    Inconclusive,
}

/// What the ladder needs to know of one finished step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    /// What it said.
    pub judgement: Judgement,
    /// How probable it is that a limit was broken, 0 to 1; absent where the step says nothing
    /// about the storage.
    pub failed: Option<f64>,
    /// Whether the step decides nothing for a reason that may pass: it is tried again.
    pub try_again: bool,
    /// Whether somebody else's work was in the way: what was done may be less than it could be.
    pub disturbed: bool,
    /// Room left under the closest limit, as a share of it; absent if nothing was measured.
    pub room: Option<f64>,
    /// Work done, in tiles' worth; absent when the tile has no scored workload.
    pub throughput: Option<f64>,
    /// Standard deviation of what a repeat would have done; absent when it is certain.
    pub throughput_error: Option<f64>,
    /// How long the step took, preparation included.
    pub took: Nanos,
}

impl StepResult {
    /// What a judged step tells the ladder.
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
            // At least as likely as the likeliest of its limits.
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
            // Its half is 1.96 deviations of a normal mean.
            throughput_error: interval
                .map(|interval| (interval.high - interval.low) / (2.0 * 1.96)),
            took,
        }
    }

    /// The same of a step in real time, whose repeats differ by more than its own slices do.
    #[must_use]
    pub(super) fn in_real_time(self) -> Self {
        let repeated = self.throughput.map(|work| work * REPEAT_CHANGE_MAX);
        let error = self.throughput_error.into_iter().chain(repeated).reduce(f64::max);
        Self { throughput_error: error, ..self }
    }

    /// The same of a step that kept its limits, but did so little work beside somebody else's that
    /// it says nothing.
    #[must_use]
    pub fn silenced(self) -> Self {
        Self { judgement: Judgement::Inconclusive, failed: None, try_again: true, ..self }
    }

    /// A step that only passed or failed, or says nothing.
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

/// All runs of one tile count.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rung {
    /// In the order they ran.
    pub runs: Vec<StepResult>,
}

impl Rung {
    /// What most of its runs say that say anything; inconclusive if none does, or as many
    /// speak for one as for the other.
    pub fn judgement(&self) -> Judgement {
        let said = || self.runs.iter().filter_map(|run| run.failed);
        let (failed, count) = said().fold((0.0, 0.0), |sum, failed| (sum.0 + failed, sum.1 + 1.0));
        let more = failed * 2.0 - count;
        let any = |wanted| self.runs.iter().any(|run| run.judgement == wanted);
        // Samples that do not decide lean to one side, but decide nothing alone.
        if more < 0.0 && any(Judgement::Passed) {
            Judgement::Passed
        } else if more > 0.0 && any(Judgement::Failed) {
            Judgement::Failed
        } else {
            Judgement::Inconclusive
        }
    }

    /// Whether none of its runs says anything about the storage.
    pub fn said_nothing(&self) -> bool {
        self.runs.iter().all(|run| run.failed.is_none())
    }

    /// Whether all of its runs were disturbed.
    pub fn is_disturbed(&self) -> bool {
        self.runs.iter().all(|run| run.disturbed)
    }

    /// Mean work done over the runs, in tiles' worth; absent if a run has none. Runs that were
    /// disturbed count where there are no others.
    pub fn throughput(&self) -> Option<f64> {
        let sum: Option<f64> = self.counted().map(|run| run.throughput).sum();
        let count = self.counted().count();
        (count > 0).then_some(sum? / count as f64)
    }

    /// Standard error of that mean if single runs scatter by this share of their work; absent if
    /// there is none.
    pub fn error(&self, scatter: f64) -> Option<f64> {
        Some(self.throughput()? * scatter / (self.counted().count() as f64).sqrt())
    }

    /// The runs that count in the work done.
    pub(super) fn counted(&self) -> impl Iterator<Item = &StepResult> {
        let all = self.is_disturbed();
        self.runs.iter().filter(move |run| all || !run.disturbed)
    }
}
