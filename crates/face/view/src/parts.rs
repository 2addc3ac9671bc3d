//! Builds the answer of a run as sentences with roles. Terminal, report, Markdown and JUnit print
//! the same sentences, each with its own layout.

use run_store::run::{Expected, LimitResult, Run, Score, Verdict};
use units::Nanos;
use units::print::count;

/// Role of a sentence in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The score, and its components.
    Score,
    /// Cost of infrastructure operations.
    Operations,
    /// Measured time, and progress of the run.
    Measured,
    /// The limit that ended the search.
    Broken,
    /// An expectation and its outcome.
    Expected,
    /// Number of VMs to plan with.
    Plan,
    /// The answer of the run.
    Answer,
    /// The answer in the VMs of an estate.
    Estate,
}

impl Role {
    /// Returns the role's name, which is also used in documents for pipelines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Operations => "operations",
            Self::Measured => "measured",
            Self::Broken => "broken",
            Self::Expected => "expected",
            Self::Plan => "plan",
            Self::Answer => "answer",
            Self::Estate => "estate",
        }
    }

    /// Returns the label of the sentence in labelled lists; empty for sentences without a label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Plan | Self::Answer | Self::Estate => "",
            own => own.name(),
        }
    }

    /// Returns true if the sentence explains how the answer was found.
    pub const fn is_detail(self) -> bool {
        matches!(self, Self::Score | Self::Operations | Self::Measured)
    }
}

/// Returns the sentences of an answer, details first and the answer last.
pub fn parts(run: &Run) -> Vec<(Role, String)> {
    let expected = |own: &Expected| {
        (Role::Expected, format!("{}: {}: {}", own.text, own.outcome(), own.reason))
    };
    let details = [
        (Role::Score, score(run)),
        (Role::Operations, run.operations_text()),
        (Role::Measured, Some(measured(run))),
        (Role::Broken, broken(run)),
    ];
    let answers = [
        (Role::Plan, run.plan_text()),
        (Role::Answer, Some(run.sentence())),
        (Role::Estate, run.estate_text()),
    ];
    let present = |(role, text): (Role, Option<String>)| Some((role, text?));
    let expectations = run.expectations.iter().map(expected);
    details
        .into_iter()
        .filter_map(present)
        .chain(expectations)
        .chain(answers.into_iter().filter_map(present))
        .collect()
}

fn score(run: &Run) -> Option<String> {
    let score = run.answer.score.value?;
    let interval = run.answer.score_interval.as_ref().map_or_else(String::new, |interval| {
        let (low, high, sure) = (interval.low, interval.high, interval.confidence * 100.0);
        format!(" ({low:.2} to {high:.2} at {sure:.0} %)")
    });
    Some(format!("{score:.2}{interval} tiles' worth of work; {}", parts_of_score(run)))
}

/// Describes the partial scores that form the total score of the step behind the answer.
fn parts_of_score(run: &Run) -> String {
    let held = run.steps.iter().filter(|step| Some(step.tiles) == run.answer.tiles_held);
    let scores = held.filter(|step| step.verdict == Verdict::Passed);
    let scores: Vec<&Score> = scores.filter_map(|step| step.score.as_ref()).collect();
    let mean = |of: fn(&Score) -> Option<f64>| {
        let all: Option<Vec<f64>> = scores.iter().map(|score| of(score)).collect();
        stats::mean(&all?)
    };
    let parts = mean(|score| score.applications.value).zip(mean(|own| own.infrastructure.value));
    let why = scores.iter().find_map(|score| score.infrastructure.reason.as_deref());
    match parts {
        Some((applications, infrastructure)) => format!(
            "0.8 x {applications:.2} of applications + 0.2 x {infrastructure:.2} of \
             infrastructure operations"
        ),
        None => {
            format!("applications only: {}", why.unwrap_or("no infrastructure operations were run"))
        }
    }
}

fn measured(run: &Run) -> String {
    let time: u64 = run.steps.iter().map(|step| step.measured_ns).sum();
    format!("{} in {}", Nanos(time), run.progress())
}

/// Describes the limit that ended the search, with the interval.
fn broken(run: &Run) -> Option<String> {
    let broken = run.answer.first_broken.as_ref()?;
    let limit = &broken.limit;
    let measured = limit.measured_ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string());
    let interval = interval(limit).map_or_else(String::new, |interval| format!(" ({interval})"));
    Some(format!(
        "{} with {}: {measured}{interval}, allowed {}, {}",
        broken.name(),
        count(broken.tiles.into(), "tile"),
        Nanos(limit.limit_ns),
        count(limit.samples, "sample")
    ))
}

/// Formats an interval, such as `4.1 ms to 5.2 ms`.
pub fn interval(limit: &LimitResult) -> Option<String> {
    Some(format!("{} to {}", Nanos(limit.interval_low_ns?), Nanos(limit.interval_high_ns?)))
}
