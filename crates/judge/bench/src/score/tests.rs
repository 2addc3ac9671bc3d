use run_store::slice::{ActionRow, Direction, InstanceEntry, InstanceId, IoRow, SizeClass, VmId};
use spec::workload::{Counted, Metric};
use stats::{Compact, Histogram};
use units::{Bytes, Nanos};

use super::*;

fn work(tile: u32, normalised: f64) -> TileWork {
    TileWork { tile: Some(tile), normalised }
}

/// Table 10 of the published explanation (`workloads` section 1.1): applications' and
/// infrastructure scores of three servers, and the printed total of the first.
#[test]
fn the_published_totals_are_reproduced() {
    for (applications, infrastructure, total) in
        [(11.18, 1.07, "9.16"), (13.90, 1.11, "11.34"), (14.81, 1.09, "12.07")]
    {
        let found = weighted_total(applications, Some(infrastructure)).expect("both parts");
        assert_eq!(format!("{found:.2}"), total);
    }
}

#[test]
fn without_infrastructure_operations_there_is_no_weighted_total() {
    assert_eq!(weighted_total(11.18, None), None);
}

#[test]
fn tiles_are_geometric_means_and_the_score_is_their_sum() {
    let parts = [work(0, 1.0), work(0, 0.25), work(1, 0.9), work(1, 0.9)];
    let means = tile_means(&parts);
    assert!((means[&0] - 0.5).abs() < 1e-12 && (means[&1] - 0.9).abs() < 1e-12);
    assert!((applications_score(&parts).expect("scored") - 1.4).abs() < 1e-12);
}

#[test]
fn a_workload_that_did_nothing_makes_its_tile_worth_nothing() {
    assert_eq!(applications_score(&[work(0, 1.0), work(0, 0.0), work(1, 1.0)]), Some(1.0));
    assert_eq!(applications_score(&[]), None);
}

#[test]
fn the_interval_of_a_step_narrows_with_steadiness() {
    let width = |noise: f64| {
        let blocks: Vec<SliceWork> =
            (0..40).map(|i| vec![100.0 + noise * f64::from(i % 5 - 2), 50.0]).collect();
        let interval = score_interval(&blocks, &[(Some(0), 100.0), (Some(1), 50.0)], 7, "slices")
            .expect("enough blocks");
        assert!(interval.low <= 2.0 && interval.high >= 2.0 - 1e-9, "{interval:?}");
        interval.high - interval.low
    };
    assert!(width(20.0) > width(1.0) && width(0.0).abs() < 1e-9);
    let of =
        |blocks: usize| score_interval(&vec![vec![1.0]; blocks], &[(Some(0), 1.0)], 7, "slices");
    assert_eq!((of(4), of(5).is_some()), (None, true), "five blocks at least");
}

#[test]
fn repeats_give_the_interval_of_the_answer() {
    let runs = [vec![0.9, 1.0, 1.0], vec![0.95, 0.9, 1.0], vec![1.0, 1.0, 0.9]];
    let interval = work_interval(&runs, 7).expect("three runs");
    let mean: f64 = runs.iter().flatten().sum::<f64>() / 9.0 * 3.0;
    assert!(interval.low < mean && mean < interval.high, "{interval:?}");
    assert!(interval.method.contains("3 runs x 3 tiles"), "{}", interval.method);
    assert_eq!(work_interval(&runs[..1], 7), None);
    assert_eq!(
        work_interval(&[vec![0.9, 1.0, 0.8, 1.0, 0.7, 1.0]], 7),
        None,
        "one run, many tiles"
    );
}

fn samples(count: u32) -> Compact {
    let mut histogram = Histogram::new();
    histogram.record_n(Nanos::from_millis(1), count);
    histogram.compact()
}

/// Counts five orders and seven visits; eleven reads of 100 bytes in all and thirteen appends of
/// 200; and failures of each.
fn counted(count: Counted, of: Option<&str>) -> f64 {
    let names = InstanceEntry {
        tile: Some(0),
        workload: "shop".to_owned(),
        copy: 0,
        host: None,
        actions: vec!["order".to_owned(), "visit".to_owned()],
        groups: vec!["users".to_owned()],
        kinds: vec!["read".to_owned(), "append".to_owned()],
    };
    let action = |action, count| ActionRow {
        instance: InstanceId(0),
        action,
        group: 0,
        errors: 3,
        dropped: 2,
        service: samples(count),
        response: samples(count),
    };
    let io = |kind, count, bytes| IoRow {
        vm: VmId(0),
        kind,
        direction: Direction::Read,
        class: SizeClass::of(4096),
        bytes: Bytes::new(bytes),
        errors: 4,
        service: samples(count),
        response: samples(count),
    };
    let of = of.map(|name| vec![name.to_owned()]);
    let metric = Metric {
        unit: "any".to_owned(),
        count,
        of,
        per: Nanos::SECOND,
        divide_by: 1.0,
        reference: None,
    };
    let (actions, rows) = ([action(0, 5), action(1, 7)], [io(0, 11, 100), io(1, 13, 200)]);
    metric_count(&metric, &names, actions.iter(), rows.iter())
}

#[test]
fn metric_counts_only_the_successful_work_that_it_names() {
    assert_eq!(counted(Counted::Actions, None), 12.0);
    assert_eq!(counted(Counted::Actions, Some("visit")), 7.0);
    assert_eq!(counted(Counted::Actions, Some("read")), 0.0);
    assert_eq!(counted(Counted::Io, None), 24.0);
    assert_eq!(counted(Counted::Io, Some("read")), 11.0);
    assert_eq!(counted(Counted::Bytes, None), 300.0);
    assert_eq!(counted(Counted::Bytes, Some("append")), 200.0);
    assert_eq!(counted(Counted::None, None), 0.0);
}

#[test]
fn a_rate_is_the_count_in_the_metrics_time_and_unit() {
    let metric = Metric {
        unit: "users".to_owned(),
        count: Counted::Io,
        of: None,
        per: Nanos::from_secs(60),
        divide_by: 0.5,
        reference: None,
    };
    assert_eq!(metric_rate(&metric, 100.0, Nanos::from_secs(30)), 400.0);
}
