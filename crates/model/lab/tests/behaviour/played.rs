//! Model in simulated time: nothing here waits or reads a clock.

use hardware::{ModelEffects, Ticket};
use run_store::recorder::InstanceShape;
use run_store::slice::InstanceId;
use sim::plant::{Plant, PlantDisk, PlantInstance, PlantPlan};
use sim::{Model, SimInstance};
use state_machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Token,
};
use tilemark_lab::{Answer, Desk, Hold, Span};
use units::{Bytes, Nanos};

const LENGTH: u32 = 8192;

/// Reads and writes all over a GiB, in groups, so that they queue.
fn requests() -> Vec<(Nanos, IoRequest)> {
    let request = |number: u32| {
        let at = Nanos::from_micros(u64::from(number / 5) * 1700 + u64::from(number % 5));
        let operation = [Operation::Read, Operation::Write, Operation::Read][number as usize % 3];
        let offset = u64::from(number) * 7_919 % 131_072 * u64::from(LENGTH);
        (at, request(number, operation, offset))
    };
    (0..400).map(request).collect()
}

fn request(number: u32, operation: Operation, offset: u64) -> IoRequest {
    IoRequest {
        token: Token(number),
        disk: DiskId(0),
        operation,
        kind: KindId(0),
        offset,
        length: LENGTH,
        due: Nanos::ZERO,
        pattern: Pattern::default(),
        durable: false,
    }
}

fn plant(array: &str) -> Plant {
    let array = spec::shipped::array(array).expect("shipped");
    let disk = PlantDisk {
        name: String::from("disk"),
        workload: String::from("test"),
        role: spec::workload::Role::Data,
        size: Bytes::GIB,
        vm: 0,
        pool: None,
    };
    let instance = PlantInstance {
        tile: 0,
        vcpus: vec![1],
        vms: Vec::new(),
        disks: vec![disk],
        copy_kinds: Vec::new(),
    };
    let plan = PlantPlan { array: &array, instances: &[instance], seed: 5 };
    Plant::new(&plan).expect("a valid plant")
}

/// Due time of each request, run at the times that `look` derives from the next event's.
fn played(array: &str, look: impl Fn(Nanos) -> Nanos) -> Vec<(u32, Nanos)> {
    let mut desk = Desk::new(plant(array));
    let mut ready: Vec<Answer<u32>> = Vec::new();
    for (at, request) in requests() {
        while let Some(next) = desk.next().map(&look).filter(|next| *next < at) {
            desk.run_until(next);
            desk.take_ready(&mut ready);
        }
        desk.submit(at, &[(0, request)], (Hold::default(), request.token.0));
    }
    while ready.len() < requests().len() {
        desk.run_until(look(desk.next().expect("something is under way")));
        desk.take_ready(&mut ready);
    }
    let mut times: Vec<_> = ready.iter().map(|answer| (answer.reply, answer.due)).collect();
    times.sort_unstable();
    times
}

/// Sends requests at their times and records the answers.
struct Script(Vec<(Nanos, IoRequest)>, Vec<(u32, Nanos)>);

impl Machine for Script {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => {
                self.0.iter().for_each(|(at, request)| fx.wake_at(*at, request.token));
            }
            Event::Timer(token) => fx.submit(self.0[token.0 as usize].1),
            Event::Done(token, _) => self.1.push((token.0, now)),
            Event::Ran(_) => {}
        }
    }
}

fn simulated(array: &str) -> Vec<(u32, Nanos)> {
    let shape = InstanceShape {
        instance: InstanceId(0),
        kinds: 1,
        actions: 0,
        groups: 0,
        disk_vms: vec![run_store::slice::VmId(0)],
    };
    let mut instances = [SimInstance { machine: Script(requests(), Vec::new()), shape }];
    let options = sim::Options::default();
    sim::run_model(&mut instances, &mut plant(array), &options, &mut |_| {}).expect("it ends");
    let mut times = std::mem::take(&mut instances[0].machine.1);
    times.sort_unstable();
    times
}

#[test]
fn shipped_arrays_answer_lab_and_simulation_at_equal_times() {
    for array in spec::shipped::array_names() {
        assert_eq!(played(array, |next| next), simulated(array), "{array}");
    }
}

#[test]
fn a_lab_that_is_woken_late_does_not_make_the_array_slower() {
    for late in [Nanos::from_micros(40), Nanos::from_millis(9)] {
        let late_by = played("slow-sata", |next| next + late);
        assert_eq!(late_by, played("slow-sata", |next| next), "woken {late} late");
    }
}

/// Model that answers after a millisecond.
#[derive(Debug)]
struct Millisecond;

impl Model for Millisecond {
    type Alarm = Ticket;

    fn submit(
        &mut self,
        now: Nanos,
        (_, ticket): (usize, Ticket),
        _: &IoRequest,
        fx: &mut ModelEffects<Ticket>,
    ) {
        fx.alarms.push((now + Nanos::from_millis(1), ticket));
    }

    fn wake(&mut self, now: Nanos, ticket: Ticket, fx: &mut ModelEffects<Ticket>) {
        fx.done.push((now, ticket, Ok(())));
    }
}

fn taken(desk: &mut Desk<Millisecond, u32>, until: Nanos) -> Vec<(u32, Nanos, Option<usize>)> {
    desk.run_until(until);
    let mut ready = Vec::new();
    desk.take_ready(&mut ready);
    ready.iter().map(|answer| (answer.reply, answer.due, answer.held)).collect()
}

#[test]
fn request_completes_with_its_last_part() {
    let mut desk = Desk::new(Millisecond);
    let part = (0, request(0, Operation::Read, 0));
    desk.submit(Nanos::ZERO, &[part, part], (Hold::default(), 1));
    desk.submit(Nanos(5), &[], (Hold::default(), 2));
    let ms = Nanos::from_millis;
    assert_eq!(taken(&mut desk, Nanos(5)), [(2, Nanos(5), None)]);
    assert_eq!(taken(&mut desk, ms(1)), [(1, ms(1), None)]);
    assert!(desk.is_idle());
}

#[test]
fn delays_and_hangs_hold_an_answer_and_the_model_goes_on() {
    let mut desk = Desk::new(Millisecond);
    let part = [(0, request(0, Operation::Read, 0))];
    let ms = Nanos::from_millis;
    let hang = Span { from: ms(1), until: ms(20), rule: 3 };
    desk.submit(ms(0), &part, (Hold { delay: ms(4), spans: Vec::new() }, 1));
    desk.submit(ms(0), &part, (Hold { delay: ms(0), spans: vec![hang] }, 2));
    desk.submit(ms(6), &part, (Hold::default(), 3));
    assert_eq!(taken(&mut desk, ms(19)), [(1, ms(5), None), (3, ms(7), None)]);
    assert_eq!(taken(&mut desk, ms(20)), [(2, ms(20), Some(3))]);
}

#[test]
fn what_is_under_way_is_answered_when_the_lab_ends() {
    let mut desk = Desk::new(Millisecond);
    let part = [(0, request(0, Operation::Read, 0))];
    desk.submit(Nanos::ZERO, &part, (Hold::default(), 1));
    desk.submit(Nanos::ZERO, &part, (Hold { delay: Nanos::SECOND, spans: Vec::new() }, 2));
    desk.let_go();
    assert_eq!(taken(&mut desk, Nanos::ZERO).len(), 2);
    assert!(desk.is_idle() && desk.next().is_none());
}
