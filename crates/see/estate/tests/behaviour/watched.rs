//! Loads of VMs from the store of a watched host.

use std::path::Path;

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use tilemark_estate::read::{Reading, Source};
use tilemark_estate::{Inventory, ReadError, collect};
use units::{Bytes, Nanos};
use watch::{Cell, Key, Options, Slice, Store};

const START: u64 = 1_764_374_400;

/// Hours in which web1 does 60 reads of 4 KiB and 600 writes of 8 KiB a minute, ten times as much
/// in every tenth minute, and a process of the host much more. The VM idle is there and does nothing
/// in the second half.
fn store(directory: &Path, hours: u64) {
    let options = Options { host: "h".to_owned(), bytes_max: Bytes::new(1 << 40) };
    let mut store = Store::open(directory, options).expect("as in this test");
    for at in 0..hours * 360 {
        let mut slice = Slice { watched: Nanos::from_secs(10), ..Slice::new(START + 10 * at, 10) };
        let times = if at / 6 % 10 == 0 { 10 } else { 1 };
        let mut add = |vm: &str, direction, count: u64, bytes: u64| {
            let class = Some(SizeClass::of(u32::try_from(bytes).expect("as in this test")));
            let latencies =
                [(Nanos::from_millis(1), u32::try_from(count).expect("as in this test"))];
            let latencies = latencies.into_iter().collect();
            let cell = Cell { count, bytes: count * bytes, latencies, ..Cell::default() };
            // On a volume, and on the disk below it.
            for (disk, is_below) in [("dm-3", false), ("sda", true)] {
                let (vm, disk, cell) = (vm.into(), disk.into(), cell.clone());
                slice.io.insert(Key { vm, disk, direction, class, is_below }, cell);
            }
        };
        add("web1", Direction::Read, 10 * times, 4096);
        add("web1", Direction::Write, 100 * times, 8192);
        add("web1", Direction::Flush, 50, 0);
        add("kworker", Direction::Write, 5000, 65_536);
        if at < hours * 180 {
            add("idle", Direction::Read, 20, 4096);
        }
        for vm in ["web1", "idle"] {
            slice.read(GaugeName::VmCpu, &vm.into(), Folded::of(Nanos::from_secs(10), 0.1));
        }
        store.push(slice).expect("as in this test");
    }
    store.close().expect("as in this test");
}

fn import(text: &str) -> Result<Inventory, ReadError> {
    collect(&[text.parse::<Source>().expect("as in this test")], &Reading::default(), false)
}

#[test]
fn loads_are_percentiles_of_minutes_of_virtual_machines_alone() {
    let dir = tempfile::tempdir().expect("as in this test");
    store(dir.path(), 4);
    let named = format!("watch:{}", dir.path().display());
    for text in [named.as_str(), dir.path().to_str().expect("as in this test")] {
        let inventory = import(text).expect("read");
        let names: Vec<_> = inventory.vms.iter().map(|vm| vm.name.as_str()).collect();
        assert_eq!(names, ["idle", "web1"]);
        let [idle, web1] = [&inventory.vms[0].load, &inventory.vms[1].load];
        // A tenth of the minutes is ten times as busy, so the 95th percentile is one of these.
        let near = |value: Option<f64>, expected: f64| {
            let value = value.expect("as in this test");
            assert!((value - expected).abs() <= expected / 50.0, "{value} {expected}");
        };
        near(web1.reads_per_s, 10.0);
        near(web1.writes_per_s, 100.0);
        near(web1.read_bytes_per_s, 40_960.0);
        near(web1.written_bytes_per_s, 819_200.0);
        near(idle.reads_per_s, 2.0);
        assert_eq!(idle.writes_per_s, Some(0.0), "a quiet minute is one of rate zero");
        let notes = inventory.notes.join("\n");
        assert!(notes.contains("not virtual machines are left out (1)"), "{notes}");
        assert!(notes.contains("loads come from 4.0 hours"), "{notes}");
    }
}

#[test]
fn store_that_is_none_or_has_no_machine_is_refused() {
    let dir = tempfile::tempdir().expect("as in this test");
    let error = import(&format!("watch:{}", dir.path().display())).expect_err("refused");
    assert!(error.to_string().contains("is not a watch store"), "{error}");
    store(dir.path(), 0);
    let error = import(&format!("watch:{}", dir.path().display())).expect_err("refused");
    assert!(error.to_string().contains("no virtual machine"), "{error}");
}
