//! Windows of time: buckets that touch the window, and the series where buckets are too long.

use std::sync::Arc;

use run_store::run::Phase;
use run_store::rundir::{RunDir, RunId, StoredRun};
use run_store::slice::Direction;
use units::Nanos;
use view::sample::Sample;
use view::{Breakdown, Lens, Measure, Source};

use crate::model::{self, Plain, Row, SLICE};

fn seconds(from: u64, to: u64) -> Lens {
    Lens { time: Some((Nanos::from_secs(from), Some(Nanos::from_secs(to)))), ..Lens::default() }
}

#[test]
fn a_window_counts_the_buckets_that_touch_it_in_all_phases() {
    let sample = Sample { steps: 2, slices: 12, slice: Nanos::SECOND, ..Sample::LADDER };
    let source = Source::in_memory(sample.run(), Arc::new(sample.rollup()));
    let all = Lens { breakdown: Breakdown::None, ..Lens::default() };
    let whole = model::series(&source, &all);
    let window = Lens { breakdown: Breakdown::None, ..seconds(1, 4) };
    let part = model::series(&source, &window);
    assert_eq!(part.at_ns, [1, 2, 3].map(|second| second * 1_000_000_000));
    assert_eq!(part.groups[0].count, whole.groups[0].count[1..4]);
    let sizes = model::overview(&source, &window).sizes;
    let counted: u64 = sizes.iter().map(|row| row.count).sum();
    let flushes = model::overview(&source, &window).flushes.map_or(0, |row| row.count);
    assert_eq!(counted + flushes, part.groups[0].count.iter().sum::<u64>());
}

/// A stored run that is too long for its rollup to have every slice: a read each second, of which
/// every hundredth is slow.
fn long_run(base: &std::path::Path) -> StoredRun {
    let mut plain = Plain { rows: Vec::new(), slices: Vec::new() };
    for second in 0..2_100 {
        let at = second * SLICE;
        let time = if second % 100 == 51 { 90_000_000 } else { 1_000_000 };
        plain.slices.push((1, Phase::Measured, at));
        plain.rows.push(Row {
            step: 1,
            phase: Phase::Measured,
            at,
            tile: 1,
            workload: "shop",
            direction: Direction::Read,
            class: 2,
            bytes: 8192,
            latencies: vec![time; 40],
        });
    }
    let id = RunId::new("sample", jiff::Timestamp::UNIX_EPOCH).expect("an id");
    let directory = RunDir::create(base, &id).expect("creates");
    let mut series = directory.series().expect("opens");
    plain.each_slice(|key, topology, slice| {
        series.append(key, topology, slice).expect("appends");
    });
    series.finish().expect("finishes");
    let run = Sample { steps: 1, ..Sample::LADDER }.run();
    directory.write_run(&run).expect("writes");
    let path = directory.finish().expect("finishes");
    StoredRun::at(&path).expect("a run's name")
}

#[test]
fn short_window_of_a_long_run_has_every_slice_and_all_ios() {
    let base = tempfile::tempdir().expect("a directory");
    let source = Source::open(long_run(base.path())).expect("opens");
    let by = |lens: Lens| Lens { breakdown: Breakdown::None, measure: Measure::Latency, ..lens };
    let whole = model::series(&source, &Lens { points: 4000, ..by(Lens::default()) });
    assert!(whole.width_ns[0] > 1_000_000_000, "the rollup merges slices");
    let window = model::series(&source, &by(seconds(1040, 1060)));
    assert_eq!(window.width_ns, vec![1_000_000_000; 20]);
    let same_time = |at: &u64| (1_040_000_000_000..1_060_000_000_000).contains(at);
    let coarse = whole.at_ns.iter().zip(&whole.groups[0].count).filter(|(at, _)| same_time(at));
    let fine: u64 = window.groups[0].count.iter().sum();
    assert_eq!(fine, coarse.map(|(_, count)| count).sum::<u64>());

    let moment =
        model::moment(&source, &Lens { at: Some(Nanos::from_secs(1051)), ..Lens::default() });
    assert_eq!((moment.at_ns, moment.width_ns), (1_051_000_000_000, 1_000_000_000));
    let second = window.at_ns.iter().position(|at| *at == moment.at_ns).expect("the second");
    assert_eq!(moment.counts.iter().sum::<u64>(), window.groups[0].count[second]);
    assert_eq!(moment.next_spike_ns.map(|at| at / 100_000_000_000), Some(11));
    let all: u64 = whole.groups[0].count.iter().sum();
    assert_eq!(moment.counts_of_all.iter().sum::<u64>(), all);
}

/// A run with a read each 100 ms for ten seconds, and a rest of 62 ms with as many as a second has.
fn with_rest(pause: std::ops::Range<u64>) -> Source {
    let mut rollup = run_store::rollup::Rollup::new();
    let mut times = stats::Histogram::new();
    (0..40).for_each(|_| times.record(Nanos::from_millis(1)));
    let service = times.compact();
    for second in 0..11 {
        let row = run_store::rollup::ObservedRow {
            name: "db",
            is_below: false,
            direction: Direction::Read,
            class: run_store::slice::SizeClass::from_index(2).expect("a class"),
            bytes: 40 * 8192,
            errors: 0,
            service: &service,
        };
        let rows = (!pause.contains(&second)).then_some(row);
        let width = if second == 10 { Nanos::from_millis(62) } else { Nanos::SECOND };
        rollup.observed(Nanos::from_secs(second), width, rows.into_iter());
    }
    let facts = view::TraceFacts {
        id: "trace".to_owned(),
        name: "trace".to_owned(),
        ..view::TraceFacts::default()
    };
    Source::trace(facts, Arc::new(rollup), None)
}

/// Regression: a rest of 62 ms at the end gave "at most 5,755 IOPS".
#[test]
fn rest_of_a_slice_is_no_highest_rate_and_no_point() {
    let source = with_rest(0..0);
    for breakdown in [Breakdown::None, Breakdown::Direction, Breakdown::Size, Breakdown::Tile] {
        let lens = Lens { breakdown, ..Lens::default() };
        let found = model::series(&source, &lens);
        let most = found.groups[0].max.iter().flatten().copied().fold(0.0, f64::max);
        assert!(most < 41.0, "{breakdown:?}: {most} in {:?}", found.groups[0].max);
        assert!(found.groups[0].mean.iter().flatten().all(|mean| *mean < 90.0), "{found:?}");
        assert_eq!(found.at_ns.len(), 10, "{breakdown:?}");
        assert_eq!(found.count.iter().sum::<u64>(), 11 * 40, "no I/O is lost");
        assert_eq!(found.width_ns.iter().sum::<u64>(), 10_062_000_000);
    }
}

/// Regression: 3,070 IOPS were shown for the only sender, beside 1,538 IOPS of all.
#[test]
fn rate_on_the_map_counts_pauses_as_the_overview_does() {
    let source = with_rest(2..8);
    let item = &model::map(&source, &Lens::default()).items[0];
    let all = 5.0 * 40.0 / 10.062;
    assert!((item.operations_per_s - all).abs() < 1e-9, "{}", item.operations_per_s);
    let sentence = source.row().sentence;
    assert!(sentence.contains("19.9 IOPS"), "{sentence}");
}
