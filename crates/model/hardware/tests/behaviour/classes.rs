//! Foreground before background at one disk.

use state_machine::{DiskId, IoRequest, KindId, Operation, Pattern, Token};
use tilemark_hardware::{
    Array, ClassParameters, ClassQueue, Copies, Link, LinkPreset, ModelEffects, PartId,
    ServiceTime, Station, Ticket,
};
use units::Nanos;

use crate::support::volume;

/// The kind of I/O that copies; others are foreground.
const COPY: KindId = KindId(1);
const SERVICE: Nanos = Nanos::from_millis(1);
const PARAMETERS: ClassParameters =
    ClassParameters { least: 1, most: 9, slow: Nanos::from_millis(8) };

fn read(kind: KindId) -> IoRequest {
    IoRequest {
        token: Token(0),
        disk: DiskId(0),
        operation: Operation::Read,
        kind,
        offset: 0,
        length: 4096,
        due: Nanos::ZERO,
        pattern: Pattern::default(),
        durable: false,
    }
}

/// A disk with a server, and users that ask again at once; the first `copies` of them copy.
struct Users {
    array: Array,
    copies: u32,
    started: Vec<Nanos>,
    fx: ModelEffects<tilemark_hardware::Alarm>,
    /// Answers and sum of times, of foreground and of copies.
    seen: [(u32, Nanos); 2],
}

impl Users {
    fn new(front: impl Fn(&mut Array, PartId) -> PartId, copies: u32, foreground: u32) -> Self {
        let mut array = Array::new();
        let disk = array.add(Station::new(1, ServiceTime::Constant(SERVICE), None).unwrap());
        let entry = front(&mut array, disk);
        array.add_instance(&[volume(entry)]);
        array.set_copy_kinds(vec![vec![COPY]]);
        let started = vec![Nanos::ZERO; (copies + foreground) as usize];
        let mut users =
            Self { array, copies, started, fx: ModelEffects::default(), seen: Default::default() };
        (0..copies + foreground).for_each(|user| users.ask(Nanos::ZERO, user));
        users
    }

    fn ask(&mut self, now: Nanos, user: u32) {
        self.started[user as usize] = now;
        let kind = if user < self.copies { COPY } else { KindId(0) };
        self.array.submit(now, 0, Ticket(user), &read(kind), &mut self.fx);
    }

    fn run(mut self, until: Nanos) -> [(u32, Nanos); 2] {
        let mut alarms = Vec::new();
        loop {
            for (at, Ticket(user), _) in std::mem::take(&mut self.fx.done) {
                let seen = &mut self.seen[usize::from(user < self.copies)];
                seen.0 += 1;
                seen.1 += at - self.started[user as usize];
                self.ask(at, user);
            }
            alarms.append(&mut self.fx.alarms);
            alarms.sort_by_key(|(at, _)| *at);
            if alarms.is_empty() || alarms[0].0 > until {
                return self.seen;
            }
            let (at, alarm) = alarms.remove(0);
            self.array.wake(at, alarm, &mut self.fx);
        }
    }
}

fn queued(parameters: ClassParameters) -> impl Fn(&mut Array, PartId) -> PartId {
    move |array, disk| array.add(ClassQueue::new(parameters, disk).unwrap())
}

fn mean((count, sum): (u32, Nanos)) -> f64 {
    sum.as_secs_f64() / f64::from(count.max(1))
}

#[test]
fn copies_give_way_to_foreground() {
    let end = Nanos::from_secs(20);
    let [equal, _] = Users::new(|_, disk| disk, 32, 2).run(end);
    assert!(mean(equal) > 0.033, "as equals all 34 take turns: {equal:?}");
    let [first, copied] = Users::new(queued(PARAMETERS), 32, 2).run(end);
    assert!(mean(first) < 0.008, "foreground is not slowed to `slow`: {first:?}");
    assert!(copied.0 > 5000, "what is left goes to copies: {copied:?}");
}

#[test]
fn slow_foreground_leaves_the_least_to_copies() {
    let [first, copied] = Users::new(queued(PARAMETERS), 32, 15).run(Nanos::from_secs(20));
    assert!((mean(first) - 0.016).abs() < 0.001, "15 and one copy take turns: {first:?}");
    let share = f64::from(copied.0) / f64::from(copied.0 + first.0);
    assert!((share - 1.0 / 16.0).abs() < 0.005, "a copy is always at the disk: {share}");
    let more = ClassParameters { least: 3, ..PARAMETERS };
    let [first, copied] = Users::new(queued(more), 32, 15).run(Nanos::from_secs(20));
    let share = f64::from(copied.0) / f64::from(copied.0 + first.0);
    assert!((share - 3.0 / 18.0).abs() < 0.01, "`least` holds: {share}");
}

#[test]
fn idle_disk_is_given_to_copies() {
    let [_, copied] = Users::new(queued(PARAMETERS), 32, 0).run(Nanos::from_secs(1));
    assert!(copied.0 >= 999, "nothing holds copies back: {copied:?}");
}

#[test]
fn bounds_that_cannot_hold_are_refused() {
    let mut array = Array::new();
    let disk = array.add(Station::new(1, ServiceTime::Constant(SERVICE), None).unwrap());
    for wrong in [
        ClassParameters { least: 0, ..PARAMETERS },
        ClassParameters { most: 0, ..PARAMETERS },
        ClassParameters { slow: Nanos::ZERO, ..PARAMETERS },
    ] {
        assert!(ClassQueue::new(wrong, disk).is_err(), "{wrong:?}");
    }
}

#[test]
fn copies_inside_the_array_move_no_data_over_links() {
    let slow = LinkPreset::Ethernet1.parameters();
    let alone = |way, copies, foreground| {
        let front = move |array: &mut Array, disk| array.add(Link::new(slow, way, disk).unwrap());
        let [first, copied] = Users::new(front, copies, foreground).run(Nanos::from_secs(1));
        mean(if copies > 0 { copied } else { first })
    };
    let foreground = alone(Copies::InArray, 0, 1);
    assert!((alone(Copies::OverLinks, 1, 0) - foreground).abs() < 1e-9, "hosts copy");
    let command = SERVICE.as_secs_f64() + 2.0 * slow.latency.as_secs_f64();
    assert!((alone(Copies::InArray, 1, 0) - command).abs() < 1e-9, "the array copies");
    assert!(foreground > command + 30e-6, "4 KiB of others take 36 us: {foreground}");
}
