//! Disks that answer as they were seen to answer.

use state_machine::{Purpose, Stream};
use tilemark_hardware::{Array, Table, TableLoop, TableParameters};
use units::{Bytes, Nanos};

use crate::support::{Arrivals, Load, Outcome, Seconds, Shape, assert_within, drive};

/// Nine in ten answers at `us`, one ten times as slow: 1.9 times `us` on average.
fn latencies(us: u64) -> Vec<Nanos> {
    vec![Nanos::from_micros(us), Nanos::from_micros(10 * us)]
}

fn a_loop(reads: f64, kib: u64, depth: u32, (read, write): (u64, u64)) -> TableLoop {
    let list = |us: u64| if us == 0 { Vec::new() } else { latencies(us) };
    TableLoop { reads, block: Bytes::new(kib << 10), depth, read: list(read), write: list(write) }
}

fn table() -> TableParameters {
    TableParameters {
        capacity: Bytes::GIB * 64,
        shares: vec![0.9, 1.0],
        loops: vec![
            a_loop(1.0, 4, 1, (100, 0)),
            a_loop(1.0, 4, 16, (200, 0)),
            a_loop(1.0, 64, 1, (400, 0)),
            a_loop(1.0, 64, 16, (800, 0)),
            a_loop(0.7, 4, 1, (150, 50)),
            a_loop(0.7, 4, 16, (300, 100)),
            a_loop(0.0, 4, 1, (0, 40)),
        ],
    }
}

fn run(parameters: TableParameters, length: u32, reads: f64, users: u32) -> Outcome {
    let mut array = Array::new();
    let stream = Stream::derive(3, &[], Purpose::Device);
    let entry = array.add(Table::new(parameters, stream).unwrap());
    let shape = Shape { length, span: 1 << 35, reads, sequential: false };
    let load = Load::new(1, shape, Arrivals::Closed { users, think: Nanos::ZERO });
    drive(array, entry, vec![load], Seconds(2.0))
}

#[test]
fn a_loop_that_was_measured_has_its_latency_and_its_rate() {
    let mean = |us: f64| 1.9 * us * 1e-6;
    let deep = run(table(), 4096, 1.0, 16);
    assert_within(0.02, deep.mean, mean(200.0), "mean of 16");
    assert_within(0.02, deep.rate, 16.0 / mean(200.0), "rate of 16");
    let slow = deep.loads[0].answered.iter().filter(|(_, l)| *l == Nanos::from_millis(2));
    assert_within(0.1, slow.count() as f64 / deep.loads[0].answered.len() as f64, 0.1, "tail");
    assert_within(0.02, run(table(), 4096, 0.0, 1).mean, mean(40.0), "writes alone");
    let mixed = 0.7 * mean(300.0) + 0.3 * mean(100.0);
    assert_within(0.03, run(table(), 4096, 0.7, 16).mean, mixed, "of a mix");
}

/// Four users are half way from 1 to 16 on the scale of logarithms, as are 16 KiB from 4 to
/// 64.
#[test]
fn between_loops_quantiles_go_by_logarithms() {
    let least = |outcome: &Outcome| {
        let latencies = outcome.loads[0].answered.iter().map(|(_, latency)| latency.as_secs_f64());
        latencies.fold(f64::INFINITY, f64::min)
    };
    assert_within(0.001, least(&run(table(), 4096, 1.0, 4)), 141.42e-6, "depth");
    assert_within(0.001, least(&run(table(), 16_384, 1.0, 1)), 200e-6, "size");
}

#[test]
fn beyond_the_loops_there_are_no_more_answers_or_bytes_a_second() {
    let deepest = run(table(), 4096, 1.0, 16).rate;
    assert_within(0.03, run(table(), 4096, 1.0, 256).rate, deepest, "rate of 256 users");
    let largest = run(table(), 65_536, 1.0, 1).rate;
    assert_within(0.05, run(table(), 1 << 20, 1.0, 1).rate, largest / 16.0, "rate of 1 MiB");
    assert_within(0.03, run(table(), 512, 1.0, 1).mean, 190e-6, "512 B");
}

#[test]
fn a_direction_that_was_not_measured_answers_as_the_other() {
    let mut reads = table();
    reads.loops.retain(|each| each.write.is_empty());
    assert_within(0.02, run(reads, 4096, 0.0, 16).mean, 380e-6, "writes");
}

#[test]
fn what_makes_no_table_is_refused() {
    let refused = |change: fn(&mut TableParameters)| {
        let mut parameters = table();
        change(&mut parameters);
        let stream = Stream::derive(3, &[], Purpose::Device);
        Table::new(parameters, stream).expect_err("refused").parameter
    };
    assert_eq!(refused(|table| table.capacity = Bytes::ZERO), "capacity");
    assert_eq!(refused(|table| table.shares = vec![0.9, 0.9, 1.0]), "shares");
    assert_eq!(refused(|table| table.shares = vec![0.5, 0.9]), "shares");
    assert_eq!(refused(|table| table.loops.clear()), "loops");
    assert_eq!(refused(|table| table.loops[0].depth = 0), "depth");
    assert_eq!(refused(|table| table.loops[0].reads = 1.5), "reads");
    assert_eq!(refused(|table| table.loops[0].read.truncate(1)), "read");
    assert_eq!(refused(|table| table.loops[6].write.reverse()), "write");
}
