//! The worker over fake storage in virtual time.

use run_store::slice::Slice;
use tilemark_engine::fake::{self, Fake, FakeRun, Fault, Stall};
use tilemark_engine::{EngineError, Options};
use units::Nanos;

use crate::loads::{Kind, Load, nowhere};

const MIB: u64 = 1 << 20;

fn run(load: Load, depth: u32, fake: Fake, seconds: u64) -> FakeRun {
    let options = Options { depth, ..Options::default() };
    let until = Nanos::from_secs(seconds);
    fake::run(vec![nowhere(load)], &options, fake, until).expect("a fake run")
}

/// Number of service times, and of response times, that were longer than this.
fn longer(slices: &[Slice], than: Nanos) -> (u64, u64) {
    let count = |compact: &stats::Compact| -> u64 {
        let long = compact.buckets().filter(|(value, _)| *value > than);
        long.map(|(_, count)| u64::from(count)).sum()
    };
    let rows = slices.iter().flat_map(|slice| &slice.io);
    rows.fold((0, 0), |(s, r), row| (s + count(&row.service), r + count(&row.response)))
}

#[test]
fn stall_of_a_paced_load_shows_in_all_response_times() {
    // Service takes 100 us, so capacity is 10,000 per second; the load asks for 8,000.
    let load = Load::new(Kind::Paced { every: Nanos::from_micros(125) }, MIB);
    let stall = Stall { at: Nanos::from_secs(1), length: Nanos::from_millis(500) };
    let run = run(load, 32, Fake { stalls: vec![stall], ..Fake::default() }, 6);
    // 4,000 were meant to start during the stall, and the backlog of B requests is worked off
    // at 10,000 - 8,000 per second: those that started up to 400 ms after the stall began
    // waited longer than 100 ms, and as the backlog shrinks by a fifth, so did those of
    // the 1.6 s after it.
    let (service, response) = longer(&run.slices, Nanos::from_millis(100));
    assert!(service <= 32, "only what was in flight stalled in the storage: {service}");
    let expected = 8_000.0 * (0.5 + 1.6);
    let ratio = response as f64 / expected;
    assert!((0.9..1.1).contains(&ratio), "{response} waited over 100 ms, not about {expected}");
    let queued: u64 = run.slices.iter().map(|slice| slice.generator.queued).sum();
    assert!(queued > 3_900, "the generator says that requests waited in it: {queued}");
    assert_eq!(run.outcome.submitted, run.outcome.completed);
}

/// The longest lateness of the generator.
fn latest(slices: &[Slice]) -> Nanos {
    let buckets = slices.iter().flat_map(|slice| slice.generator.lateness.buckets());
    buckets.map(|(value, _)| value).max().unwrap_or_default()
}

/// Seen on 57cdf73: 160 tiles on a disk that could not serve them were "the generator did not
/// run for 1.2 s", because requests waited for slots of the generator while 13,000 others were
/// in flight.
#[test]
fn waiting_for_a_slot_that_the_storage_holds_is_not_lateness() {
    let load = Load::new(Kind::Paced { every: Nanos::from_micros(125) }, MIB);
    let stall = Stall { at: Nanos::from_secs(1), length: Nanos::from_millis(500) };
    let run = run(load, 32, Fake { stalls: vec![stall], ..Fake::default() }, 3);
    assert!(run.slices.iter().map(|slice| slice.generator.queued).sum::<u64>() > 3_900);
    assert!(latest(&run.slices) < Nanos::from_millis(1), "{}", latest(&run.slices));
    assert!(run.slices.iter().all(|slice| slice.generator.away == Nanos::ZERO));
}

/// Seen there, too: a file's device had 256 tags, and whoever asked for one more slept in the
/// kernel.
#[test]
fn a_worker_held_by_the_storages_full_queue_was_not_late() {
    let load = Load::new(Kind::Paced { every: Nanos::from_micros(125) }, MIB);
    let stall = Stall { at: Nanos::from_secs(1), length: Nanos::from_millis(500) };
    let fake = Fake { queue: 64, stalls: vec![stall], ..Fake::default() };
    let run = run(load, 8192, fake, 6);
    assert!(latest(&run.slices) < Nanos::from_millis(5), "{}", latest(&run.slices));
    let (_, response) = longer(&run.slices, Nanos::from_millis(100));
    assert!(response > 8_000, "the answers show it: {response}");
    // It was away, all the same: a closed load would have asked for less meanwhile.
    let away: u64 = run.slices.iter().map(|slice| slice.generator.away.0).sum();
    assert!(Nanos(away) > Nanos::from_millis(400), "{}", Nanos(away));
}

#[test]
fn without_a_stall_service_equals_response_and_nothing_queues() {
    let load = Load::new(Kind::Paced { every: Nanos::from_micros(125) }, MIB);
    let run = run(load, 32, Fake::default(), 2);
    assert_eq!(longer(&run.slices, Nanos::from_micros(101)), (0, 0));
    assert_eq!(run.slices.iter().map(|slice| slice.generator.queued).sum::<u64>(), 0);
    assert_eq!(run.slices[0].io[0].service.count(), 7_999);
}

#[test]
fn slices_cover_the_run_without_gaps_and_obey_little() {
    let load = Load::new(Kind::Closed { users: 16, requests: u64::MAX }, MIB);
    let run = run(load, 64, Fake { servers: 4, ..Fake::default() }, 3);
    let mut end = Nanos::ZERO;
    for slice in &run.slices {
        assert_eq!(slice.start, end);
        end = slice.start + slice.width;
    }
    let (mut held, mut spent) = (0.0, 0.0);
    for slice in &run.slices {
        held += slice.generator.in_flight_seconds;
        spent += slice.io.iter().map(|row| row.service.sum_ns as f64 / 1e9).sum::<f64>();
    }
    assert!((held - spent).abs() / spent < 1e-6, "N = X R: {held} I/O-seconds, {spent} spent");
    assert_eq!(run.outcome.submitted, run.outcome.completed);
    let counted: u64 = run.slices.iter().map(|slice| slice.generator.completed).sum();
    assert_eq!(counted, run.outcome.completed, "slices hold every answer");
}

#[test]
fn failing_ring_with_requests_in_flight_reports_its_error() {
    let load = Load::new(Kind::Closed { users: 16, requests: u64::MAX }, MIB);
    let fake = Fake { breaks: Some(Nanos::from_millis(1)), ..Fake::default() };
    let options = Options { depth: 32, ..Options::default() };
    let error = fake::run(vec![nowhere(load)], &options, fake, Nanos::from_secs(1))
        .expect_err("nothing can be submitted any more");
    let EngineError::Submit { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.raw_os_error(), Some(libc::ENXIO));
}

#[test]
fn failures_are_named_counted_and_the_run_goes_on() {
    let load = Load::new(Kind::Closed { users: 1, requests: 100 }, MIB);
    let faults = vec![
        Fault { ordinal: 10, result: -libc::EIO },
        Fault { ordinal: 20, result: 512 },
        Fault { ordinal: 30, result: -libc::ENODEV },
    ];
    let run = run(load, 4, Fake { faults, ..Fake::default() }, 1);
    assert_eq!((run.outcome.submitted, run.outcome.completed), (100, 100));
    let [errors] = run.outcome.errors.as_slice() else { panic!("one disk failed") };
    assert_eq!((errors.disk.as_str(), errors.count), ("disk", 3));
    assert_eq!(errors.error, state_machine::IoError::Os(libc::EIO));
    assert_eq!(errors.offset, run.asked[10].offset);
    let rows: Vec<_> = run.slices.iter().flat_map(|slice| &slice.io).collect();
    assert_eq!(rows.iter().map(|row| row.errors).sum::<u64>(), 3);
    assert_eq!(rows.iter().map(|row| row.service.count()).sum::<u64>(), 97);
}

#[test]
fn a_closed_loop_over_a_vanished_device_does_not_spin() {
    let load = Load::new(Kind::Closed { users: 4, requests: u64::MAX }, MIB);
    let faults = (0..100_000).map(|ordinal| Fault { ordinal, result: -libc::ENODEV }).collect();
    let fake = Fake { faults, service: Nanos::from_micros(1), ..Fake::default() };
    let run = run(load, 4, fake, 1);
    // Four users, each asking at most once a millisecond.
    assert!(run.outcome.submitted <= 4_004, "{} requests in a second", run.outcome.submitted);
    assert!(run.outcome.submitted > 3_000);
}

#[test]
fn requests_beyond_the_depth_wait_and_are_counted() {
    let load = Load::new(Kind::Closed { users: 64, requests: u64::MAX }, MIB);
    let run = run(load, 8, Fake { servers: 64, ..Fake::default() }, 1);
    assert!(run.slices.iter().all(|slice| slice.generator.in_flight <= 8));
    assert!(run.slices[0].generator.queued > 56);
    assert_eq!(run.outcome.unissued, 56);
    let (service, response) = longer(&run.slices, Nanos::from_micros(700));
    assert_eq!(service, 0, "the storage answers in 100 us");
    assert!(response > 1_000, "but users waited for seven others first: {response}");
}

#[test]
fn a_request_outside_its_disk_stops_the_run_at_once() {
    let mut load = Load::new(Kind::Closed { users: 1, requests: u64::MAX }, MIB);
    load.size *= 2;
    let mut instance = nowhere(load);
    instance.disks[0].size = units::Bytes::MIB;
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let until = Nanos::from_secs(1);
        fake::run(vec![instance], &Options::default(), Fake::default(), until)
    }));
    let panic = run.expect_err("the run ends");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("exceeds disk disk of 1048576 bytes"), "{message}");
}

#[test]
fn a_disk_that_must_not_be_written_refuses_writes() {
    let mut load = Load::new(Kind::Closed { users: 1, requests: 10 }, MIB);
    load.write_share = 1.0;
    let mut instance = nowhere(load);
    instance.disks[0].writable = false;
    let until = Nanos::from_secs(1);
    let run = fake::run(vec![instance], &Options::default(), Fake::default(), until);
    let run = run.expect("a fake run");
    assert!(run.asked.is_empty());
    assert_eq!(run.outcome.errors[0].error, state_machine::IoError::Os(libc::EROFS));
    assert_eq!(run.outcome.errors[0].count, 10);
}

#[test]
fn burning_cpu_takes_its_time_and_nothing_is_lost() {
    let load = Load::new(Kind::Busy { cost: Nanos::from_micros(900) }, MIB);
    let run = run(load, 8, Fake::default(), 1);
    // 900 us burnt and 100 us served: one request every millisecond.
    assert!((998..=1_001).contains(&run.outcome.completed), "{}", run.outcome.completed);
}
