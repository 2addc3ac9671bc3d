//! A recorded load is replayed as it was recorded: each I/O once, at its time or after the I/O that
//! it waited for, on disks of any size.

use std::sync::Arc;

use proptest::prelude::*;
use sim::Completion;
use spec::workload::Workload;
use state_machine::{IoRequest, Operation};
use tilemark_workload::replay::{
    LENGTH_MAX, Mapping, Observed, Schedule, ScheduleBuilder, ScheduleError, ScheduleOptions, Waits,
};
use tilemark_workload::{BuildError, Instance, InstancePlan, build};
use units::{Bytes, Nanos};

use crate::support::{Trace, failed, ms, run_instances, secs};

const MIB: u64 = 1 << 20;

fn workload(disks: usize) -> Workload {
    let disks: String =
        (0..disks).map(|disk| format!("{{ name = \"disk-{disk}\", size = \"4MiB\" }},")).collect();
    let text = format!(
        "name = \"test\"\ntitle = \"test\"\nsource = \"ours\"\n\
         metric = {{ unit = \"I/Os/s\", count = \"io\", reference = 1.0 }}\n\
         replay = {{ trace = \"x\" }}\n[[vm]]\nname = \"vm\"\ndisk = [{disks}]\n"
    );
    spec::load_workload("test.toml", &text).expect("a valid workload")
}

const BY_CLOCK: ScheduleOptions = ScheduleOptions {
    waits: Waits::ForTheClock,
    speed: Some(1.0),
    one_at_a_time: false,
    steps_max: 1 << 20,
};

const BY_ANSWERS: ScheduleOptions = ScheduleOptions { waits: Waits::ForAnswers, ..BY_CLOCK };

fn schedule(options: ScheduleOptions, observed: &[Observed], disks: usize) -> Arc<Schedule> {
    let mut builder = ScheduleBuilder::new(options, disks);
    for one in observed {
        builder.push(one).expect("it fits");
    }
    Arc::new(builder.finish())
}

fn instance(schedule: &Arc<Schedule>) -> Instance {
    build_with(Some(schedule)).expect("it can be built")
}

fn build_with(schedule: Option<&Arc<Schedule>>) -> Result<Instance, BuildError> {
    let workload = workload(schedule.map_or(1, |schedule| schedule.ends().len()));
    build(&InstancePlan {
        workload: &workload,
        seed: 1,
        round: 0,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: 1.0,
        time_scale: 1.0,
        cpu: None,
        schedule,
    })
}

fn read(issue: Nanos, latency: Nanos, offset: u64) -> Observed {
    Observed {
        issue,
        latency: Some(latency),
        sender: 0,
        disk: 0,
        operation: Some(Operation::Read),
        offset,
        length: 4096,
    }
}

/// Plays on a device whose latencies are picked from a list in turn, to the end of all time.
fn play(schedule: &Arc<Schedule>, latencies: &[Nanos]) -> Trace {
    let mut turn = latencies.iter().cycle();
    let device = |now: Nanos, _: &IoRequest| {
        let latency = *turn.next().expect("at least one");
        Completion { at: now + latency, result: Ok(()) }
    };
    run_instances(vec![instance(schedule)], device, secs(3600)).remove(0)
}

fn observed() -> impl Strategy<Value = Vec<Observed>> {
    let operation = prop_oneof![
        4 => Just(Some(Operation::Read)),
        4 => Just(Some(Operation::Write)),
        1 => Just(Some(Operation::Flush)),
        1 => Just(None),
    ];
    let latency = prop_oneof![9 => (0..5_000_000_u64).prop_map(Some), 1 => Just(None)];
    let one =
        (0..2_000_000_u64, latency, 0..3_u16, 0..2_u16, operation, 0..64 * MIB, 1..300_000_u32);
    proptest::collection::vec(one, 1..200).prop_map(|all| {
        let mut now = 0;
        let one = |(pause, latency, sender, disk, operation, offset, length)| {
            now += pause;
            let (issue, latency) = (Nanos(now), Option::map(latency, Nanos));
            Observed { issue, latency, sender, disk, operation, offset, length }
        };
        all.into_iter().map(one).collect()
    })
}

fn played(observed: &[Observed]) -> Vec<Observed> {
    observed.iter().filter(|one| one.operation.is_some()).copied().collect()
}

/// By its meaning, and slowly: the I/O whose answer was the sender's last before this one.
fn waits_for(all: &[Observed], place: usize) -> Option<(usize, Nanos)> {
    let one = &all[place];
    let before = all[..place].iter().enumerate();
    let ended = before.filter(|(_, other)| other.sender == one.sender).filter_map(|(at, other)| {
        let end = other.issue + other.latency?;
        (end <= one.issue).then_some((end, at))
    });
    ended.max().map(|(end, at)| (at, end))
}

/// Returns true if a request is this I/O, on disks of 4 MiB.
fn same(request: &IoRequest, one: &Observed) -> bool {
    let operation = one.operation.expect("discards are not played");
    let at = request.disk.0 == one.disk && request.operation == operation;
    let inside = request.offset + u64::from(request.length) <= 4 * MIB;
    at && inside && (operation != Operation::Flush || request.length == 0)
}

proptest! {
    #[test]
    fn by_the_clock_every_io_is_sent_once_at_its_time(
        observed in observed(),
        speed in prop_oneof![Just(1.0), Just(2.0), Just(0.25)],
        latencies in proptest::collection::vec((0..20_000_000_u64).prop_map(Nanos), 1..20),
    ) {
        let options = ScheduleOptions { speed: Some(speed), ..BY_CLOCK };
        let schedule = schedule(options, &observed, 2);
        let trace = play(&schedule, &latencies);
        let wanted = played(&observed);
        prop_assert_eq!(trace.requests.len(), wanted.len());
        let begun = wanted.first().map_or(Nanos::ZERO, |one| one.issue);
        for ((at, request), one) in trace.requests.iter().zip(&wanted) {
            let time = (one.issue - begun).scale(1.0 / speed);
            prop_assert_eq!((*at, request.due), (time, time));
            prop_assert!(same(request, one), "{:?} {:?}", request, one);
        }
        prop_assert_eq!(trace.actions.len(), usize::from(!wanted.is_empty()));
    }

    #[test]
    fn by_answers_every_io_follows_its_answer_and_pause_once(
        observed in observed(),
        speed in prop_oneof![Just(Some(1.0)), Just(Some(2.0)), Just(None)],
        latencies in proptest::collection::vec((0..20_000_000_u64).prop_map(Nanos), 1..20),
    ) {
        let schedule = schedule(ScheduleOptions { speed, ..BY_ANSWERS }, &observed, 2);
        let wanted = played(&observed);
        // Tokens are places in the schedule: sender by sender, each in its own order.
        let mut places: Vec<usize> = (0..wanted.len()).collect();
        places.sort_by_key(|place| wanted[*place].sender);
        let mut sent: Vec<Option<Nanos>> = vec![None; wanted.len()];
        let mut answered: Vec<Option<Nanos>> = vec![None; wanted.len()];
        let mut turn = latencies.iter().cycle();
        let device = |now: Nanos, request: &IoRequest| {
            let place = places[request.token.0 as usize];
            assert!(sent[place].is_none(), "sent twice");
            assert!(same(request, &wanted[place]), "{request:?} {:?}", wanted[place]);
            assert_eq!(request.due, now, "a punctual driver sends when it is due");
            sent[place] = Some(now);
            let at = now + *turn.next().expect("at least one");
            answered[place] = Some(at);
            Completion { at, result: Ok(()) }
        };
        let trace = run_instances(vec![instance(&schedule)], device, secs(3600)).remove(0);
        prop_assert_eq!(trace.requests.len(), wanted.len());
        prop_assert_eq!(trace.actions.len(), usize::from(!wanted.is_empty()));
        let begun = wanted.first().map_or(Nanos::ZERO, |one| one.issue);
        let pause = |time: Nanos| speed.map_or(Nanos::ZERO, |speed| time.scale(1.0 / speed));
        for place in 0..wanted.len() {
            let issue = wanted[place].issue;
            let due = match waits_for(&wanted, place) {
                None => pause(issue - begun),
                Some((before, end)) => answered[before].expect("answered") + pause(issue - end),
            };
            prop_assert_eq!(sent[place], Some(due), "I/O {}", place);
        }
    }

    #[test]
    fn whatever_a_trace_asks_for_lands_on_the_disk_in_whole_units(
        offset in prop_oneof![any::<u64>(), 0..16 * MIB],
        length in 1..u32::MAX,
        size in 1..64_u64,
        unit in prop_oneof![Just(512_u64), Just(4096)],
    ) {
        let one = Observed { offset, length, ..read(Nanos::ZERO, Nanos::ZERO, 0) };
        let schedule = schedule(BY_CLOCK, &[one], 1);
        let mut instance = instance(&schedule);
        instance.machine.align_to(Bytes::new(unit));
        let mapping = Mapping::new([Bytes::new(size * MIB)], Bytes::new(unit));
        let folded = mapping.folded(&schedule);
        let fits = offset.saturating_add(u64::from(length)) <= size * MIB;
        prop_assert_eq!(folded.moved, u64::from(!fits));
        prop_assert_eq!(folded.rounded, u64::from(offset % unit != 0 || u64::from(length) % unit != 0));
        let trace =
            run_instances(vec![instance], |now, _| failed(now, ms(1)), secs(1)).remove(0);
        let (_, request) = trace.requests[0];
        prop_assert_eq!((request.offset % unit, u64::from(request.length) % unit), (0, 0));
        prop_assert!(request.length > 0 && request.length <= LENGTH_MAX);
        prop_assert!(request.offset + u64::from(request.length) <= 4 * MIB);
        if offset.saturating_add(u64::from(length)) <= 4 * MIB && length < LENGTH_MAX - 8192 {
            prop_assert!(request.offset <= offset);
            prop_assert!(request.offset + u64::from(request.length) >= offset + u64::from(length));
        }
        prop_assert!(!trace.actions[0].ok, "an error is told at the end");
    }
}

#[test]
fn hot_places_stay_hot_on_a_smaller_disk_and_keep_alignment() {
    let hot: Vec<Observed> = (0..100).map(|n| read(ms(n), ms(1), 9 * MIB + 1536)).collect();
    let trace = play(&schedule(BY_CLOCK, &hot, 1), &[ms(1)]);
    assert!(trace.requests.iter().all(|(_, request)| request.offset == MIB + 1536));
}

#[test]
fn one_at_a_time_sends_the_next_with_the_answer_before() {
    let options = ScheduleOptions { speed: None, one_at_a_time: true, ..BY_ANSWERS };
    let all: Vec<Observed> =
        (0..50).map(|n| Observed { latency: None, ..read(Nanos(n), ms(1), n * 4096) }).collect();
    let trace = play(&schedule(options, &all, 1), &[ms(2)]);
    let times: Vec<Nanos> = trace.requests.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, (0..50).map(|n| ms(2 * n)).collect::<Vec<_>>());
    let offsets: Vec<u64> = trace.requests.iter().map(|(_, request)| request.offset).collect();
    assert_eq!(offsets, (0..50).map(|n| n * 4096).collect::<Vec<_>>());
}

#[test]
fn a_trace_that_is_too_long_says_how_much_memory_it_would_take() {
    let mut builder = ScheduleBuilder::new(ScheduleOptions { steps_max: 2, ..BY_CLOCK }, 1);
    builder.push(&read(ms(0), ms(1), 0)).expect("it fits");
    builder.push(&read(ms(1), ms(1), 0)).expect("it fits");
    let discard = Observed { operation: None, ..read(ms(1), ms(1), 0) };
    builder.push(&discard).expect("what is not played takes no memory");
    let error = builder.push(&read(ms(2), ms(1), 0)).expect_err("one too many");
    assert_eq!(error, ScheduleError::TooMany { max: 2, bytes: 64 });
    let schedule = builder.finish();
    assert_eq!((schedule.len(), schedule.bytes(), schedule.counts().discards), (2, 64, 1));
    assert_eq!((schedule.span(), schedule.ends()), (ms(1), &[4096][..]));
}

#[test]
fn another_round_plays_the_same_and_writes_other_contents() {
    let write = Observed { operation: Some(Operation::Write), ..read(ms(0), ms(1), 0) };
    let schedule = schedule(BY_CLOCK, &[write], 1);
    let run = |round| {
        let mut instance = instance(&schedule);
        instance.machine = instance.machine.in_round(round);
        run_instances(vec![instance], |now, _| failed(now, ms(1)), secs(1)).remove(0).requests[0]
    };
    let ((_, first), (_, second)) = (run(0), run(1));
    assert_ne!(first.pattern, second.pattern);
    assert_eq!(IoRequest { pattern: first.pattern, ..second }, first);
}

#[test]
fn schedules_differ_in_their_digest_when_their_load_differs() {
    let digest = |options, offset| {
        schedule(options, &[read(ms(0), ms(1), 0), read(ms(2), ms(1), offset)], 1).digest()
    };
    let first = digest(BY_CLOCK, 0);
    assert_eq!(first, digest(BY_CLOCK, 0));
    assert_ne!(first, digest(BY_CLOCK, 4096));
    assert_ne!(first, digest(BY_ANSWERS, 0));
    assert_ne!(first, digest(ScheduleOptions { speed: Some(2.0), ..BY_CLOCK }, 0));
}

#[test]
fn a_replay_without_its_trace_is_not_built() {
    let error = build_with(None).expect_err("no trace");
    assert_eq!(error.to_string(), "the trace of workload \"test\" was not read");
}
