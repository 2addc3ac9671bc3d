//! Several runs side by side.

use std::path::Path;

use fixtures::{run, step};
use run_store::run::{Figure, Interval, PerKilowatt, PowerCategory, Run};
use run_store::rundir::{RunDir, RunId, StoredRun};
use view::trend;

/// Stores a run that began at this second.
fn stored(base: &Path, second: i64, mut run: Run) -> StoredRun {
    let began = jiff::Timestamp::from_second(second).expect("a time");
    let id = RunId::new("sample", began).expect("an id");
    let directory = RunDir::create(base, &id).expect("a run directory");
    directory.series().expect("a writer").finish().expect("no series");
    run.id = id.to_string();
    directory.write_run(&run).expect("run.json");
    StoredRun::at(&directory.finish().expect("complete")).expect("a run's name")
}

/// A run with 24 repeats at two tiles, so that repeats alone decide a comparison.
fn repeated(seed: u64, level: f64) -> Run {
    let scattered = |at: u32| step(2, level * (1.0 + 0.001 * f64::from(at % 3)));
    run(seed, (0..24).map(scattered).chain([step(4, level)]).collect())
}

#[test]
fn each_run_is_marked_against_the_first() {
    let base = tempfile::tempdir().expect("a directory");
    let mut slower = repeated(2, 0.5);
    slower.steps.push(step(8, 0.5));
    let runs = [
        stored(base.path(), 1, repeated(1, 1.0)),
        stored(base.path(), 2, slower),
        stored(base.path(), 3, repeated(3, 2.0)),
    ];
    let found = trend(&runs);
    assert_eq!(found.schema, "tilemark.runs-trend/1.1");
    let titles: Vec<&str> = found.figures.iter().map(|own| own.title.as_str()).collect();
    assert_eq!(titles, ["IOPS", "read p99", "shop order p95"]);
    let figure = |title| found.figures.iter().find(|own| own.title == title).expect("a figure");
    let tiles = |line: &[view::document::TrendPoint]| -> Vec<u32> {
        line.iter().map(|point| point.tiles).collect()
    };
    let iops = figure("IOPS");
    assert_eq!((tiles(&iops.lines[0]), tiles(&iops.lines[1])), (vec![2, 4], vec![2, 4, 8]));
    let verdicts = |line: usize| -> Vec<Option<&str>> {
        iops.lines[line].iter().map(|point| point.against_first.as_deref()).collect()
    };
    assert_eq!(verdicts(0), [None, None], "the first is not compared with itself");
    assert_eq!((verdicts(1)[0], verdicts(1)[2]), (Some("worse"), None), "the first has no 8 tiles");
    assert_eq!(verdicts(2)[0], Some("better"));
    let change = iops.lines[1][0].change.as_deref().expect("a change");
    assert!(change.starts_with("-50.0 % (") && change.contains(" to "), "{change}");
    assert_eq!(figure("shop order p95").limit_ns, Some(500_000_000));
    assert_eq!(figure("read p99").limit_ns, None, "nothing limits it");
}

#[test]
fn run_that_is_worse_in_one_figure_says_that_others_are_better() {
    let base = tempfile::tempdir().expect("a directory");
    let levels = |seed: u64, (two, four): (f64, f64)| {
        let scattered = |at: u32, level: f64| level * (1.0 + 0.001 * f64::from(at % 3));
        let steps =
            (0..24).flat_map(|at| [step(2, scattered(at, two)), step(4, scattered(at, four))]);
        run(seed, steps.collect())
    };
    let runs = [
        stored(base.path(), 1, levels(1, (1.0, 1.0))),
        stored(base.path(), 2, levels(2, (0.5, 2.0))),
    ];
    let found = trend(&runs);
    assert_eq!(found.runs[1].against_first.as_deref(), Some("worse"));
    let reason = found.runs[1].reason.as_deref().expect("a reason");
    let (decided, counts) = reason.split_once("; ").expect(reason);
    assert!(decided.contains(" at 2 tiles -50.0 % ("), "{reason}");
    assert!(counts.contains(" figures worse, ") && counts.ends_with(" better"), "{reason}");
}

#[test]
fn limit_that_differs_between_runs_is_no_line() {
    let base = tempfile::tempdir().expect("a directory");
    let mut other = repeated(2, 1.0);
    other.steps[0].limits[0].result.limit_ns = 1;
    let runs = [stored(base.path(), 1, repeated(1, 1.0)), stored(base.path(), 2, other)];
    let found = trend(&runs);
    let figure = found.figures.iter().find(|own| own.title == "shop order p95").expect("a figure");
    assert_eq!(figure.limit_ns, None);
}

#[test]
fn row_has_prices_power_and_intervals_if_known() {
    let base = tempfile::tempdir().expect("a directory");
    let mut priced = repeated(1, 1.0);
    priced.labels.name = Some("nightly".to_owned());
    priced.labels.tags.insert("price".to_owned(), "1200 EUR".to_owned());
    priced.answer.score = Figure::of(2.5);
    priced.answer.score_interval = Interval::new(2.4, 2.6, 0.95, "test");
    priced.answer.per_kilowatt = vec![PerKilowatt {
        category: PowerCategory::Server,
        mean_watts: Figure::of(250.0),
        score_per_kilowatt: Figure::of(10.0),
    }];
    let mut plain = repeated(2, 1.0);
    plain.labels.tags.insert("price".to_owned(), "1,200 EUR".to_owned());
    let runs = [stored(base.path(), 1, priced), stored(base.path(), 2, plain)];
    let found = trend(&runs);
    assert!(found.sentence.starts_with("1 run against the first, nightly: "), "{}", found.sentence);
    let [first, second] = &found.runs[..] else { panic!("{found:?}") };
    assert_eq!(first.score_text.as_deref(), Some("2.50 (2.40 to 2.60)"));
    assert_eq!(first.watts, Some(250.0));
    let text = first.power_text.as_deref().unwrap_or_default();
    assert!(text.starts_with("250.0 W, 10.00 ") && text.ends_with("(servers)"), "{text}");
    // Six tiles of two VMs were held.
    let price = |own: &Option<view::document::PricePer>| own.as_ref().map(|own| own.text.clone());
    assert_eq!(price(&first.price_per_tile).as_deref(), Some("200.00 EUR"));
    assert_eq!(price(&first.price_per_vm).as_deref(), Some("100.00 EUR"));
    assert_eq!((&second.watts, &second.price_per_tile), (&None, &None));
    assert_eq!(second.price_not_read.as_deref(), Some("1,200 EUR"));
    let (headings, rows) = found.table();
    assert!(headings.contains(&"watts") && headings.contains(&"price per tile"), "{headings:?}");
    let at = headings.iter().position(|own| *own == "price per tile").expect("a column");
    assert_eq!((&*rows[0][at], &*rows[1][at]), ("200.00 EUR", "\"1,200 EUR\" is not a price"));
}

#[test]
fn columns_without_any_value_are_left_out() {
    let base = tempfile::tempdir().expect("a directory");
    let found = trend(&[stored(base.path(), 1, repeated(1, 1.0))]);
    let (headings, rows) = found.table();
    let wanted = ["started (UTC)", "run", "tiles that held", "score", "against the first"];
    assert_eq!(headings, wanted);
    assert_eq!(rows[0][4], "-");
    assert!(found.sentence.starts_with("Only one run, "), "{}", found.sentence);
    assert!(trend(&[]).runs.is_empty());
}

#[test]
fn run_without_a_common_figure_has_a_reason() {
    let base = tempfile::tempdir().expect("a directory");
    let mut empty = run(2, Vec::new());
    empty.answer.tiles_held = None;
    empty.answer.score = Figure::absent("no step held");
    let runs = [stored(base.path(), 1, repeated(1, 1.0)), stored(base.path(), 2, empty)];
    let found = trend(&runs);
    let why = found.runs[1].not_compared.as_deref().unwrap_or_default();
    assert!(why.contains("no figure in common"), "{why}");
    assert!(found.sentence.ends_with(": 1 not compared."), "{}", found.sentence);
    assert!(found.table().1[1][4].starts_with("not compared: "));
}

#[test]
fn run_that_cannot_be_read_is_left_out_and_named() {
    let base = tempfile::tempdir().expect("a directory");
    let runs = [1, 2, 3].map(|second| stored(base.path(), second, repeated(1, 1.0)));
    std::fs::write(runs[1].path().join("run.json"), "{").expect("written");
    let runs = runs.map(|run| StoredRun::at(run.path()).expect("a run's name"));
    let found = trend(&runs);
    let ids: Vec<&str> = found.runs.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, [runs[0].id().as_str(), runs[2].id().as_str()]);
    let left_out = format!(" {} is left out: ", runs[1].id());
    assert!(found.sentence.contains(&left_out), "{}", found.sentence);
}
