//! Host CPU: usage, ready and wait.

use machine::{CpuBurst, Effects, Event, Machine, Token};
use sim::{Hosted, Options, SimInstance, run_model};
use tilemark_device::{Array, CpuParameters, CpuSample, HostCpu, Site, sums_of_20};
use units::{Nanos, Ratio};

use crate::support::{assert_within, shape};

/// Threads that compute, then pause.
struct Threads {
    threads: u32,
    cost: Nanos,
    pause: Nanos,
    done: u64,
}

impl Machine for Threads {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        let burst = |token| CpuBurst { token, cost: self.cost, burn: true, vm: 0 };
        match event {
            Event::Start => (0..self.threads).for_each(|user| fx.run_cpu(burst(Token(user)))),
            Event::Timer(token) => fx.run_cpu(burst(token)),
            Event::Ran(token) => {
                self.done += 1;
                fx.wake_at(now + self.pause, token);
            }
            Event::Done(..) => {}
        }
    }
}

struct Ran {
    bursts: Vec<u64>,
    seconds: Vec<Vec<CpuSample>>,
}

fn host(parameters: CpuParameters, cpus: u32, machines: Vec<Threads>, seconds: u64) -> Ran {
    let mut host = HostCpu::new(parameters).unwrap();
    let places = machines.iter().map(|_| (0, host.add_machine(cpus))).collect::<Vec<_>>();
    let mut instances: Vec<_> = machines
        .into_iter()
        .enumerate()
        .map(|(number, machine)| SimInstance { machine, shape: shape(number) })
        .collect();
    let mut hosted = Hosted::new(Site::new(Array::new(), vec![host], places));
    let until = Nanos::from_secs(seconds);
    let options = Options { until, slice: until, events_per_instant_max: 100_000 };
    run_model(&mut instances, &mut hosted, &options, &mut |_| {}).expect("time passes");
    let host = &mut hosted.site().hosts[0];
    Ran {
        bursts: instances.iter().map(|instance| instance.machine.done).collect(),
        seconds: (0..instances.len()).map(|vm| host.seconds(vm, until).to_vec()).collect(),
    }
}

fn busy(threads: u32) -> Threads {
    let (cost, pause) = (Nanos::from_millis(200), Nanos::ZERO);
    Threads { threads, cost, pause, done: 0 }
}

#[test]
fn an_idle_host_runs_a_burst_in_its_cost_and_books_the_rest_as_waiting() {
    let (cost, pause) = (Nanos::from_millis(10), Nanos::from_millis(30));
    let threads = Threads { threads: 1, cost, pause, done: 0 };
    let ran = host(CpuParameters::cores(2), 1, vec![threads], 4);
    let expected = CpuSample {
        used: Nanos::from_millis(250),
        ready: Nanos::ZERO,
        wait: Nanos::from_millis(750),
    };
    assert_eq!(ran.seconds[0], [expected; 4]);
    assert_eq!(ran.bursts, [100]);
}

#[test]
fn busy_machines_share_the_cores_and_the_rest_is_ready_time() {
    let ran = host(CpuParameters::cores(1), 1, vec![busy(1), busy(1), busy(1), busy(1)], 20);
    for seconds in &ran.seconds {
        let sum = &sums_of_20(seconds)[0];
        assert_within(0.02, sum.used.as_secs_f64(), 5.0, "a quarter of a core for 20 s");
        assert_within(0.02, sum.ready.as_secs_f64(), 15.0, "ready for the other three quarters");
        assert_eq!(sum.wait, Nanos::ZERO);
    }
}

#[test]
fn every_second_of_every_virtual_cpu_is_accounted_for() {
    let mut machines: Vec<Threads> = (0..5_u32).map(|_| busy(3)).collect();
    machines[1].pause = Nanos::from_millis(333);
    let ran = host(CpuParameters::cores(4), 2, machines, 10);
    for sample in ran.seconds.iter().flatten() {
        assert_eq!(sample.used + sample.ready + sample.wait, Nanos::from_secs(2));
    }
    let used: Nanos = ran.seconds.iter().flatten().map(|s| s.used).fold(Nanos::ZERO, |a, b| a + b);
    assert_eq!(used, Nanos::from_secs(40), "four cores never idle for 10 s");
}

#[test]
fn a_machine_uses_no_more_cores_than_it_has_virtual_cpus() {
    let ran = host(CpuParameters::cores(8), 2, vec![busy(6)], 5);
    assert_eq!(ran.seconds[0][1].used, Nanos::from_secs(2));
    assert_eq!(ran.seconds[0][1].ready, Nanos::ZERO, "guests queue inside themselves");
}

#[test]
fn a_host_at_84_per_cent_speed_does_84_per_cent_of_the_work() {
    let parameters = CpuParameters { speed: Ratio::new(0.84), ..CpuParameters::cores(1) };
    let done = |parameters| host(parameters, 1, vec![busy(1)], 100).bursts[0] as f64;
    assert_within(0.01, done(parameters) / done(CpuParameters::cores(1)), 0.84, "work done");
}

/// A peak of 2 s in 20 is 10 % in the sum: what sampling at 20 s hides.
#[test]
fn sums_of_20_seconds_hide_a_peak_that_seconds_show() {
    let (cost, pause) = (Nanos::from_secs(2), Nanos::from_secs(18));
    let threads = Threads { threads: 1, cost, pause, done: 0 };
    let ran = host(CpuParameters::cores(1), 1, vec![threads], 45);
    let most = ran.seconds[0].iter().map(|sample| sample.used).max().unwrap();
    assert_eq!(most, Nanos::SECOND);
    let sums = sums_of_20(&ran.seconds[0]);
    assert_eq!(sums.len(), 2, "an incomplete sum is left out");
    assert!(sums.iter().all(|sum| sum.used == Nanos::from_secs(2)));
}

#[test]
fn a_host_without_cores_or_speed_is_refused() {
    assert!(HostCpu::new(CpuParameters::cores(0)).is_err());
    let stopped = CpuParameters { speed: Ratio::ZERO, ..CpuParameters::cores(1) };
    let error = HostCpu::new(stopped).unwrap_err();
    assert_eq!(error.to_string(), "host CPU: speed 0 % is not above 0 %");
}
