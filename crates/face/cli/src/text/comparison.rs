//! Text of a comparison for a terminal: no colour, columns aligned.

use compare::{Bound, Change, Comparison, Difference, MetricComparison, Seeds, Unit, Verdict};
use units::print::change as changed;
use units::{Nanos, Table};

/// Formats the whole comparison, ending in a newline.
pub fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    let mut line = |content: &str| {
        text.push_str(content.trim_end());
        text.push('\n');
    };
    // The verdict comes first, because the table below is longer than a screen.
    line(&summary(comparison));
    line("");
    line(&format!("A: {}", runs(&comparison.a.runs)));
    line(&format!("B: {}", runs(&comparison.b.runs)));
    line("");
    differences("environment", &comparison.environment, &mut line);
    differences("plan", &comparison.plan, &mut line);
    line(&format!("seeds: {}", seeds(comparison)));
    comparison.notes.iter().for_each(|note| line(&format!("note: {note}")));
    line("");
    table(&comparison.metrics).lines().iter().for_each(|own| line(own));
    reasons(comparison, &mut line);
    line("");
    line(&format!(
        "change: B against A, {} interval of blocks, repeats and runs; p: Student's t",
        percent(comparison.confidence)
    ));
    line(&legend(comparison.min_effect));
    text
}

fn runs(ids: &[String]) -> String {
    match ids {
        [only] => format!("1 run: {only}"),
        many => format!("{} runs: {}", many.len(), many.join(", ")),
    }
}

fn seeds(comparison: &Comparison) -> String {
    let list = |seeds: &[u64]| seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let (a, b) = (list(&comparison.a.seeds), list(&comparison.b.seeds));
    match comparison.seeds {
        Seeds::Same => format!("the same in both ({a})"),
        Seeds::Overlapping => format!("partly the same: A {a}; B {b}"),
        Seeds::Different => {
            format!("different (A {a}; B {b}): changes include those of the random load")
        }
    }
}

fn differences(what: &str, differences: &[Difference], line: &mut impl FnMut(&str)) {
    match differences.len() {
        0 => line(&format!("{what}: no difference")),
        1 => line(&format!("{what}: 1 difference")),
        many => line(&format!("{what}: {many} differences")),
    }
    let mut table = Table::new(&[""; 3]);
    for difference in differences {
        let values = |side, values: &[String]| format!("{side} {}", values.join(" | "));
        table.row(vec![
            format!("  {}", difference.key),
            values('A', &difference.a),
            values('B', &difference.b),
        ]);
    }
    table.lines().iter().for_each(|own| line(own));
}

fn table(metrics: &[MetricComparison]) -> Table {
    let mut table =
        Table::new(&["figure", ">A", ">B", ">n", ">change", ">from", ">to", ">p", "verdict"]);
    let mut tiles = None;
    for metric in metrics {
        if metric.tiles != tiles {
            tiles = metric.tiles;
            table.heading(&match tiles {
                Some(1) => "at 1 tile".to_owned(),
                Some(count) => format!("at {count} tiles"),
                None => String::new(),
            });
        }
        table.row(cells(metric));
    }
    table
}

fn cells(metric: &MetricComparison) -> Vec<String> {
    let indent = if metric.tiles.is_some() { "  " } else { "" };
    let part = |pick: fn(&Change) -> Option<f64>| {
        metric.change.as_ref().and_then(pick).map_or_else(|| "-".to_owned(), changed)
    };
    let least = |at_least: bool, text: String| if at_least { format!(">={text}") } else { text };
    let bound = match metric.bound {
        Some(Bound::AtLeast) => "at least ",
        Some(Bound::AtMost) => "at most ",
        None => "",
    };
    vec![
        format!("{indent}{}", metric.title),
        least(metric.at_least_a, value(metric.median_a, metric.unit)),
        least(metric.at_least_b, value(metric.median_b, metric.unit)),
        format!("{}+{}", metric.repeats_a, metric.repeats_b),
        format!("{bound}{}", part(|change| Some(change.value))),
        part(|change| change.low),
        part(|change| change.high),
        probability(metric.p),
        metric.verdict.name().to_owned(),
    ]
}

/// Formats a figure in the unit that a person would choose.
fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Tiles => short(value),
        Unit::TilesWorth => format!("{value:.2}"),
        Unit::PerSecond => format!("{value:.0}/s"),
        Unit::BytesPerSecond => bytes_per_second(value),
        Unit::Nanoseconds => Nanos::from_secs_f64(value / 1e9).to_string(),
        Unit::Share => units::print::percent(value),
        Unit::Count => format!("{value:.1}"),
    }
}

/// Formats a number of tiles. Halves occur as the median of an even number of runs.
fn short(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Formats a rate in binary multiples, with one decimal.
fn bytes_per_second(value: f64) -> String {
    const UNITS: [(&str, f64); 3] =
        [("GiB/s", 1_073_741_824.0), ("MiB/s", 1_048_576.0), ("KiB/s", 1024.0)];
    match UNITS.iter().find(|(_, size)| value >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", value / size),
        None => format!("{value:.0} B/s"),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// Prints each reason once, with the number of figures that it applies to.
fn reasons(comparison: &Comparison, line: &mut impl FnMut(&str)) {
    let reasons = comparison.reasons();
    if !reasons.is_empty() {
        line("");
    }
    for (reason, count) in reasons {
        line(&format!("{}: {reason}", figures(count)));
    }
}

fn figures(count: usize) -> String {
    if count == 1 { "1 figure".to_owned() } else { format!("{count} figures") }
}

fn legend(min_effect: f64) -> String {
    let effect = percent(min_effect);
    format!(
        "worse, better: the whole interval lies beyond {effect}; same: it lies within; \
         inconclusive: neither"
    )
}

fn summary(comparison: &Comparison) -> String {
    let count = |verdict: Verdict| {
        let found = comparison.deciding().filter(|metric| metric.verdict == verdict);
        format!("{} {}", found.count(), verdict.name())
    };
    let parts = [Verdict::Worse, Verdict::Better, Verdict::Same, Verdict::Inconclusive].map(count);
    let deciding = comparison.deciding().count();
    let more = match comparison.metrics.len() - deciding {
        0 => String::new(),
        1 => "; 1 more explains and does not decide".to_owned(),
        many => format!("; {many} more explain and do not decide"),
    };
    format!(
        "verdict: {} ({} of {}{more})",
        comparison.verdict.name(),
        parts.join(", "),
        figures(deciding)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::{Options, Subject, compare};
    use fixtures::runs;
    use run_store::run::Run;
    use serde_json::{Value, json};

    /// Makes subjects of a comparison from runs, all with the same host environment if it is known.
    fn on<'a>(runs: &'a [Run], environment: Option<&'a Value>) -> Vec<Subject<'a>> {
        runs.iter().map(|run| Subject { run, environment, within: None }).collect()
    }

    #[test]
    fn a_regression_reads_as_one() {
        let (a, b) = (runs(0, 5, 1.0), runs(100, 5, 0.9));
        let old = json!({"kernel": {"release": "6.1.0"}, "cpu": {"model": "X"}});
        let new = json!({"kernel": {"release": "6.12.3"}, "cpu": {"model": "X"}});
        let (a, b) = (on(&a, Some(&old)), on(&b, Some(&new)));
        let found = compare(&a, &b, &Options::default()).expect("comparable");
        insta::assert_snapshot!(comparison(&found));
    }

    #[test]
    fn too_few_repeats_are_said_once() {
        let (a, b) = (runs(0, 1, 1.0), runs(0, 1, 1.2));
        let found = compare(&on(&a, None), &on(&b, None), &Options::default());
        insta::assert_snapshot!(comparison(&found.expect("comparable")));
    }

    /// A factor of 121 must not read as `+12000.0 %`.
    #[test]
    fn unlike_runs_are_told_apart_by_factors() {
        let (a, b) = (runs(0, 5, 1.0), runs(100, 5, 121.0));
        let found = compare(&on(&a, None), &on(&b, None), &Options::default());
        let text = comparison(&found.expect("comparable"));
        let line = |name: &str| text.lines().find(|line| line.contains(name)).expect("a line");
        assert!(line("  iops").contains("  121x  "), "{text}");
        assert!(line("  read p99").contains("  1/121  "), "{text}");
        assert!(!text.contains("00.0 %"), "{text}");
    }

    #[test]
    fn numbers_print_in_the_unit_a_person_would_choose() {
        assert_eq!(value(2.5, Unit::Tiles), "2.5");
        assert_eq!(value(6.0, Unit::Tiles), "6");
        assert_eq!(value(1_234_567.0, Unit::Nanoseconds), "1.23 ms");
        assert_eq!(value(1_610_612_736.0, Unit::BytesPerSecond), "1.5 GiB/s");
        assert_eq!(value(12_345.6, Unit::PerSecond), "12346/s");
        assert_eq!(probability(0.000_4), "<0.001");
    }
}
