//! Slices that tests make, and sums over them.

use std::collections::BTreeMap;

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use tilemark_watch::{Cell, Key, Options, Slice};
use units::{Bytes, Nanos};

pub const START: u64 = 1_764_374_400;

pub fn options() -> Options {
    Options { host: "test".to_owned(), bytes_max: Bytes::new(1 << 40) }
}

/// Slice in which each of these VMs did some I/Os of one latency.
pub fn slice(start_s: u64, vms: &[(&str, u32, u64)]) -> Slice {
    let mut slice = Slice { watched: Nanos::from_secs(10), lost: 1, ..Slice::new(start_s, 10) };
    for (vm, count, latency_us) in vms {
        let key = Key {
            vm: (*vm).into(),
            disk: "sda".into(),
            direction: Direction::Write,
            class: Some(SizeClass::of(4096)),
            is_below: false,
        };
        let latencies = [(Nanos::from_micros(*latency_us), *count)].into_iter().collect();
        let cell = Cell {
            count: u64::from(*count),
            errors: 2,
            bytes: 4096 * u64::from(*count),
            latency_ns: latency_us * 1000 * u64::from(*count),
            queue_ns: Some(u64::from(*count)),
            outstanding: None,
            outstanding_max: None,
            latencies,
        };
        slice.io.entry(key).or_default().merge(&cell);
        let folded = Folded::of(Nanos::from_secs(10), f64::from(*count));
        slice.read(GaugeName::DeviceBusy, &(*vm).into(), folded);
    }
    slice
}

/// I/O of all slices by key.
pub fn sum(slices: &[Slice]) -> BTreeMap<Key, Cell> {
    let mut all = Slice::new(0, 0);
    slices.iter().for_each(|slice| all.merge(slice));
    all.io
}

/// Panics unless stored cells are those of the model: numbers exactly, sums within what five levels of
/// means with eight significant bits may lose, latencies up to their wider bucket.
pub fn assert_alike(stored: &BTreeMap<Key, Cell>, model: &BTreeMap<Key, Cell>) {
    assert!(stored.keys().eq(model.keys()), "{:?} {:?}", stored.keys(), model.keys());
    for ((key, stored), model) in stored.iter().zip(model.values()) {
        let exact =
            |cell: &Cell| (cell.count, cell.errors, cell.latencies.count(), cell.outstanding_max);
        assert_eq!(exact(stored), exact(model), "{key:?}");
        let sums = |cell: &Cell| {
            [Some(cell.bytes), Some(cell.latency_ns), cell.queue_ns, cell.outstanding]
        };
        for (stored, model) in sums(stored).into_iter().zip(sums(model)) {
            assert_eq!(stored.is_some(), model.is_some(), "{key:?}");
            let (stored, model) = (stored.unwrap_or(0), model.unwrap_or(0));
            assert!(stored.abs_diff(model) <= model / 50, "{key:?} {stored} {model}");
        }
        let last = |cell: &Cell| cell.latencies.buckets().last().map(|(edge, _)| edge.0);
        let (stored, model) = (last(stored).unwrap(), last(model).unwrap());
        assert!((model..=model + model / 4).contains(&stored), "{key:?} {stored} {model}");
    }
}
