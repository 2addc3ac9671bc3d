//! Watts and frequencies of a host, against arithmetic by hand and a plain sum beside it.

use state_machine::{CpuBurst, Purpose, Stream, Token};
use tilemark_hardware::{
    Clocking, CpuParameters, Governor, HostCpu, HostEffects, HostPower, HostSample, joules,
};
use units::{Nanos, Ratio};

use crate::support::assert_within;

const POWER: HostPower = HostPower {
    idle: 100.0,
    core: 10.0,
    exponent: 3.0,
    awake: 0.0,
    sleep_after: None,
    together: false,
    wake: Nanos::ZERO,
};

fn host(cpu: CpuParameters, clocking: Clocking, power: &HostPower) -> HostCpu {
    let host = HostCpu::new(cpu).unwrap();
    let mut host = host.with_clocking(clocking).unwrap().with_power(power).unwrap();
    for _ in 0..8 {
        host.add_machine(1);
    }
    host
}

/// Runs bursts of virtual machines, given by their start, and says when each had run.
fn run(host: &mut HostCpu, bursts: &[(Nanos, usize, Nanos)]) -> Vec<(usize, Nanos)> {
    let (mut alarms, mut ran, mut next): (Vec<Nanos>, _, _) = (Vec::new(), Vec::new(), 0);
    loop {
        alarms.sort_unstable();
        let mut out = HostEffects::default();
        let now = match (alarms.first().copied(), bursts.get(next)) {
            (Some(at), None) => at,
            (Some(at), Some((start, ..))) if at <= *start => at,
            (_, Some((start, vm, cost))) => {
                let token = Token(u32::try_from(next).unwrap());
                let burst = CpuBurst { token, cost: *cost, burn: false, vm: 0 };
                host.run(*start, *vm, (next, &burst), &mut out);
                next += 1;
                alarms.extend(out.alarms);
                continue;
            }
            (None, None) => return ran,
        };
        alarms.remove(0);
        host.wake(now, &mut out);
        alarms.extend(out.alarms);
        ran.extend(out.ran.iter().map(|(owner, _)| (*owner, now)));
    }
}

fn spent(host: &mut HostCpu, now: Nanos) -> f64 {
    joules(host.energy(now).expect("its power is known"))
}

const fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

#[test]
fn a_host_at_rest_takes_its_idle_watts() {
    let mut host = host(CpuParameters::cores(4), Clocking::default(), &POWER);
    assert_within(1e-12, spent(&mut host, Nanos::from_secs(10)), 1000.0, "100 W for 10 s");
}

#[test]
fn each_busy_core_adds_its_watts_while_it_works() {
    let mut host = host(CpuParameters::cores(4), Clocking::default(), &POWER);
    run(&mut host, &[(Nanos::ZERO, 0, ms(500)), (Nanos::ZERO, 1, ms(1500))]);
    // 2 cores for half a second, one for another: 100 x 2 + 10 x 0.5 + 10 x 1.5.
    assert_within(1e-12, spent(&mut host, Nanos::from_secs(2)), 220.0, "two bursts");
}

#[test]
fn a_second_thread_costs_what_it_adds() {
    let cpu = CpuParameters { threads: 1.25, ..CpuParameters::cores(1) };
    let mut host = host(cpu, Clocking::default(), &POWER);
    let ran = run(&mut host, &[(Nanos::ZERO, 0, ms(625)), (Nanos::ZERO, 1, ms(625))]);
    assert_eq!(ran[1].1, Nanos::from_secs(1), "both do 1.25 of one");
    assert_within(1e-9, spent(&mut host, Nanos::from_secs(1)), 112.5, "100 + 10 x 1.25");
}

#[test]
fn a_lower_state_takes_longer_and_less_by_the_cube() {
    let half = Clocking {
        nominal: 2.0,
        states: vec![1.0, 1.5],
        turbo: vec![3.0, 2.5],
        limit: Ratio::new(0.6),
        ..Clocking::default()
    };
    let mut host = host(CpuParameters::cores(2), half, &POWER);
    let ran = run(&mut host, &[(Nanos::ZERO, 0, ms(1000))]);
    assert_eq!(ran[0].1, Nanos::from_secs(2), "1.2 GHz is no state, so it is 1 GHz of 2");
    assert_within(1e-12, spent(&mut host, Nanos::from_secs(2)), 202.5, "2 s of 100 + 10 / 8");
}

#[test]
fn turbo_is_by_the_number_of_cores_at_work() {
    let turbo = Clocking { nominal: 2.0, turbo: vec![4.0, 3.0], ..Clocking::default() };
    let mut host = host(CpuParameters::cores(2), turbo, &POWER);
    let ran = run(&mut host, &[(Nanos::ZERO, 0, ms(300)), (Nanos::ZERO, 1, ms(700))]);
    // Both at 1.5 for 200 ms, then the second, with 400 ms left, at 2 for 200 ms.
    for ((_, at), wanted) in ran.iter().zip([ms(200), ms(400)]) {
        assert!(*at >= wanted && at.0 < wanted.0 + 10, "{ran:?}: a nanosecond a slice at most");
    }
    let (both, one) = (20.0 * 1.5_f64.powi(3), 10.0 * 2.0_f64.powi(3));
    let sum = 0.2 * (100.0 + both) + 0.2 * (100.0 + one);
    assert_within(1e-7, spent(&mut host, ms(400)), sum, "two at 3 GHz, one at 4");
    let HostSample { used, cycles, .. } = host.total(ms(400));
    assert_within(1e-7, used.as_secs_f64(), 0.6, "cores were at work for 200 and 400 ms");
    assert_within(1e-7, cycles.as_secs_f64(), 1.0, "and did what takes a second at 2 GHz");
}

#[test]
fn what_waits_for_memory_does_not_get_faster_with_the_cores() {
    let bound = Ratio::new(0.5);
    for (ghz, memory, took) in [(1.0, 1.0, 1500), (2.0, 1.0, 1000), (2.0, 0.5, 1500)] {
        let clocking = Clocking {
            nominal: 2.0,
            states: vec![1.0],
            limit: Ratio::new(ghz / 2.0),
            memory_speed: memory,
            memory_bound: bound,
            ..Clocking::default()
        };
        let mut host = host(CpuParameters::cores(1), clocking, &POWER);
        let ran = run(&mut host, &[(Nanos::ZERO, 0, ms(1000))]);
        let about = ms(took)..ms(took) + Nanos(50);
        assert!(about.contains(&ran[0].1), "{ghz} {memory} {ran:?}");
    }
}

#[test]
fn cores_sleep_after_a_while_and_the_longest_idle_sleep_on() {
    let power = HostPower { awake: 4.0, sleep_after: Some(ms(100)), ..POWER };
    let mut host = host(CpuParameters::cores(2), Clocking::default(), &power);
    // Both are awake for 100 ms at first; then one works at 1 s and at 1.15 s for 100 ms each.
    run(&mut host, &[(ms(1000), 0, ms(100)), (ms(1150), 0, ms(100))]);
    // Idle: 2 x 0.1 s, the worker 0.05 s between and 0.1 s after; the other slept on.
    let awake = 4.0 * (0.2 + 0.05 + 0.1);
    assert_within(1e-9, spent(&mut host, Nanos::from_secs(2)), 200.0 + 2.0 + awake, "sleep");
    let never = HostPower { sleep_after: None, ..power };
    let mut host = self::host(CpuParameters::cores(2), Clocking::default(), &never);
    assert_within(1e-12, spent(&mut host, Nanos::from_secs(1)), 108.0, "two cores, awake");
    assert_within(1e-12, never.at_rest(2), 108.0, "and so it says");
}

#[test]
fn a_sleeping_core_takes_time_to_wake_and_an_idle_one_none() {
    let power = HostPower { awake: 4.0, sleep_after: Some(ms(10)), wake: ms(1), ..POWER };
    let mut host = host(CpuParameters::cores(2), Clocking::default(), &power);
    // The first core sleeps; 5 ms after its burst it is only idle; the other one sleeps on until both are
    // wanted at once.
    let ran = run(
        &mut host,
        &[(ms(20), 0, ms(10)), (ms(36), 0, ms(10)), (ms(50), 0, ms(10)), (ms(50), 1, ms(10))],
    );
    assert_eq!(ran, [(0, ms(31)), (1, ms(46)), (2, ms(60)), (3, ms(61))]);
}

#[test]
fn cores_that_share_a_voltage_sleep_only_all_together() {
    let together = true;
    let power = HostPower { awake: 4.0, sleep_after: Some(ms(10)), together, wake: ms(1), ..POWER };
    let mut host = host(CpuParameters::cores(2), Clocking::default(), &power);
    // From 50 to 71 ms one works, from 60 to 65 ms both; a third begins 5 ms after, when none sleeps.
    let ran = run(&mut host, &[(ms(50), 0, ms(20)), (ms(60), 1, ms(5)), (ms(76), 0, ms(4))]);
    assert_eq!(ran, [(1, ms(65)), (0, ms(71)), (2, ms(80))], "only the first had to wake");
    let cores = 10.0 * (0.021 + 0.005 + 0.004);
    // Two for 10 ms at first, one for 16 of 21 ms, two for 5 ms, one for 4 ms, two for 10 ms.
    let awake = 4.0 * (0.02 + 0.016 + 0.01 + 0.004 + 0.02);
    assert_within(1e-9, spent(&mut host, ms(200)), 20.0 + cores + awake, "together");
}

#[test]
fn a_governor_follows_with_its_lag() {
    let governed = Clocking {
        nominal: 2.0,
        states: vec![1.0],
        governor: Some(governor(Nanos::SECOND, 0.8)),
        ..Clocking::default()
    };
    let mut host = host(CpuParameters::cores(1), governed, &POWER);
    assert_within(1e-12, host.ghz(ms(999)), 2.0, "it begins at the top");
    assert_within(1e-12, host.ghz(Nanos::from_secs(7)), 1.0, "an idle host goes down");
    // 1.5 s of work from 7.5 s on: half a second at 1 GHz does 0.25. At 8 s it was at work for half of
    // the last second, which 1 GHz takes with ease; at 9 s for all of it, so it goes up.
    let ran = run(&mut host, &[(ms(7500), 0, ms(1500))]);
    assert_eq!(ran[0].1, ms(9750), "0.25 + 0.5 + 0.75");
}

fn governor(every: Nanos, target: f64) -> Governor {
    Governor { every, target: Ratio::new(target) }
}

#[test]
fn cores_that_never_sleep_save_by_their_state() {
    let governed = Clocking {
        nominal: 2.0,
        states: vec![1.0, 1.5],
        governor: Some(governor(ms(10), 0.5)),
        ..Clocking::default()
    };
    let power = HostPower { awake: 4.0, exponent: 2.0, ..POWER };
    let mut host = host(CpuParameters::cores(1), governed, &power);
    // 10 ms at the top with nothing to do, then at 1 GHz until a look finds 5 ms of 10 with work: these ask
    // for 1 GHz of 1 GHz's 50 %, so it stays. A burst of 10 ms at 1 GHz fills the ten after it: to 2 GHz.
    run(&mut host, &[(ms(20), 0, Nanos::from_micros(2500)), (ms(30), 0, ms(5))]);
    // Awake at the top with 4 W until 10 ms and again from 40 to 50 ms.
    let awake = 0.02 * 4.0;
    // 5 and 10 ms of work at 1 GHz of 2, by the square a quarter of 10 W.
    let work = 0.015 * 10.0 / 4.0;
    assert_within(1e-7, spent(&mut host, ms(60)), 0.06 * 100.0 + awake + work, "by states");
    let same = [1.0, 1.5].map(|ghz| {
        let held = Clocking {
            nominal: 2.0,
            states: vec![1.0, 1.5],
            limit: Ratio::new(ghz / 2.0),
            ..Clocking::default()
        };
        let mut host = self::host(CpuParameters::cores(2), held, &power);
        spent(&mut host, Nanos::from_secs(1)) - 100.0
    });
    assert!(same[0].abs() < 1e-9, "nothing at the lowest state: {}", same[0]);
    // (1.5^2 - 1) / (2^2 - 1) of 2 x 4 W.
    assert_within(1e-6, same[1], 8.0 * 1.25 / 3.0, "between, as a core at work");
}

#[test]
fn energy_sums_over_all_changes_however_often_it_is_asked_for() {
    for seed in 0..40 {
        let mut stream = Stream::derive(seed, &[], Purpose::User);
        let mut bursts = Vec::new();
        let mut at = Nanos::ZERO;
        for _ in 0..200 {
            at += Nanos::from_micros(stream.below(3000));
            let cost = Nanos::from_micros(1 + stream.below(8000));
            bursts.push((at, usize::try_from(stream.below(8)).unwrap(), cost));
        }
        let clocking = || Clocking {
            nominal: 2.0,
            states: vec![1.0, 1.4],
            turbo: vec![2.6, 2.4],
            governor: Some(governor(ms(20), 0.7)),
            ..Clocking::default()
        };
        let cpu = CpuParameters { threads: 1.3, ..CpuParameters::cores(3) };
        let power = HostPower { awake: 3.0, sleep_after: Some(ms(2)), ..POWER };
        let (mut once, mut often) = (host(cpu, clocking(), &power), host(cpu, clocking(), &power));
        let ran = run(&mut once, &bursts);
        // The same work in parts, with a question between any two.
        let mut told = Vec::new();
        let mut asked = 0.0;
        let mut alarms: Vec<Nanos> = Vec::new();
        let mut next = 0;
        loop {
            alarms.sort_unstable();
            let mut out = HostEffects::default();
            let alarm = alarms.first().copied();
            let now = match (alarm, bursts.get(next)) {
                (None, None) => break,
                (Some(at), start) if start.is_none_or(|(start, ..)| at <= *start) => {
                    alarms.remove(0);
                    let before = spent(&mut often, at);
                    assert!(before >= asked, "energy only grows");
                    asked = before;
                    often.wake(at, &mut out);
                    at
                }
                (_, Some((start, vm, cost))) => {
                    asked = spent(&mut often, *start);
                    let token = Token(u32::try_from(next).unwrap());
                    let burst = CpuBurst { token, cost: *cost, burn: false, vm: 0 };
                    often.run(*start, *vm, (next, &burst), &mut out);
                    next += 1;
                    *start
                }
                (Some(_), None) => unreachable!("an alarm comes before nothing"),
            };
            alarms.extend(out.alarms);
            told.extend(out.ran.iter().map(|(owner, _)| (*owner, now)));
        }
        assert_eq!(told, ran, "asking changes nothing, seed {seed}");
        let end = ran.last().unwrap().1 + Nanos::SECOND;
        assert_eq!(once.energy(end), often.energy(end), "to the femtojoule, seed {seed}");
        let (least, most) = (100.0, 100.0 + 3.0 * 10.0 * 1.3 * 1.3_f64.powi(3) + 9.0);
        let mean = spent(&mut once, end) / end.as_secs_f64();
        assert!((least..most).contains(&mean), "{mean} W, seed {seed}");
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let cpu = || HostCpu::new(CpuParameters::cores(1)).unwrap();
    let rising = Clocking { turbo: vec![1.0, 2.0], ..Clocking::default() };
    assert_eq!(cpu().with_clocking(rising).unwrap_err().parameter, "turbo");
    let above = Clocking { states: vec![1.0], ..Clocking::default() };
    assert_eq!(cpu().with_clocking(above).unwrap_err().parameter, "states");
    let steep = HostPower { exponent: 9.0, ..POWER };
    assert_eq!(cpu().with_power(&steep).unwrap_err().parameter, "exponent");
    let negative = HostPower { idle: -1.0, ..POWER };
    assert_eq!(cpu().with_power(&negative).unwrap_err().parameter, "idle");
}
