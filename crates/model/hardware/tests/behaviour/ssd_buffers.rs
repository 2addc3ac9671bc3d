//! A write buffer on a solid-state disk in front of slower disks.

use tilemark_hardware::{
    Array, PartId, ServiceTime, SsdBuffer, SsdBufferParameters, Station, WriteBackCounts,
};
use units::{Bytes, Nanos, Ratio};

use crate::support::{Arrivals, Load, Outcome, Seconds, Shape, assert_within, drive};

const WRITE: Shape = Shape { length: 4096, span: 16 << 30, reads: 0.0, sequential: false };

struct Buffered {
    outcome: Outcome,
    counts: WriteBackCounts,
    disk: PartId,
    behind: PartId,
    buffer: PartId,
}

/// A disk that takes 100 us, eight disks that take 5 ms, and what `users` did with them.
fn buffered(parameters: SsdBufferParameters, shape: Shape, users: u32, seconds: f64) -> Buffered {
    let mut array = Array::new();
    let station = |servers, micros| {
        let time = ServiceTime::Constant(Nanos::from_micros(micros));
        Station::new(servers, time, None).unwrap()
    };
    let disk = array.add(station(8, 100));
    let behind = array.add(station(8, 5000));
    let buffer = array.add(SsdBuffer::new(parameters, disk, behind).unwrap());
    let arrivals = Arrivals::Closed { users, think: Nanos::from_millis(1) };
    let outcome = drive(array, buffer, vec![Load::new(1, shape, arrivals)], Seconds(seconds));
    let counts = outcome.array.part::<SsdBuffer>(buffer).unwrap().counts();
    Buffered { outcome, counts, disk, behind, buffer }
}

fn sized(bytes: u64) -> SsdBufferParameters {
    SsdBufferParameters {
        element: Bytes::new(65536),
        ..SsdBufferParameters::new(Bytes::new(bytes))
    }
}

#[test]
fn a_write_takes_the_time_of_the_disk() {
    let found = buffered(sized(1 << 30), WRITE, 4, 2.0);
    assert_within(1e-6, found.outcome.mean, 100e-6, "a write");
    assert_eq!((found.counts.forced, found.counts.flushes), (0, 0), "below the high mark");
    let end = Nanos::from_secs(2);
    assert_eq!(found.outcome.array.usage(found.behind, end).completed, 0);
}

#[test]
fn what_is_destaged_is_read_from_the_disk_first_and_stored_once() {
    let found = buffered(sized(8 << 20), Shape { span: 256 << 20, ..WRITE }, 1, 10.0);
    let end = Nanos::from_secs(10);
    let usage = |part| found.outcome.array.usage(part, end);
    assert!(found.counts.flushes > 1000, "{:?}", found.counts);
    let stored = usage(found.behind).completed;
    assert_eq!(stored, found.counts.flushes);
    let served = usage(found.disk).completed - found.counts.writes;
    assert!(served.abs_diff(stored) <= 64, "as many reads of the disk: {served}, {stored}");
    let buffer = found.outcome.array.part::<SsdBuffer>(found.buffer).unwrap();
    let held = buffer.dirty_bytes() / 4096;
    let pages = found.counts.writes - found.counts.coalesced_pages;
    assert_eq!(pages, held + found.counts.flushed_bytes / 4096, "no page is lost");
    assert!(buffer.fill() <= 0.31, "{}", buffer.fill());
}

#[test]
fn a_full_buffer_is_as_slow_as_what_lies_behind() {
    let found = buffered(sized(4 << 20), WRITE, 64, 10.0);
    // Eight servers of 5 ms store 1,600 runs of one page a second.
    assert_within(0.05, found.outcome.rate, 1600.0, "the storage behind");
    assert!(found.counts.forced > 1000, "{:?}", found.counts);
}

#[test]
fn dirty_pages_are_read_from_the_disk_and_others_behind() {
    let mixed = Shape { reads: 0.5, span: 4 << 20, ..WRITE };
    let found = buffered(sized(1 << 30), mixed, 4, 4.0);
    let end = Nanos::from_secs(4);
    let behind = found.outcome.array.usage(found.behind, end).completed;
    assert!(found.counts.read_hits > 3 * behind, "{:?}, {behind} behind", found.counts);
    assert!(behind > 100, "nothing is dirty at first: {behind}");
}

#[test]
fn elements_in_a_row_are_destaged_together() {
    let row = Shape { sequential: true, ..WRITE };
    let found = buffered(sized(8 << 20), row, 4, 5.0);
    let run = found.counts.flushed_bytes / found.counts.flushes;
    assert!(run > 60_000, "whole elements: {run}");
}

#[test]
fn a_buffer_can_be_warmed_without_time() {
    let mut array = Array::new();
    let time = ServiceTime::Constant(Nanos::from_millis(1));
    let disk = array.add(Station::new(1, time, None).unwrap());
    let mut buffer = SsdBuffer::new(sized(8 << 20), disk, disk).unwrap();
    for page in 0..10_000 {
        buffer.place(state_machine::mix(page) % (1 << 40) / 4096 * 4096, 4096);
        assert!(buffer.fill() <= 0.30, "{}", buffer.fill());
    }
    assert!(buffer.fill() > 0.24, "{}", buffer.fill());
    assert_eq!(buffer.counts(), WriteBackCounts::default());
}

#[test]
fn a_buffer_that_cannot_work_is_refused() {
    let mut array = Array::new();
    let time = ServiceTime::Constant(Nanos::from_millis(1));
    let disk = array.add(Station::new(1, time, None).unwrap());
    let new = |parameters| SsdBuffer::new(parameters, disk, disk);
    let error = new(SsdBufferParameters { low: Ratio::new(0.9), ..sized(1 << 20) }).unwrap_err();
    assert_eq!(error.to_string(), "ssd buffer: low 90 % is not above 0 % and at most high");
    assert!(new(sized(4096)).is_err());
    assert!(new(SsdBufferParameters { page: Bytes::new(5000), ..sized(1 << 20) }).is_err());
}
