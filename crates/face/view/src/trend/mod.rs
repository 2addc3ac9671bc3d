//! Several runs side by side, each compared with the first.

mod figures;
mod price;
mod table;

use compare::{CompareError, Comparison, MetricComparison, Options, Subject, Verdict, Within};
use run_store::run::{PerKilowatt, Run};
use run_store::rundir::{RunDirError, StoredRun};
use run_store::series::SeriesError;
use serde_json::Value;
use units::print::{change, count};

use crate::document::{RunsTrend, TrendRow};
use crate::views::break_sentence;
use crate::words;

/// Name and version of the document.
const SCHEMA: &str = "tilemark.runs-trend/1.1";

/// A run with everything that a comparison reads.
struct Opened<'a> {
    stored: &'a StoredRun,
    run: &'a Run,
    environment: Option<Value>,
    /// Precision of its figures, if the series can be read.
    within: Result<Within, SeriesError>,
}

/// Reason why a run is not compared with the first.
#[derive(Debug, thiserror::Error)]
enum NotCompared {
    /// The series of a run cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Runs of another major version, or without a figure in common.
    #[error(transparent)]
    Refused(#[from] CompareError),
}

/// Puts runs side by side, in the given order. Each is compared with the first by the rule of
/// [`compare::compare`], with its default options. A run whose document cannot be read is left out
/// and named in the sentence.
pub fn trend(runs: &[StoredRun]) -> RunsTrend {
    let (mut opened, mut left_out) = (Vec::new(), Vec::new());
    for run in runs {
        match open(run) {
            Ok(own) => opened.push(own),
            Err(error) => left_out.push(format!(" {} is left out: {error}.", run.id())),
        }
    }
    let comparisons: Vec<Option<Result<Comparison, NotCompared>>> =
        (0..opened.len()).map(|at| (at > 0).then(|| compared(&opened[0], &opened[at]))).collect();
    let rows: Vec<TrendRow> =
        opened.iter().zip(&comparisons).map(|(own, found)| row(own, found.as_ref())).collect();
    let documents: Vec<&Run> = opened.iter().map(|own| own.run).collect();
    let found: Vec<Option<&Comparison>> =
        comparisons.iter().map(|own| own.as_ref()?.as_ref().ok()).collect();
    RunsTrend {
        schema: SCHEMA.to_owned(),
        sentence: sentence(&rows) + &left_out.concat(),
        figures: figures::figures(&documents, &found),
        runs: rows,
    }
}

fn open(stored: &StoredRun) -> Result<Opened<'_>, RunDirError> {
    let run = stored.run()?;
    let environment = stored.environment().ok().and_then(|own| serde_json::to_value(own).ok());
    Ok(Opened { stored, run, environment, within: Within::of(run, stored.path()) })
}

/// Compares a run with the first.
fn compared(first: &Opened<'_>, own: &Opened<'_>) -> Result<Comparison, NotCompared> {
    let (a, b) = (subject(first)?, subject(own)?);
    Ok(compare::compare(&[a], &[b], &Options::default())?)
}

fn subject<'a>(own: &'a Opened<'a>) -> Result<Subject<'a>, NotCompared> {
    let unreadable = |error: &SeriesError| NotCompared::Unreadable(error.to_string());
    let within = own.within.as_ref().map_err(unreadable)?;
    Ok(Subject { run: own.run, environment: own.environment.as_ref(), within: Some(within) })
}

fn row(own: &Opened<'_>, found: Option<&Result<Comparison, NotCompared>>) -> TrendRow {
    let (run, answer) = (own.run, &own.run.answer);
    let power = PerKilowatt::best(&answer.per_kilowatt);
    let comparison = found.and_then(|found| found.as_ref().ok());
    TrendRow {
        id: own.stored.id().to_string(),
        started: own.stored.id().started().to_string(),
        name: run.labels.name.clone(),
        datastore: run.target.datastore.clone(),
        profile: run.profile.clone(),
        sentence: words::answer_of(run),
        tiles: answer.tiles_text(),
        tiles_held: answer.tiles_held,
        score: answer.score.value,
        score_text: score_text(run),
        breaks: break_sentence(run),
        watts: power.and_then(|own| own.mean_watts.value),
        power_text: power.map(|own| format!("{} ({})", own.text(), own.category.words())),
        price_per_tile: price::per_tile(run),
        price_per_vm: price::per_vm(run),
        price_not_read: price::not_read(run),
        against_first: comparison.map(|own| own.verdict.name().to_owned()),
        reason: comparison.and_then(reason),
        plan_differs: comparison
            .map(|own| own.plan.iter().map(|fact| fact.key.clone()).collect())
            .unwrap_or_default(),
        not_compared: found.and_then(|found| Some(found.as_ref().err()?.to_string())),
    }
}

fn score_text(run: &Run) -> Option<String> {
    let score = run.answer.score.value?;
    let interval = run.answer.score_interval.as_ref();
    let interval = interval.map(|own| format!(" ({:.2} to {:.2})", own.low, own.high));
    Some(format!("{score:.2}{}", interval.unwrap_or_default()))
}

/// Describes the figure that decided the verdict; `None` if the runs are the same.
fn reason(comparison: &Comparison) -> Option<String> {
    let is_reason = |own: &&MetricComparison| own.verdict == comparison.verdict;
    let decided = comparison.verdict != Verdict::Same;
    let metric = comparison.deciding().filter(|_| decided).find(is_reason)?;
    let tiles = metric.tiles.map(|own| format!(" at {}", count(own.into(), "tile")));
    let by = change_text(metric).map(|text| format!(" {text}"));
    let number = |is| comparison.deciding().filter(|own| own.verdict == is).count();
    let (worse, better) = (number(Verdict::Worse), number(Verdict::Better));
    // One figure decides. A run that holds three times the tiles must not look worse in all.
    let others = (worse > 0 && better > 0)
        .then(|| format!("; {} worse, {better} better", count(worse as u64, "figure")));
    Some(metric.title.clone() + &[tiles, by, others].map(Option::unwrap_or_default).concat())
}

/// Formats a change with its interval: `+18.0 % (+11.0 % to +26.0 %)`.
fn change_text(metric: &MetricComparison) -> Option<String> {
    let own = metric.change.as_ref()?;
    let ends = own.low.zip(own.high);
    let ends = ends.map(|(low, high)| format!(" ({} to {})", change(low), change(high)));
    Some(change(own.value) + &ends.unwrap_or_default())
}

fn sentence(rows: &[TrendRow]) -> String {
    let Some((first, others)) = rows.split_first() else {
        return "No complete run is among them.".to_owned();
    };
    let name = first.name.as_ref().unwrap_or(&first.id);
    if others.is_empty() {
        return format!("Only one run, {name}: there is nothing to compare it with.");
    }
    let verdicts = [Verdict::Worse, Verdict::Better, Verdict::Same, Verdict::Inconclusive];
    let number = |is: &dyn Fn(&TrendRow) -> bool| others.iter().filter(|row| is(row)).count();
    let mut parts: Vec<String> = verdicts
        .iter()
        .map(|own| (number(&|row| row.against_first.as_deref() == Some(own.name())), own.name()))
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| format!("{number} {name}"))
        .collect();
    let left_out = number(&|row| row.not_compared.is_some());
    parts.extend((left_out > 0).then(|| format!("{left_out} not compared")));
    let runs = count(others.len() as u64, "run");
    format!("{runs} against the first, {name}: {}.", parts.join(", "))
}
