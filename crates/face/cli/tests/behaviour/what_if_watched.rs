//! `what-if --watch`: hits of a cache for VMs of a watched host.

use std::path::Path;

use run_store::slice::{Direction, SizeClass};
use serde_json::Value;
use units::{Bytes, Nanos};
use watch::{Cell, Key, Options, SetRow, SetSpan, Slice, Store};

use crate::rig::{Workspace, err, out};

const HOUR: u64 = 3600;
/// Begin of a day.
const START: u64 = 1_795_478_400;
const MIB: u64 = 1 << 20;

/// Store of two days: `web1` reads 2 MiB/s, of which 1 GiB is in an hour's set and 2 GiB in a day's; `db1`
/// reads half as much of 512 MiB that it always comes back to.
fn store(directory: &Path) {
    let options = Options { host: "h".to_owned(), bytes_max: Bytes::new(u64::MAX) };
    let mut store = Store::open(directory, options).expect("a store");
    let mut rows = Vec::new();
    for hour in 0..48 {
        let start_s = START + HOUR * hour;
        for (vm, sizes) in [("web1", [1024, 2048, 2048]), ("db1", [512, 512, 512])] {
            for (span, size) in SetSpan::ALL.into_iter().zip(sizes) {
                let row = SetRow {
                    start_s,
                    vm: vm.into(),
                    span,
                    since_s: START,
                    used_bytes: size * MIB,
                    read_bytes: size * MIB,
                    written_bytes: 0,
                    share: 1.0,
                };
                rows.push(SetRow { since_s: START.max(row.span_start_s()), ..row });
            }
        }
    }
    store.push_sets(rows).expect("stored");
    for period in 0..8 {
        let starts = (0..36).map(|at| START + 6 * HOUR * period + 600 * at);
        let slices: Vec<Slice> = starts.map(slice).collect();
        store.add_period(2, &slices).expect("stored");
    }
    store.close().expect("closed");
}

/// Ten minutes.
fn slice(start_s: u64) -> Slice {
    let lost = u64::from(start_s == START + 24 * HOUR);
    let mut slice = Slice { watched: Nanos::from_secs(600), lost, ..Slice::new(start_s, 600) };
    for (vm, mib) in [("web1", 1200), ("db1", 600)] {
        let key = Key {
            vm: vm.into(),
            disk: "sda".into(),
            direction: Direction::Read,
            class: Some(SizeClass::of(4096)),
            is_below: false,
        };
        let cell = Cell { count: mib * 256, bytes: mib * MIB, ..Cell::default() };
        slice.io.insert(key, cell);
    }
    slice
}

#[test]
fn hits_of_a_cache_are_predicted_from_working_sets() {
    let place = Workspace::new();
    store(&place.path("w"));
    let ask = |args: &[&str]| place.output(&[&["what-if", "--watch"], args].concat());
    // 7,200 MiB are used in an hour. A cache of 2 GiB has the set of a day, in which 1 GiB came in
    // after the first hour: at most 44.5 MiB an hour are new.
    let output = ask(&["web1", "--cache", "2GiB", "w"]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    for part in [
        "A cache of 2 GiB would hold 99.4 % to 100 % of the bytes that web1 reads and writes.",
        "It would keep them for 24.0 hours or more after their last use.",
        "web1  2 MiB/s      1 GiB      2 GiB  99.4 % to 100 %",
        "1 event lost in this time: these numbers do not include them",
        "from averages over 25 hours of 2026-11-24 23:00:00 to 2026-11-26 00:00:00",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Half a cache of an hour's set: nobody knows how often the hour comes back to a page.
    let output = ask(&["*", "--cache", "768MiB", "watch:w", "--format", "json"]);
    let told: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let vms: Vec<&str> =
        told["vms"].as_array().expect("rows").iter().filter_map(|vm| vm["vm"].as_str()).collect();
    assert_eq!(vms, ["web1", "db1"]);
    let number = |name: &str| told["all"][name].as_f64().expect("a number");
    assert!(number("hits_low") < 0.5 && number("hits_high") > 0.8, "{told}");
    assert!(told["kept_hours_high"].as_f64() < Some(1.0), "{told}");
}

#[test]
fn what_cannot_be_told_is_refused() {
    let place = Workspace::new();
    store(&place.path("w"));
    for (code, args, part) in [
        (2, &["--watch", "nobody", "--cache", "1GiB", "w"][..], "no I/O of VM nobody"),
        (2, &["--watch", "", "--cache", "1GiB", "w"], "an empty pattern matches no name"),
        (2, &["--watch", "web1", "w"], "--cache <SIZE>"),
        (2, &["--watch", "web1", "--cache", "1GiB", "--disks", "4", "w"], "cannot be used with"),
        (2, &["--cache", "1GiB"], "<RUN>"),
        (2, &["--last", "1d", "w"], "--watch <VM>"),
        (2, &["--watch", "web1", "--cache", "1GiB", "gone"], "gone is not a watch store"),
    ] {
        let output = place.output(&[&["what-if"], args].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", err(&output));
        assert!(err(&output).contains(part), "{args:?}: {}", err(&output));
    }
    std::fs::remove_dir_all(place.path("w").join("sets"))
        .or_else(|_| {
            let files = std::fs::read_dir(place.path("w"))?.filter_map(Result::ok);
            files
                .filter(|file| file.file_name().to_string_lossy().starts_with("sets-"))
                .try_for_each(|file| std::fs::remove_file(file.path()))
        })
        .expect("removed");
    let output = place.output(&["what-if", "--watch", "web1", "--cache", "1GiB", "w"]);
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(err(&output).contains("no working set of a whole hour"), "{}", err(&output));
}
