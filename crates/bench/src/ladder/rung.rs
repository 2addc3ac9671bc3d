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
    /// Work done, in tiles' worth; absent when the tile has no scored workload.
    pub throughput: Option<f64>,
    /// Upper end of its interval; absent when it is certain.
    pub throughput_high: Option<f64>,
    /// How long the step took, preparation included.
    pub took: Nanos,
}

/// All runs of one tile count.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rung {
    /// In the order they ran.
    pub runs: Vec<StepResult>,
}

impl Rung {
    /// Passed only if every run passed; one failed run fails it, whatever the others say.
    pub fn judgement(&self) -> Judgement {
        let any = |wanted| self.runs.iter().any(|run| run.judgement == wanted);
        if any(Judgement::Failed) {
            Judgement::Failed
        } else if any(Judgement::Inconclusive) || self.runs.is_empty() {
            Judgement::Inconclusive
        } else {
            Judgement::Passed
        }
    }

    /// Mean work done over the runs, in tiles' worth; absent if a run has none.
    pub fn throughput(&self) -> Option<f64> {
        self.mean(|run| run.throughput)
    }

    /// Mean of the upper ends of the runs' intervals; absent if a run did no work.
    pub fn throughput_high(&self) -> Option<f64> {
        self.mean(|run| run.throughput_high.or(run.throughput))
    }

    fn mean(&self, value: impl Fn(&StepResult) -> Option<f64>) -> Option<f64> {
        let sum: Option<f64> = self.runs.iter().map(value).sum();
        let count = u32::try_from(self.runs.len()).ok().filter(|count| *count > 0)?;
        Some(sum? / f64::from(count))
    }
}
