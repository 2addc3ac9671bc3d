//! The store of a watched host, shown as a source.

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use units::{Bytes, Nanos};
use view::{Request, Source};
use watch::{Cell, Key, Options, Slice, Store};

/// 2026-11-24 00:00 UTC.
const START_S: u64 = 1_795_478_400;

/// Slices of a day, in each of which two VMs write; web is slow for a minute at 12:00.
fn store(directory: &std::path::Path) {
    let options = Options { host: "pve1".to_owned(), bytes_max: Bytes::new(1 << 40) };
    let mut store = Store::open(directory, options).unwrap();
    for at in 0..8640 {
        let mut slice =
            Slice { watched: Nanos::from_secs(10), ..Slice::new(START_S + 10 * at, 10) };
        slice.lost = u64::from(at == 100) * 7;
        for vm in ["db", "web"] {
            let is_slow = vm == "web" && (4320..4326).contains(&at);
            let latency = Nanos::from_millis(if is_slow { 80 } else { 1 });
            let latencies = [(latency, 50)].into_iter().collect();
            let class = Some(SizeClass::of(4096));
            let (vm, disk) = (vm.into(), "sda".into());
            let cell = Cell {
                count: 50,
                bytes: 50 * 4096,
                latency_ns: 50 * latency.0,
                latencies,
                ..Cell::default()
            };
            let direction = Direction::Write;
            slice.io.insert(Key { vm, disk, direction, class, is_below: false }, cell);
        }
        for vm in 0..9_u32 {
            let folded = Folded::of(Nanos::from_secs(10), 0.05 + 0.01 * f64::from(vm));
            slice.read(GaugeName::VmReady, &format!("vm{vm}").into(), folded);
        }
        store.push(slice).unwrap();
    }
    store.close().unwrap();
}

#[test]
fn day_of_a_host_is_shown_whole_and_to_ten_seconds() {
    let directory = tempfile::tempdir().unwrap();
    store(directory.path());
    let source = Source::open_watched(directory.path()).unwrap();
    let row = source.row();
    assert_eq!(
        (row.tile.as_str(), row.started.as_str()),
        ("watch of pve1", "2026-11-24T00:00:00Z")
    );
    assert!(row.sentence.contains("864,000 I/Os in 24h"), "{}", row.sentence);
    assert!(row.sentence.ends_with("7 events were lost, so these numbers are too small."));
    let rollup = source.rollup();
    assert_eq!(rollup.wide().width, Nanos::from_secs(600), "144 slices of ten minutes");
    let answer = |view: &str, query: &[(&str, &str)]| {
        let request = Request::parse(view, query.iter().copied()).unwrap();
        serde_json::to_value(view::answer(&source, &request)).unwrap()
    };
    let whole = answer("heatmap", &[]);
    let sentence = whole["sentence"].as_str().unwrap();
    assert!(sentence.contains("at 2026-11-24 12:00:00"), "{sentence}");
    let noon = answer("heatmap", &[("t", "43140-43320")]);
    let at = noon["at_ns"].as_array().unwrap();
    assert!(at.len() >= 18, "three minutes are in slices of ten seconds: {}", at.len());
    let machine = answer("machine", &[]);
    let titles: Vec<&str> = machine["gauges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles.len(), 6, "the VMs that wait most for a processor: {titles:?}");
    assert!(titles.contains(&"vm8: waited for a processor"), "{titles:?}");
}

/// I/O through a volume and the disk below it was twice in every sum of the page.
#[test]
fn io_through_two_disks_counts_once_unless_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { host: "pve1".to_owned(), bytes_max: Bytes::new(1 << 40) };
    let mut store = Store::open(directory.path(), options).unwrap();
    let mut slice = Slice { watched: Nanos::from_secs(10), ..Slice::new(START_S, 10) };
    for (disk, is_below, count) in [("dm-3", false, 100), ("sda", true, 100), ("sda", false, 7)] {
        let (direction, class) = (Direction::Read, Some(SizeClass::of(4096)));
        let latencies = [(Nanos::from_millis(1), count)].into_iter().collect();
        let count = u64::from(count);
        let cell = Cell {
            count,
            bytes: 4096 * count,
            latency_ns: 1_000_000 * count,
            latencies,
            ..Cell::default()
        };
        let (vm, disk) = ("web".into(), disk.into());
        slice.io.insert(Key { vm, disk, direction, class, is_below }, cell);
    }
    store.push(slice).unwrap();
    store.close().unwrap();

    let source = Source::open_watched(directory.path()).unwrap();
    let sentence = source.row().sentence;
    assert!(sentence.contains("107 I/Os in 10"), "{sentence}");
    let answer = |view: &str, query: &[(&str, &str)]| {
        let request = Request::parse(view, query.iter().copied()).unwrap();
        serde_json::to_value(view::answer(&source, &request)).unwrap()
    };
    let page = answer("watch", &[]);
    let rate = |list: &str, at: usize| page[list][at]["operations_per_s"].as_f64().unwrap();
    assert!((rate("vms", 0) - 10.7).abs() < 1e-9, "{page}");
    assert_eq!(page["vms"][0]["workloads"], serde_json::json!(["web on dm-3", "web on sda"]));
    let disks = page["disks"].as_array().unwrap();
    let sda = disks.iter().position(|own| own["name"] == "sda").unwrap();
    assert!((rate("disks", sda) - 10.7).abs() < 1e-9, "{page}");
    let below = "web on sda (below)";
    assert_eq!(page["disks"][sda]["workloads"], serde_json::json!(["web on sda", below]));

    let all = answer("series", &[("by", "none")]);
    assert_eq!((&all["count"][0], &all["groups"][0]["max"][0]), (&107.into(), &10.7.into()));
    let of_disk = answer("series", &[("by", "none"), ("wl", "web on sda,web on sda (below)")]);
    assert_eq!(of_disk["count"][0], 107);
    let lower = answer("series", &[("by", "wl"), ("wl", below)]);
    assert_eq!((&lower["count"][0], &lower["groups"][0]["key"]), (&100.into(), &below.into()));
}
