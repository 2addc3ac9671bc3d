//! A host's processors under random work, with the books kept beside them.

use state_machine::{CpuBurst, Purpose, Stream, Token};
use tilemark_hardware::{
    CpuParameters, CpuSample, HostCpu, HostEffects, RunOrder, ThreadQueueParameters,
};
use units::{Nanos, Ratio};

use crate::support::assert_within;

/// Work that was asked of the host, and the answers that came back.
#[derive(Default)]
struct Books {
    asked: u32,
    ran: Vec<u32>,
    work: f64,
    system_work: f64,
}

fn micros(stream: &mut Stream, most: u64) -> Nanos {
    Nanos::from_micros(stream.below(most))
}

fn parameters(stream: &mut Stream) -> CpuParameters {
    CpuParameters {
        cores: 1 + u32::try_from(stream.below(5)).unwrap(),
        speed: 0.5 + stream.unit(),
        threads: 1.0 + stream.unit(),
        capacity: Ratio::new(0.3 + 0.7 * stream.unit()),
        slice: Nanos::from_micros(1 + stream.below(2000)),
        order: if stream.unit() < 0.75 { RunOrder::Shares } else { RunOrder::Turns },
        thread_queues: (stream.unit() < 0.5).then(|| thread_queues(stream)),
    }
}

fn thread_queues(stream: &mut Stream) -> ThreadQueueParameters {
    let co_stop = stream.below(2) * (1 + stream.below(500));
    ThreadQueueParameters {
        search: u32::try_from(stream.below(6)).unwrap(),
        rebalance: Nanos::from_micros(1 + stream.below(2000)),
        co_stop: Nanos::from_micros(co_stop),
        co_start: Nanos::from_micros(stream.below(co_stop + 1)),
        check: Nanos::from_micros(1 + stream.below(300)),
    }
}

/// Asks for something at random: a burst of a virtual machine, or work of the hypervisor.
fn ask(host: &mut HostCpu, now: Nanos, books: &mut Books, stream: &mut Stream) -> HostEffects {
    let mut out = HostEffects::default();
    let number = books.asked;
    books.asked += 1;
    if stream.unit() < 0.5 {
        let cost = micros(stream, 60);
        books.system_work += cost.as_secs_f64();
        host.run_system(now, number, cost, &mut out);
    } else {
        let cost = micros(stream, 4000);
        books.work += cost.as_secs_f64();
        let burst = CpuBurst { token: Token(number), cost, burn: false, vm: 0 };
        let vm = usize::try_from(stream.below(3)).unwrap();
        host.run(now, vm, (vm, &burst), &mut out);
    }
    out
}

/// Runs random work to its end and says in which order, and when, it was answered.
fn run(seed: u64) -> (Vec<u32>, Nanos) {
    let mut stream = Stream::derive(seed, &[], Purpose::User);
    let parameters = parameters(&mut stream);
    let mut host = HostCpu::new(parameters).unwrap();
    for cpus in 1..4 {
        host.add_machine(cpus);
    }
    let gap = 1000 * (1 + stream.below(1000));
    let (mut books, mut alarms) = (Books::default(), Vec::new());
    let mut next = Nanos::ZERO;
    let mut now = Nanos::ZERO;
    loop {
        alarms.sort_unstable();
        let alarm = alarms.first().copied();
        let out = match alarm {
            Some(at) if books.asked == 400 || at < next => {
                assert!(at >= now, "an alarm in the past");
                now = at;
                alarms.remove(0);
                let mut out = HostEffects::default();
                host.wake(now, &mut out);
                out
            }
            _ if books.asked == 400 => break,
            _ => {
                now = next;
                next = now + Nanos(stream.below(gap));
                ask(&mut host, now, &mut books, &mut stream)
            }
        };
        alarms.extend(out.alarms);
        books.ran.extend(out.ran.iter().map(|(_, Token(number))| *number));
        books.ran.extend(out.system);
    }
    let order = books.ran.clone();
    check(&mut host, parameters, &mut books, now);
    (order, now)
}

fn check(host: &mut HostCpu, parameters: CpuParameters, books: &mut Books, end: Nanos) {
    books.ran.sort_unstable();
    assert_eq!(books.ran, (0..books.asked).collect::<Vec<_>>(), "each is answered once");
    let total = host.total(end);
    let scale = parameters.speed * parameters.threads;
    let system = books.system_work / scale;
    assert_within(1e-4, total.system.as_secs_f64(), system, "work of the hypervisor");
    assert_within(1e-4, total.used.as_secs_f64(), system + books.work / scale, "all work");
    let most = parameters.work_max() / parameters.threads * end.as_secs_f64();
    assert!(total.used.as_secs_f64() <= most * (1.0 + 1e-6), "{parameters:?}");
    let second = Nanos::from_secs(end.0 / Nanos::SECOND.0 + 1);
    let mut ready = Nanos::ZERO;
    for (vm, cpus) in (1..4_u64).enumerate() {
        for sample in host.seconds(vm, second) {
            let CpuSample { used, ready: own, co_stop, wait } = *sample;
            assert_eq!(
                used + own + co_stop + wait,
                Nanos(cpus * Nanos::SECOND.0),
                "no time is lost"
            );
            ready += own;
        }
    }
    assert_eq!(ready, host.total(second).ready);
}

#[test]
fn any_work_is_done_once_and_every_nanosecond_is_booked() {
    for seed in 0..300 {
        run(seed);
    }
}

#[test]
fn the_same_work_is_answered_in_the_same_order_again() {
    for seed in 0..50 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}
