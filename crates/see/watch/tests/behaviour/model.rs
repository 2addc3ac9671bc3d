//! Slices that tests make, and sums over them.

use std::collections::BTreeMap;

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use tilemark_watch::{Cell, Key, Latencies, Options, Slice};
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
        };
        let mut latencies = Latencies::default();
        latencies.record(Nanos::from_micros(*latency_us), *count);
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
