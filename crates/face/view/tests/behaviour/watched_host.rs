//! The view `watch` of a generated host: order, disks, working sets and parts of the latency.

use std::path::Path;

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use serde_json::Value;
use units::{Bytes, Nanos};
use view::{Request, Source};
use watch::{Cell, Key, Options, SetRow, SetSpan, Slice, Store};

/// 2026-11-24 00:00 UTC.
const START_S: u64 = 1_795_478_400;
const GIB: u64 = 1 << 30;
const DAYS: u64 = 3;

/// I/Os of one latency; a `queue` share of it in the host's queue, or none known.
fn cell(count: u64, latency: Nanos, queue: Option<f64>) -> Cell {
    let latencies = [(latency, u32::try_from(count).unwrap())].into_iter().collect();
    let latency_ns = count * latency.0;
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    let queue_ns = queue.map(|share| (share * latency_ns as f64) as u64);
    Cell { count, bytes: count * 8192, latency_ns, queue_ns, latencies, ..Cell::default() }
}

fn key(vm: &str, disk: &str, direction: Direction, has_sizes: bool) -> Key {
    let class = has_sizes.then(|| SizeClass::of(8192));
    Key { vm: vm.into(), disk: disk.into(), direction, class, is_below: false }
}

/// Minutes of three days: `web1` on `sda`, which its QEMU sees, too; `sql1` on two disks, slow in
/// the evening; `ceph1`, whose disk only QEMU sees.
fn slice(minute: u64) -> Slice {
    let width = Nanos::from_secs(60);
    let mut slice = Slice { watched: width, ..Slice::new(START_S + 60 * minute, 60) };
    let is_evening = (18..20).contains(&(minute / 60 % 24));
    let us = Nanos::from_micros;
    let (read, write) = (Direction::Read, Direction::Write);
    let day = 100 + minute % 60;
    let mut add = |key: Key, cell: Cell| drop(slice.io.insert(key, cell));
    add(key("web1", "sda", read, true), cell(6 * day, us(400 + minute % 90), Some(0.1)));
    add(key("web1", "web1:virtio0 in QEMU", read, false), cell(6 * day, us(900), None));
    let slow = if is_evening { 24_000 } else { 700 };
    add(key("sql1", "sda", write, true), cell(4 * day, us(slow), Some(0.6)));
    add(key("sql1", "sdb", read, true), cell(9 * day, us(250), Some(0.05)));
    add(key("ceph1", "ceph1:scsi0", write, false), cell(2 * day, us(3100), None));
    for (disk, busy) in [("sda", if is_evening { 0.97 } else { 0.3 }), ("sdb", 0.12)] {
        slice.read(GaugeName::DeviceBusy, &disk.into(), Folded::of(width, busy));
    }
    slice
}

/// Working sets of an hour: `web1` grows, `sql1` stays.
fn sets(hour: u64) -> Vec<SetRow> {
    let start_s = START_S + 3600 * hour;
    let row = |vm: &str, span: SetSpan, read_bytes: u64, written_bytes: u64| {
        let row = SetRow {
            start_s,
            vm: vm.into(),
            span,
            since_s: START_S,
            used_bytes: read_bytes + written_bytes,
            read_bytes,
            written_bytes,
            share: 0.01,
        };
        SetRow { since_s: row.span_start_s().max(START_S), ..row }
    };
    let of = |span: SetSpan| u64::from(span.hours()).min(hour + 1);
    let all = SetSpan::ALL.into_iter().flat_map(|span| {
        [
            row("web1", span, of(span) * GIB / 3, of(span) * GIB / 5),
            row("sql1", span, 2 * GIB, (2 + of(span) / 24) * GIB),
        ]
    });
    all.collect()
}

fn store(directory: &Path) {
    let options = Options { host: "pve1".to_owned(), bytes_max: Bytes::new(1 << 40) };
    let mut store = Store::open(directory, options).unwrap();
    for hour in 0..24 * DAYS {
        for half in [60 * hour, 60 * hour + 30] {
            let slices: Vec<Slice> = (half..half + 30).map(slice).collect();
            store.add_period(1, &slices).unwrap();
        }
        store.push_sets(sets(hour)).unwrap();
    }
}

fn answer(source: &Source, query: &[(&str, &str)]) -> Value {
    let request = Request::parse("watch", query.iter().copied()).unwrap();
    serde_json::to_value(view::answer(source, &request)).unwrap()
}

fn names(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn host_is_shown_by_who_suffers() {
    let directory = tempfile::tempdir().unwrap();
    store(directory.path());
    let source = Source::open_watched(directory.path()).unwrap();
    let page = answer(&source, &[]);
    let sentence = page["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("sql1 suffers most: "), "{sentence}");
    assert_eq!(names(&page["vms"]), ["sql1", "web1", "ceph1"]);
    let disks = names(&page["disks"]);
    assert_eq!(disks, ["sda", "sdb", "ceph1:scsi0"], "what guests see once more is no disk");
    let sql = &page["vms"][0];
    assert_eq!(sql["others"], 2);
    assert_eq!(sql["workloads"], serde_json::json!(["sql1 on sda", "sql1 on sdb"]));
    let set = sql["set"].as_str().unwrap();
    assert_eq!(set, "5 GiB in the last day, 40 % of it read");
    assert_eq!(page["vms"][2]["set"], Value::Null, "its addresses are unknown, so it has none");
    assert_eq!(page["disks"][0]["others"], 2);
    let busy = page["disks"][0]["busy_share"].as_f64().unwrap();
    assert!((busy - 0.356).abs() < 0.01, "{busy}");
    assert_eq!(page["disks"][2]["busy_share"], Value::Null);
}

#[test]
fn working_sets_and_latency_are_of_the_chosen_vm() {
    let directory = tempfile::tempdir().unwrap();
    store(directory.path());
    let source = Source::open_watched(directory.path()).unwrap();
    let page = answer(&source, &[]);
    let vms: Vec<&str> =
        page["sets"].as_array().unwrap().iter().map(|own| own["vm"].as_str().unwrap()).collect();
    assert_eq!(vms, ["web1", "sql1"], "who uses the most in a day comes first");
    let split = &page["split"];
    for list in ["guest_ns", "queue_ns", "device_ns", "host_count"] {
        assert_eq!(split[list].as_array().unwrap().len(), 432, "{list}: ten minutes of three days");
    }

    let page = answer(&source, &[("wl", "web1 on sda"), ("t", "86400-172800")]);
    let sets = page["sets"].as_array().unwrap();
    assert_eq!((sets.len(), &sets[0]["vm"]), (1, &"web1".into()));
    let at = sets[0]["at_ns"].as_array().unwrap();
    assert_eq!((at.len(), at[0].as_u64()), (24, Some(86_400_000_000_000)));
    let day = &sets[0]["spans"][1];
    assert_eq!((&day["span"], &day["read_bytes"][23]), (&"1d".into(), &(8 * GIB).into()));
    assert_eq!(day["is_whole"][0], true);
    assert_eq!(sets[0]["spans"][2]["is_whole"][0], false, "seven days are not over");
    let sentence = page["split"]["sentence"].as_str().unwrap();
    // A store knows means of 900 us to 0.2 %.
    assert!(sentence.contains("guests wait 901 us"), "{sentence}");
    assert_eq!(names(&page["vms"]).len(), 3, "the list stays whole");

    let page = answer(&source, &[("wl", "ceph1 on ceph1:scsi0")]);
    assert_eq!(page["sets"], serde_json::json!([]));
    let split = &page["split"];
    assert_eq!(
        (&split["queue_ns"], &split["device_ns"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let sentence = split["sentence"].as_str().unwrap();
    assert!(sentence.ends_with("The host's kernel does not see these disks."), "{sentence}");

    let page = answer(&source, &[("wl", "sql1 on sdb")]);
    assert_eq!(page["split"]["guest_ns"], serde_json::json!([]));
    let sentence = page["split"]["sentence"].as_str().unwrap();
    assert!(sentence.ends_with("No guest reports its wait."), "{sentence}");
}
