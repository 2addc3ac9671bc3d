//! How the virtual-time driver behaves, seen from outside: order, slices, caps, repeats.

use hardware::{ModelEffects, Ticket};
use run_store::recorder::InstanceShape;
use run_store::slice::{Direction, InstanceId, Slice, VmId};
use state_machine::{
    ActionDone, ActionId, CpuBurst, DiskId, Effects, Event, GroupId, IoError, IoRequest, KindId,
    Machine, Observation, Operation, Pattern, Purpose, Stream, Token, mix,
};
use tilemark_sim::{
    Completion, Device, Fixed, Instant, Model, Options, Outcome, SimError, SimInstance, Simulation,
    run, run_model,
};
use units::Nanos;

const MS: u64 = 1_000_000;

/// Users that read, then burn CPU or think, for ever.
struct Readers {
    users: u32,
    pause: Nanos,
    stream: Stream,
    log: Vec<(Nanos, Event)>,
}

impl Readers {
    fn new(seed: u64, users: u32, pause: Nanos) -> Self {
        Self { users, pause, stream: Stream::derive(seed, &[], Purpose::User), log: Vec::new() }
    }

    fn read(&mut self, now: Nanos, token: Token, fx: &mut Effects) {
        fx.submit(IoRequest {
            token,
            disk: DiskId(0),
            operation: Operation::Read,
            kind: KindId(0),
            offset: self.stream.below(1000) * 4096,
            length: 4096,
            due: now,
            pattern: Pattern::default(),
            durable: false,
        });
    }
}

impl Machine for Readers {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        self.log.push((now, event));
        match event {
            Event::Start => (0..self.users).for_each(|user| self.read(now, Token(user), fx)),
            Event::Timer(token) | Event::Ran(token) => self.read(now, token, fx),
            Event::Done(token, result) => {
                fx.observe(Observation::Action(ActionDone {
                    action: ActionId(0),
                    group: GroupId(0),
                    intended: now,
                    started: now,
                    finished: now,
                    ok: result.is_ok(),
                }));
                if token.0 % 2 == 0 {
                    fx.wake_at(now + self.pause, token);
                } else {
                    fx.run_cpu(CpuBurst { token, cost: self.pause, burn: false, vm: 0 });
                }
            }
        }
    }
}

/// Service times that depend on address and time, so that any difference spreads.
struct Bumpy;

impl Device for Bumpy {
    fn submit(&mut self, now: Nanos, instance: usize, request: &IoRequest) -> Completion {
        let noise = mix(request.offset ^ now.0 ^ instance as u64) % MS;
        let result = if noise.is_multiple_of(100) { Err(IoError::Os(5)) } else { Ok(()) };
        Completion { at: Nanos(now.0 + noise), result }
    }
}

fn instance(number: u32, machine: Readers) -> SimInstance<Readers> {
    SimInstance {
        machine,
        shape: InstanceShape {
            instance: InstanceId(number),
            disk_vms: vec![VmId(number)],
            kinds: 1,
            actions: 1,
            groups: 1,
        },
    }
}

fn options(until: u64) -> Options {
    Options {
        until: Nanos::from_millis(until),
        slice: Nanos::from_millis(100),
        events_per_instant_max: 1000,
    }
}

fn slices<D: Device>(
    instances: &mut [SimInstance<Readers>],
    device: &mut D,
    options: &Options,
) -> (Vec<Slice>, Outcome) {
    let mut slices = Vec::new();
    let outcome = run(instances, device, options, &mut |slice| slices.push(slice));
    (slices, outcome.expect("time passes"))
}

/// Device with one server behind a queue that answers by alarms; service times depend on address
/// and time.
struct Queue {
    free_at: Nanos,
}

impl Model for Queue {
    type Alarm = Ticket;

    fn submit(
        &mut self,
        now: Nanos,
        (_, ticket): (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<Ticket>,
    ) {
        let noise = mix(request.offset ^ now.0) % MS;
        self.free_at = Nanos(self.free_at.max(now).0 + noise);
        fx.alarms.push((self.free_at, ticket));
    }

    fn wake(&mut self, now: Nanos, ticket: Ticket, fx: &mut ModelEffects<Ticket>) {
        fx.done.push((now, ticket, Ok(())));
    }
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)))
}

#[test]
fn seed_decides_the_slices() {
    let print = |seed| {
        let mut instances: Vec<_> = (0..3)
            .map(|number| {
                let pause = Nanos::from_micros(100);
                instance(number, Readers::new(seed + u64::from(number), 4, pause))
            })
            .collect();
        hash(&format!("{:?}", slices(&mut instances, &mut Bumpy, &options(500))))
    };
    assert_eq!(print(1), print(1));
    assert_ne!(print(1), print(2));
}

#[test]
fn driven_slice_by_slice_it_is_the_same_run() {
    let instances = || -> Vec<_> {
        let pause = Nanos::from_micros(300);
        (0..3).map(|number| instance(number, Readers::new(u64::from(number), 3, pause))).collect()
    };
    let model = || Queue { free_at: Nanos::ZERO };
    let (mut whole, mut slices) = (instances(), Vec::new());
    let outcome =
        run_model(&mut whole, &mut model(), &options(450), &mut |slice| slices.push(slice));
    let mut simulation = Simulation::new(instances(), model(), options(450));
    let mut parts = Vec::new();
    while let Some(slice) = simulation.next_slice().expect("time passes") {
        assert_eq!(simulation.now(), slice.start + slice.width);
        parts.push(slice);
    }
    assert_eq!(parts.len(), 5);
    assert_eq!(format!("{parts:?}"), format!("{slices:?}"));
    assert_eq!(Ok(simulation.outcome()), outcome);
    let (machines, _) = simulation.into_parts();
    let logs = |machines: &[SimInstance<Readers>]| -> Vec<_> {
        machines.iter().map(|one| one.machine.log.clone()).collect()
    };
    assert_eq!(logs(&machines), logs(&whole));
}

#[test]
fn a_stopped_run_answers_what_is_under_way_and_begins_nothing() {
    let pause = Nanos::from_micros(10);
    let machines = vec![instance(0, Readers::new(1, 200, pause))];
    let options = Options { until: Nanos::MAX, ..options(0) };
    let mut simulation = Simulation::new(machines, Queue { free_at: Nanos::ZERO }, options);
    let first = simulation.next_slice().expect("time passes").expect("a slice");
    assert!(first.generator.in_flight > 100, "{:?}", first.generator);
    simulation.stop();
    let submitted = simulation.outcome().submitted;
    let mut answered = 0;
    while let Some(slice) = simulation.next_slice().expect("time passes") {
        assert_eq!(slice.generator.submitted, 0);
        answered += slice.generator.completed;
    }
    let outcome = simulation.outcome();
    assert_eq!((outcome.submitted, outcome.completed), (submitted, submitted));
    assert_eq!(answered, first.generator.in_flight);
}

#[test]
fn slices_cover_the_run_without_gaps_and_the_last_may_be_short() {
    let mut instances = [instance(0, Readers::new(1, 2, Nanos::from_millis(1)))];
    let (slices, outcome) =
        slices(&mut instances, &mut Fixed(Nanos::from_millis(1)), &options(250));
    let spans: Vec<_> = slices.iter().map(|slice| (slice.start.0, slice.width.0)).collect();
    assert_eq!(spans, [(0, 100 * MS), (100 * MS, 100 * MS), (200 * MS, 50 * MS)]);
    let counted: u64 = slices.iter().map(|slice| slice.io[0].service.count()).sum();
    assert_eq!(counted, outcome.completed);
    assert_eq!(
        slices.iter().map(|slice| slice.generator.submitted).sum::<u64>(),
        outcome.submitted
    );
}

#[test]
fn a_fixed_latency_is_reported_as_service_and_as_time_in_flight() {
    let mut instances = [instance(7, Readers::new(1, 2, Nanos::from_millis(3)))];
    let (slices, outcome) =
        slices(&mut instances, &mut Fixed(Nanos::from_millis(1)), &options(1000));
    assert_eq!((outcome.submitted, outcome.completed), (500, 500));
    let row = &slices[3].io[0];
    assert_eq!((row.vm, row.direction, row.class.name()), (VmId(7), Direction::Read, "4-<8 KiB"));
    assert_eq!(row.service.sum_ns / u128::from(row.service.count()), u128::from(MS));
    // Little's law: 500 reads/s of 1 ms each are 0.5 in flight on average.
    let in_flight: f64 = slices.iter().map(|slice| slice.generator.in_flight_seconds).sum();
    assert!((in_flight - 0.5).abs() < 1e-9, "{in_flight}");
    assert_eq!(slices[3].generator.lateness.sum_ns, 0, "virtual time is never late");
    assert_eq!(slices[3].actions[0].instance, InstanceId(7));
}

#[test]
fn an_answer_at_the_end_of_a_slice_belongs_to_the_next() {
    let mut instances = [instance(0, Readers::new(1, 1, Nanos::from_millis(1000)))];
    let (slices, _) = slices(&mut instances, &mut Fixed(Nanos::from_millis(100)), &options(200));
    assert!(slices[0].io.is_empty());
    assert_eq!(slices[0].generator.in_flight, 1);
    assert_eq!(slices[1].io[0].service.count(), 1);
}

#[test]
fn equal_times_happen_in_the_order_they_were_asked_for() {
    let mut instances = [instance(0, Readers::new(1, 4, Nanos::from_millis(2)))];
    slices(&mut instances, &mut Fixed(Nanos::from_millis(1)), &options(2));
    let tokens: Vec<_> = instances[0].machine.log[1..]
        .iter()
        .map(|(now, event)| match event {
            Event::Done(token, Ok(())) => (now.0, token.0),
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    assert_eq!(tokens, [(MS, 0), (MS, 1), (MS, 2), (MS, 3)]);
}

#[test]
fn failed_requests_are_counted_as_errors_and_reach_the_machine() {
    let mut instances = [instance(0, Readers::new(1, 4, Nanos::from_micros(10)))];
    let (slices, outcome) = slices(&mut instances, &mut Bumpy, &options(1000));
    let errors: u64 = slices.iter().flat_map(|slice| &slice.io).map(|row| row.errors).sum();
    let seen = instances[0].machine.log.iter();
    let seen = seen.filter(|(_, event)| matches!(event, Event::Done(_, Err(_)))).count();
    assert!(errors > 0);
    assert_eq!(errors, seen as u64);
    assert!(errors < outcome.completed / 10);
}

#[test]
fn loop_without_passing_time_is_an_error_naming_the_instance() {
    let quiet = instance(4, Readers::new(1, 1, Nanos::from_secs(1)));
    let mut instances = [quiet, instance(5, Readers::new(1, 1, Nanos::ZERO))];
    let result = run(&mut instances, &mut Instant, &options(1000), &mut |_| {});
    let error = result.expect_err("no time passes");
    assert_eq!(
        error,
        SimError::Runaway { instance: InstanceId(5), now: Nanos::ZERO, events: 1001 }
    );
    assert_eq!(error.to_string(), "instance 5 caused 1001 events at 0 s without passing time");
}

/// The language lists the names of shipped parts, as it may not depend on the crates that
/// hold them.
#[test]
fn the_language_knows_every_shipped_part_and_no_other() {
    let hdds = hardware::HddPreset::ALL.map(|disk| (disk.name(), disk.parameters().capacity));
    assert_eq!(spec::array::names::HDDS.map(|disk| (disk.name, disk.capacity)), hdds);
    let ssds = hardware::SsdPreset::ALL.map(|disk| (disk.name(), disk.parameters().capacity));
    assert_eq!(spec::array::names::SSDS.map(|disk| (disk.name, disk.capacity)), ssds);
    assert_eq!(
        spec::array::names::LINKS,
        hardware::LinkPreset::ALL.map(hardware::LinkPreset::name)
    );
    assert_eq!(spec::array::names::POLICIES, cache::PolicyKind::ALL.map(cache::PolicyKind::name));
}
