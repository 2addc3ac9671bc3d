//! Calls to modelled services: a queue's laws, the counts of both sides, and the same run for the
//! same seed.

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, Slice};
use state_machine::{Call, Effects, EndpointId, Event, KindId, Machine, Token};
use stats::Compact;
use tilemark_sim::{Options, Outcome, ServiceParameters, Services, SimInstance, Simulation};
use units::Nanos;

/// Users who call again as soon as they are answered.
struct Callers(u32);

impl Machine for Callers {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        let mut call = |token| {
            let (endpoint, kind) = (EndpointId(0), KindId(0));
            fx.call(Call {
                token,
                endpoint,
                kind,
                due: now,
                size: 1000,
                draws: state_machine::Draws::default(),
            });
        };
        match event {
            Event::Start => (0..self.0).for_each(|user| call(Token(user))),
            Event::Done(token, Ok(())) => call(token),
            other => panic!("{other:?}"),
        }
    }
}

fn caller(number: u32, users: u32) -> SimInstance<Callers> {
    let shape = InstanceShape {
        instance: InstanceId(number),
        disk_vms: Vec::new(),
        kinds: 1,
        actions: 0,
        groups: 0,
    };
    SimInstance { machine: Callers(users), shape }
}

/// Runs two instances with `users` users each on one service. Returns all slices and the outcome.
fn run(users: u32, servers: u32, seed: u64) -> (Vec<Slice>, Outcome) {
    let service = ServiceParameters { servers, mean: Nanos::from_millis(1) };
    let services = Services::new(&[service], &[vec![0], vec![0]], seed).expect("a service");
    let options = Options { until: Nanos::MAX, ..Options::default() };
    let instances = vec![caller(0, users), caller(1, users)];
    let mut simulation = Simulation::new(instances, AtOnce, options).with_services(services);
    let mut slices = Vec::new();
    for _ in 0..100 {
        slices.extend(simulation.next_slice().expect("time passes"));
    }
    simulation.stop();
    while let Some(slice) = simulation.next_slice().expect("time passes") {
        slices.push(slice);
    }
    (slices, simulation.outcome())
}

fn service(slices: &[Slice]) -> Compact {
    let mut all = Compact::default();
    slices.iter().flat_map(|slice| &slice.calls).for_each(|row| all.merge(&row.service));
    all
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn four_callers_of_one_server_wait_for_each_other() {
    let (slices, outcome) = run(2, 1, 7);
    let all = service(&slices);
    assert_eq!((outcome.submitted, outcome.completed), (all.count(), all.count()));
    // A server that is never idle: 100 s of 1 ms each, within five standard errors of 0.3 %.
    let rate = all.count() as f64 / 100.0;
    assert!((rate - 1000.0).abs() < 16.0, "{rate} calls a second");
    // Little's law: four in flight at all times.
    let mean_ms = all.sum_ns as f64 / all.count() as f64 / 1e6;
    assert!((mean_ms * rate / 1000.0 - 4.0).abs() < 0.02, "{mean_ms} ms");
    let first = &slices[0];
    assert!((first.generator.in_flight_seconds - 4.0).abs() < 1e-6, "{:?}", first.generator);
    assert!(first.io.is_empty() && first.calls.len() == 2);
    let bytes: u64 = slices.iter().flat_map(|slice| &slice.calls).map(|row| row.bytes.get()).sum();
    assert_eq!(bytes, 1000 * all.count());
}

#[test]
fn a_seed_gives_the_same_calls_bit_for_bit() {
    let print = |seed| format!("{:?}", run(2, 2, seed));
    assert_eq!(print(1), print(1));
    assert_ne!(print(1), print(2));
}

/// Storage that nobody asks.
struct AtOnce;

impl tilemark_sim::Model for AtOnce {
    type Alarm = std::convert::Infallible;

    fn submit(
        &mut self,
        _: Nanos,
        _: (usize, hardware::Ticket),
        _: &state_machine::IoRequest,
        _: &mut hardware::ModelEffects<Self::Alarm>,
    ) {
        panic!("a call is not an I/O");
    }

    fn wake(&mut self, _: Nanos, alarm: Self::Alarm, _: &mut hardware::ModelEffects<Self::Alarm>) {
        match alarm {}
    }
}
