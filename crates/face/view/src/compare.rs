//! Compares two runs side by side: the comparison by the crate `compare`, and their distributions.

use compare::{
    self as judge, Comparison, Difference, MetricComparison, Options, Seeds, Subject, Unit,
    Verdict, Within,
};
use run_store::run::Run;
use units::Nanos;
use units::print::{bytes_per_second, change, count, number, percent};

use crate::document::{
    CompareMetric, ComparePage, CompareReason, CompareSide, CurveOfSide, DifferenceRow,
};
use crate::request::Lens;
use crate::scope::{Detail, ENOUGH, Phases, Scope, Sum, ratio};
use crate::source::Source;
use crate::views;
use crate::words;

/// Number of rows in the difference of distributions.
const ROWS: usize = 48;

/// Compares B with A: differences of environment and plan, the comparison of their figures, and the
/// distributions of the step with the most tiles that both have.
pub fn compare(a: &Source, b: &Source) -> ComparePage {
    let tiles = most_tiles(a, b);
    let sides = [a, b].map(|source| sums(source, tiles));
    let edges = edges(&sides);
    let page = ComparePage {
        sentence: String::new(),
        verdict: Verdict::Inconclusive.name().to_owned(),
        a: side(a, tiles),
        b: side(b, tiles),
        environment: Vec::new(),
        plan: Vec::new(),
        seeds: String::new(),
        notes: Vec::new(),
        metrics: Vec::new(),
        reasons: Vec::new(),
        curves: curves(&sides),
        difference: difference(&sides, &edges),
        edges_ns: edges,
    };
    judged(page, a, b)
}

fn judged(page: ComparePage, a: &Source, b: &Source) -> ComparePage {
    let (Some(run_a), Some(run_b)) = (a.run(), b.run()) else {
        let sentence = "Only distributions are compared: a watched host has no figures of a run.";
        return ComparePage { sentence: sentence.to_owned(), ..page };
    };
    let (within_a, within_b) = (within(a), within(b));
    let subject_a = subject(run_a, a, within_a.as_ref());
    let subject_b = subject(run_b, b, within_b.as_ref());
    match judge::compare(&[subject_a], &[subject_b], &Options::default()) {
        Err(error) => {
            ComparePage { sentence: format!("Nothing can be compared: {error}."), ..page }
        }
        Ok(found) => ComparePage {
            sentence: sentence(&found),
            verdict: found.verdict.name().to_owned(),
            environment: found.environment.iter().map(row).collect(),
            plan: found.plan.iter().map(row).collect(),
            seeds: seeds(found.seeds).to_owned(),
            metrics: found.metrics.iter().map(metric).collect(),
            reasons: found.reasons().into_iter().map(reason).collect(),
            notes: found.notes,
            ..page
        },
    }
}

/// Returns the scatter within a run, for intervals; `None` if the run has no series.
fn within(source: &Source) -> Option<Within> {
    Within::of(source.run()?, source.directory()?).ok()
}

fn subject<'a>(run: &'a Run, source: &'a Source, within: Option<&'a Within>) -> Subject<'a> {
    Subject { run, environment: source.files().environment.as_ref(), within }
}

fn row(difference: &Difference) -> DifferenceRow {
    DifferenceRow {
        key: difference.key.clone(),
        a: difference.a.join(", "),
        b: difference.b.join(", "),
    }
}

const fn seeds(seeds: Seeds) -> &'static str {
    match seeds {
        Seeds::Same => "same",
        Seeds::Overlapping => "overlapping",
        Seeds::Different => "different",
    }
}

fn reason((text, figures): (&str, usize)) -> CompareReason {
    CompareReason { text: text.to_owned(), figures: figures as u64 }
}

/// Formats a figure's name, such as `4 tiles: read p99`.
fn name(metric: &MetricComparison) -> String {
    match metric.tiles {
        Some(tiles) => format!("{}: {}", count(tiles.into(), "tile"), metric.title),
        None => metric.title.clone(),
    }
}

fn metric(metric: &MetricComparison) -> CompareMetric {
    let unit = match metric.unit {
        Unit::Tiles => "tiles",
        Unit::TilesWorth => "tiles' worth",
        Unit::PerSecond => "io_per_s",
        Unit::BytesPerSecond => "bytes_per_s",
        Unit::Nanoseconds => "ns",
        Unit::Share => "share",
        Unit::Count => "number",
    };
    let better = match metric.better {
        judge::Better::Higher => "higher",
        judge::Better::Lower => "lower",
    };
    CompareMetric {
        name: name(metric),
        unit: unit.to_owned(),
        better: better.to_owned(),
        a: Some(metric.median_a),
        b: Some(metric.median_b),
        change: metric.change.map(|change| change.value),
        low: metric.change.and_then(|change| change.low),
        high: metric.change.and_then(|change| change.high),
        samples: [metric.repeats_a, metric.repeats_b].map(|repeats| repeats as u64),
        verdict: metric.verdict.name().to_owned(),
        reason: metric.reason.clone().or_else(|| bounded(metric)),
    }
}

/// Returns a sentence that names the side with only a lower bound; `None` if both sides or neither
/// have one.
fn bounded(metric: &MetricComparison) -> Option<String> {
    let side = match (metric.at_least_a, metric.at_least_b) {
        (true, false) => "A",
        (false, true) => "B",
        _ => return None,
    };
    Some(format!("{side} is a lower bound, so the change is also a lower bound"))
}

fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Tiles => format!("{} tiles", number(value)),
        Unit::TilesWorth => format!("{value:.2} tiles' worth"),
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::BytesPerSecond => bytes_per_second(value),
        Unit::Nanoseconds => Nanos::from_secs_f64(value / 1e9).to_string(),
        Unit::Share => percent(value),
        Unit::Count => number(value),
    }
}

/// Formats a change, such as `4 tiles: read p99 from 1.1 ms to 38 ms (35x)`.
fn changed(metric: &MetricComparison) -> String {
    let bound = match metric.bound {
        Some(judge::Bound::AtLeast) => "at least ",
        Some(judge::Bound::AtMost) => "at most ",
        None => "",
    };
    let by = metric.change.map(|by| format!(" ({bound}{})", change(by.value)));
    let least = |at_least: bool| if at_least { "at least " } else { "" };
    format!(
        "{} from {}{} to {}{}{}",
        name(metric),
        least(metric.at_least_a),
        value(metric.median_a, metric.unit),
        least(metric.at_least_b),
        value(metric.median_b, metric.unit),
        by.unwrap_or_default()
    )
}

fn sentence(found: &Comparison) -> String {
    let of = |verdict: Verdict| found.deciding().filter(move |m| m.verdict == verdict);
    // A twelfth is as large a change as twelvefold; a change to zero is larger than any factor.
    let factor = |change: judge::Change| (1.0 + change.value).max(0.0).ln().abs();
    let size = |metric: &&MetricComparison| metric.change.map_or(0.0, factor);
    let most = of(found.verdict).max_by(|a, b| size(a).total_cmp(&size(b)));
    let (all, effect) = (found.deciding().count() as u64, units::Ratio::new(found.min_effect));
    let these = of(found.verdict).count() as u64;
    let Some(most) = most else { return "The two sides have no figure in common.".to_owned() };
    let most = changed(most);
    match found.verdict {
        Verdict::Worse => {
            let better = of(Verdict::Better).count();
            format!(
                "B is worse: {these} of {} are, {better} better; most: {most}.",
                count(all, "figure")
            )
        }
        Verdict::Better => {
            format!("B is better in {these} of {}; most: {most}.", count(all, "figure"))
        }
        Verdict::Same => format!("The same: none of {} changed by {effect}.", count(all, "figure")),
        Verdict::Inconclusive => format!(
            "Inconclusive: {these} of {} {} not decided{}. The largest change is {most}.",
            count(all, "figure"),
            if these == 1 { "is" } else { "are" },
            commonest(found).map_or_else(String::new, |why| format!(" ({why})")),
        ),
    }
}

/// Returns the most frequent reason of the undecided figures; `None` if no figure has a reason.
fn commonest(found: &Comparison) -> Option<String> {
    let open = || found.deciding().filter(|own| own.verdict == Verdict::Inconclusive);
    let reasons = found.reasons();
    let count = |reason: &str| open().filter(|own| own.reason.as_deref() == Some(reason)).count();
    let most = reasons.iter().map(|(reason, _)| *reason).rev().max_by_key(|own| count(own))?;
    // The sentence already begins with that word.
    let text = most.trim_start_matches("inconclusive ");
    match count(most) {
        0 => None,
        all if all == open().count() => Some(text.to_owned()),
        _ => Some(format!("mostly: {text}")),
    }
}

fn side(source: &Source, tiles: Option<u32>) -> CompareSide {
    CompareSide {
        id: source.id().to_owned(),
        sentence: words::answer(source),
        tiles: tiles.unwrap_or(0),
    }
}

/// Returns the largest number of tiles for which both runs have a step.
fn most_tiles(a: &Source, b: &Source) -> Option<u32> {
    let of_b: Vec<u32> = b.rollup().spans().iter().map(|span| span.tiles).collect();
    let of_a = a.rollup().spans().iter().map(|span| span.tiles);
    of_a.filter(|tiles| of_b.contains(tiles)).max()
}

/// Sums reads and writes by size class in the steps with these tiles; in the whole run if `tiles`
/// is `None`.
fn sums(source: &Source, tiles: Option<u32>) -> Vec<Sum> {
    let spans = source.rollup().spans().iter();
    let steps: Option<Vec<(u32, u32)>> = tiles.map(|tiles| {
        spans.filter(|span| span.tiles == tiles).map(|span| (span.step, span.repeat)).collect()
    });
    let lens = Lens::default();
    let scope = Scope::new(source, &lens, Detail::Usual, Phases::Summary, steps.as_deref());
    scope.by_size()
}

fn merged(sums: &[Sum]) -> Sum {
    let mut all = Sum::default();
    sums.iter().for_each(|sum| all.merge(sum));
    all
}

fn curves(sides: &[Vec<Sum>; 2]) -> Vec<CurveOfSide> {
    let mut curves = Vec::new();
    for (side, sums) in ["a", "b"].into_iter().zip(sides) {
        for (direction, classes) in [("read", 0..8), ("write", 8..16)] {
            let sum = merged(&sums[classes]);
            if sum.count() >= ENOUGH {
                curves.push(CurveOfSide {
                    side: side.to_owned(),
                    direction: direction.to_owned(),
                    count: sum.count(),
                    points: views::points_of(&sum.histogram),
                });
            }
        }
    }
    curves
}

fn edges(sides: &[Vec<Sum>; 2]) -> Vec<u64> {
    let all = merged(&sides.concat());
    let least = all.histogram.min().map_or(10_000, |value| value.0);
    views::edges::around(least, all.max().unwrap_or(1_000_000_000), ROWS)
}

/// Calculates the difference of the shares of I/Os, B minus A, by class and row.
fn difference(sides: &[Vec<Sum>; 2], edges: &[u64]) -> Vec<Vec<f64>> {
    let shares = |sums: &Vec<Sum>| -> Vec<Vec<f64>> {
        let total: u64 = sums[..16].iter().map(Sum::count).sum();
        let of_class = |class: usize| {
            let mut rows = vec![0_u64; edges.len() - 1];
            for sum in [&sums[class], &sums[class + 8]] {
                for (value, count) in sum.histogram.compact().buckets() {
                    rows[views::edges::row_of(edges, value.0)] += u64::from(count);
                }
            }
            rows.into_iter().map(|count| ratio(count, total)).collect()
        };
        (0..8).map(of_class).collect()
    };
    // Shares of too few I/Os are no distribution that could be compared.
    if sides.iter().any(|sums| merged(&sums[..16]).count() < ENOUGH) {
        return vec![vec![0.0; edges.len() - 1]; 8];
    }
    let (a, b) = (shares(&sides[0]), shares(&sides[1]));
    let rows = |(a, b): (&Vec<f64>, &Vec<f64>)| b.iter().zip(a).map(|(b, a)| b - a).collect();
    a.iter().zip(&b).map(rows).collect()
}
