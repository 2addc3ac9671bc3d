//! Run queues of threads: last thread first, moves between queues, and co-scheduling.

use proptest::prelude::*;
use state_machine::{CpuBurst, Purpose, Stream, Token};
use tilemark_hardware::{
    CpuParameters, CpuSample, HostCpu, HostEffects, RunOrder, ThreadQueueParameters,
};
use units::Nanos;

const fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

/// Thread queues that look at this many other threads, without co-scheduling.
fn looking_at(search: u32) -> ThreadQueueParameters {
    let (co_stop, co_start) = (Nanos::ZERO, Nanos::ZERO);
    ThreadQueueParameters { search, co_stop, co_start, ..ThreadQueueParameters::default() }
}

fn host(cores: u32, queues: ThreadQueueParameters, vcpus: &[u32]) -> HostCpu {
    let thread_queues = Some(queues);
    let parameters = CpuParameters { thread_queues, ..CpuParameters::cores(cores) };
    with_machines(parameters, vcpus)
}

fn with_machines(parameters: CpuParameters, vcpus: &[u32]) -> HostCpu {
    let mut host = HostCpu::new(parameters).unwrap();
    vcpus.iter().for_each(|cpus| {
        host.add_machine(*cpus);
    });
    host
}

/// A burst: time at which it comes, virtual machine, and work.
type Asked = (Nanos, usize, Nanos);

/// Runs bursts to their end. Returns the time at which each ended, in the order in which they were
/// asked for.
fn ends(host: &mut HostCpu, asked: &[Asked]) -> Vec<Nanos> {
    let mut ended = vec![Nanos::ZERO; asked.len()];
    let (mut next, mut alarms, mut out) = (0, Vec::new(), HostEffects::default());
    loop {
        alarms.sort_unstable();
        let now = match (asked.get(next), alarms.first().copied()) {
            (Some((at, vm, cost)), alarm) if alarm.is_none_or(|alarm| *at <= alarm) => {
                let token = Token(u32::try_from(next).unwrap());
                let burst = CpuBurst { token, cost: *cost, burn: false, vm: 0 };
                host.run(*at, *vm, (*vm, &burst), &mut out);
                next += 1;
                *at
            }
            (_, Some(alarm)) => {
                alarms.remove(0);
                host.wake(alarm, &mut out);
                alarm
            }
            (None, None) => return ended,
            (Some(_), None) => unreachable!("a burst without alarms comes next"),
        };
        out.ran.drain(..).for_each(|(_, token)| ended[token.0 as usize] = now);
        alarms.append(&mut out.alarms);
    }
}

fn first_second(host: &mut HostCpu, vm: usize) -> CpuSample {
    host.seconds(vm, Nanos::SECOND)[0]
}

#[test]
fn virtual_cpu_waits_for_its_last_thread_if_none_is_looked_at() {
    // Threads 1, 2, 1 are the first ones of the three virtual machines.
    let mut own = host(2, looking_at(0), &[1, 1, 1]);
    let asked = [(ms(0), 0, ms(10)), (ms(1), 2, ms(10))];
    assert_eq!(ends(&mut own, &asked), [ms(10), ms(20)], "the other thread is free all the time");
    assert_eq!(first_second(&mut own, 2).ready, ms(9));
}

#[test]
fn waking_virtual_cpu_goes_to_a_free_thread_that_is_looked_at() {
    let mut own = host(2, looking_at(1), &[1, 1, 1]);
    let asked = [(ms(0), 0, ms(10)), (ms(1), 2, ms(10))];
    assert_eq!(ends(&mut own, &asked), [ms(10), ms(11)]);
}

#[test]
fn thread_that_becomes_free_takes_a_virtual_cpu_that_waits() {
    let mut own = host(2, looking_at(1), &[1, 1, 1]);
    let asked = [(ms(0), 0, ms(15)), (ms(0), 1, ms(4)), (ms(1), 2, ms(10))];
    assert_eq!(ends(&mut own, &asked), [ms(15), ms(4), ms(14)]);
}

/// Seven of eight threads are busy for 5 ms when four virtual CPUs of the eighth thread wake. A
/// thread that becomes free looks at one other only, so most find nothing to take.
#[test]
fn longer_queues_are_balanced_at_the_interval() {
    let of_thread = |thread: usize| (0..32).filter(move |vm| (vm + 1) % 8 == thread);
    let others = (0..7).map(|thread| (ms(0), of_thread(thread).next().unwrap(), ms(5)));
    let asked: Vec<Asked> = others.chain(of_thread(7).map(|vm| (ms(1), vm, ms(100)))).collect();
    let last = |rebalance| {
        let queues = ThreadQueueParameters { rebalance, ..looking_at(1) };
        ends(&mut host(8, queues, &[1; 32]), &asked).into_iter().max().unwrap()
    };
    let (seldom, often) = (last(Nanos::SECOND), last(ms(20)));
    assert!(seldom >= ms(201), "two of them share a thread: {seldom}");
    assert!(often <= ms(181), "after some turns each has a thread: {often}");
}

#[test]
fn virtual_cpu_far_ahead_of_a_sibling_waits_for_it() {
    // Thread 1 is taken for 50 ms by another virtual machine, for which one of two siblings waits.
    let queues = ThreadQueueParameters { search: 0, ..ThreadQueueParameters::default() };
    let mut own = host(2, queues, &[2, 1, 1]);
    let asked = [(ms(0), 2, ms(49)), (ms(0), 0, ms(20)), (ms(0), 0, ms(20))];
    let loose = ends(&mut host(2, looking_at(0), &[2, 1, 1]), &asked);
    assert_eq!(loose, [ms(49), ms(20), ms(69)], "without co-scheduling one is done at once");
    let done = ends(&mut own, &asked);
    let sample = first_second(&mut own, 0);
    assert!(sample.co_stop >= ms(6), "{sample:?}");
    assert!(done[1] > ms(30) && done[2] < ms(49), "both go on by turns: {done:?}");
    assert_eq!(sample.used, ms(40));
    let Sum { all, span } = Sum::of(sample);
    assert_eq!(all, span, "each nanosecond of two virtual CPUs is counted once");
}

struct Sum {
    all: Nanos,
    span: Nanos,
}

impl Sum {
    fn of(CpuSample { used, ready, co_stop, wait }: CpuSample) -> Self {
        Self { all: used + ready + co_stop + wait, span: Nanos::from_secs(2) }
    }
}

#[test]
fn idle_siblings_stop_nobody() {
    let queues = ThreadQueueParameters::default();
    let mut own = host(2, queues, &[2, 1, 1]);
    let asked = [(ms(0), 0, ms(40)), (ms(0), 1, ms(40)), (ms(0), 2, ms(40))];
    ends(&mut own, &asked);
    assert_eq!(first_second(&mut own, 0).co_stop, Nanos::ZERO);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = |queues| {
        let thread_queues = Some(queues);
        HostCpu::new(CpuParameters { thread_queues, ..CpuParameters::cores(1) }).unwrap_err()
    };
    let never = ThreadQueueParameters { rebalance: Nanos::ZERO, ..looking_at(4) };
    assert_eq!(refused(never).to_string(), "thread queues: rebalance 0 s is not above 0 s");
    let inverse = ThreadQueueParameters { co_start: ms(3), co_stop: ms(2), ..looking_at(4) };
    assert_eq!(refused(inverse).to_string(), "thread queues: co-start 3 ms is not at most co-stop");
}

/// Random bursts for virtual machines of up to three virtual CPUs.
fn random(seed: u64, count: u64, gap: u64) -> Vec<Asked> {
    let mut stream = Stream::derive(seed, &[], Purpose::User);
    let mut now = Nanos::ZERO;
    let mut asked = |_| {
        now += Nanos::from_micros(stream.below(gap));
        (now, usize::try_from(stream.below(4)).unwrap(), Nanos::from_micros(1 + stream.below(9000)))
    };
    (0..count).map(&mut asked).collect()
}

/// A plain model of threads that serve any waiting work at once: time at which all work is done.
fn work_conserving_end(cores: usize, asked: &[Asked]) -> Nanos {
    let mut free = vec![Nanos::ZERO; cores];
    for (at, _, cost) in asked {
        let first = free.iter_mut().min().unwrap();
        *first = (*first).max(*at) + *cost;
    }
    free.into_iter().max().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// With one thread there is nothing to choose: both forms of queue are the same.
    #[test]
    fn one_thread_is_the_same_in_both_forms(seed: u64, gap in 500_u64..12_000) {
        let asked = random(seed, 120, gap);
        let one = CpuParameters { order: RunOrder::Shares, ..CpuParameters::cores(1) };
        let each = CpuParameters { thread_queues: Some(looking_at(4)), ..one };
        let vcpus = [1, 1, 2, 3];
        let [one, each] = [one, each].map(|own| ends(&mut with_machines(own, &vcpus), &asked));
        prop_assert_eq!(one, each);
    }

    /// Single virtual CPUs that find every free thread wait only while all threads are busy, so
    /// the work of slices longer than bursts ends when a plain model says.
    #[test]
    fn queues_that_find_every_free_thread_conserve_work(seed: u64, gap in 200_u64..4_000) {
        let asked = random(seed, 120, gap);
        let mut own = host(3, looking_at(2), &[64; 4]);
        let last = ends(&mut own, &asked).into_iter().max().unwrap();
        let cost: u64 = asked.iter().map(|(_, _, cost)| cost.0).sum();
        prop_assert_eq!(own.total(last).used, Nanos(cost));
        // Orders differ, so the last burst may differ, by one burst at most.
        let plain = work_conserving_end(3, &asked);
        prop_assert!(last.0.abs_diff(plain.0) <= 9_000_000, "{last} against {plain}");
    }
}
