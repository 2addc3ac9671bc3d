//! Host CPU: usage, ready and wait.

use sim::{Options, SimInstance, run_model};
use state_machine::{CpuBurst, Effects, Event, Machine, Purpose, Stream, Token};
use tilemark_hardware::{
    Array, CpuParameters, CpuSample, HostCpu, HostSample, InstancePlace, Site, sums_of_20,
};
use units::{Nanos, Ratio};

use crate::closed_forms::OpenLoad;
use crate::support::{assert_mean_is, assert_within, shape};

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
    total: HostSample,
}

fn host(parameters: CpuParameters, cpus: u32, machines: Vec<Threads>, seconds: u64) -> Ran {
    let mut host = HostCpu::new(parameters).unwrap();
    let places = machines.iter().map(|_| place(&[(0, host.add_machine(cpus))])).collect();
    let mut instances: Vec<_> = machines
        .into_iter()
        .enumerate()
        .map(|(number, machine)| SimInstance { machine, shape: shape(number) })
        .collect();
    let mut site = Site::new(Array::new(), vec![host], places);
    let until = Nanos::from_secs(seconds);
    let options = Options { until, slice: until, events_per_instant_max: 100_000 };
    run_model(&mut instances, &mut site, &options, &mut |_| {}).expect("time passes");
    let host = &mut site.hosts[0];
    Ran {
        bursts: instances.iter().map(|instance| instance.machine.done).collect(),
        seconds: (0..instances.len()).map(|vm| host.seconds(vm, until).to_vec()).collect(),
        total: host.total(until),
    }
}

fn place(vms: &[(usize, usize)]) -> InstancePlace {
    InstancePlace { vms: vms.to_vec(), disk_vms: Vec::new() }
}

fn busy(threads: u32) -> Threads {
    let (cost, pause) = (Nanos::from_millis(200), Nanos::ZERO);
    Threads { threads, cost, pause, done: 0 }
}

#[test]
fn an_idle_host_runs_a_burst_in_its_cost_and_the_rest_is_wait() {
    let (cost, pause) = (Nanos::from_millis(10), Nanos::from_millis(30));
    let threads = Threads { threads: 1, cost, pause, done: 0 };
    let ran = host(CpuParameters::cores(2), 1, vec![threads], 4);
    let expected = CpuSample {
        used: Nanos::from_millis(250),
        ready: Nanos::ZERO,
        co_stop: Nanos::ZERO,
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

/// Threads enough to fill any host here, for 100 s.
fn saturated(parameters: CpuParameters) -> Ran {
    host(parameters, 2, (0..8).map(|_| busy(2)).collect(), 100)
}

#[test]
fn a_full_host_does_cores_by_threads_by_capacity_by_speed() {
    for (cores, threads, capacity, speed) in
        [(4, 1.0, 1.0, 1.0), (4, 1.25, 1.0, 1.0), (4, 1.0, 0.84, 1.0), (3, 1.3, 0.84, 1.7)]
    {
        let capacity = Ratio::new(capacity);
        let parameters = CpuParameters { threads, capacity, speed, ..CpuParameters::cores(cores) };
        let ran = saturated(parameters);
        let work = ran.bursts.iter().sum::<u64>() as f64 * 0.2 / 100.0;
        assert_within(0.02, work, parameters.work_max() * speed, &format!("{parameters:?}"));
        let used = ran.total.used.as_secs_f64() / (100.0 * f64::from(cores));
        assert_within(0.001, used, capacity.get(), "used, as a share of the host");
        let ready: Nanos =
            ran.seconds.iter().flatten().map(|second| second.ready).fold(Nanos::ZERO, |a, b| a + b);
        assert_eq!(ran.total.ready, ready, "ready of the host is that of its machines");
    }
}

#[test]
fn threads_slow_each_other_only_when_they_share_cores() {
    let parameters = CpuParameters { threads: 1.3, ..CpuParameters::cores(4) };
    let pace = |count| {
        let ran = host(parameters, 1, (0..count).map(|_| busy(1)).collect(), 100);
        ran.bursts[0] as f64 * 0.2 / 100.0
    };
    assert_within(0.01, pace(4), 1.0, "a core each");
    assert_within(0.02, pace(6), 4.6 / 6.0, "two of four cores shared");
    assert_within(0.02, pace(8), 0.65, "all shared");
}

#[test]
fn a_host_below_its_capacity_is_not_slowed_by_it() {
    let parameters = CpuParameters { capacity: Ratio::new(0.84), ..CpuParameters::cores(8) };
    let ran = host(parameters, 1, (0..6).map(|_| busy(1)).collect(), 10);
    assert_eq!(ran.bursts, [49; 6], "the fiftieth ends with the run");
    assert_eq!(ran.total.ready, Nanos::ZERO);
    assert_eq!(ran.total.used, Nanos::from_secs(60));
}

/// Bursts of random length that come at random times.
struct Arriving {
    gap: Nanos,
    cost: Nanos,
    stream: Stream,
    started: Vec<Nanos>,
    waited: f64,
    done: u32,
}

impl Machine for Arriving {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        if let Event::Ran(token) = event {
            self.waited += (now - self.started[token.0 as usize]).as_secs_f64();
            self.done += 1;
            return;
        }
        let cost = self.stream.exponential(self.cost);
        let token = Token(u32::try_from(self.started.len()).unwrap());
        self.started.push(now);
        fx.run_cpu(CpuBurst { token, cost, burn: false, vm: 0 });
        fx.wake_at(now + self.stream.exponential(self.gap), Token(0));
    }
}

/// A run queue with slices longer than any burst is first come first served: M/M/c.
#[test]
fn random_bursts_wait_for_cores_as_m_m_c() {
    let exact = OpenLoad { arrivals: 3400.0, service: 1e-3 }.m_m_c(4);
    assert_mean_is(exact, "M/M/4", |seed| {
        let parameters = CpuParameters { slice: Nanos::SECOND, ..CpuParameters::cores(4) };
        let mut host = HostCpu::new(parameters).unwrap();
        let places = vec![place(&[(0, host.add_machine(1 << 20))])];
        let machine = Arriving {
            gap: Nanos::from_secs_f64(1.0 / 3400.0),
            cost: Nanos::from_millis(1),
            stream: Stream::derive(seed, &[], Purpose::User),
            started: Vec::new(),
            waited: 0.0,
            done: 0,
        };
        let mut instances = [SimInstance { machine, shape: shape(0) }];
        let mut site = Site::new(Array::new(), vec![host], places);
        let until = Nanos::from_secs(40);
        let options = Options { until, slice: until, events_per_instant_max: 100_000 };
        run_model(&mut instances, &mut site, &options, &mut |_| {}).expect("time passes");
        instances[0].machine.waited / f64::from(instances[0].machine.done)
    });
}

/// Asks for CPU on two of its virtual machines.
struct TwoMachines([u64; 2]);

impl Machine for TwoMachines {
    fn handle(&mut self, _now: Nanos, event: Event, fx: &mut Effects) {
        let cost = Nanos::from_millis(10);
        let mut run = |vm| {
            fx.run_cpu(CpuBurst { token: Token(u32::from(vm)), cost, burn: false, vm });
        };
        match event {
            Event::Start => [0, 0, 1].into_iter().for_each(run),
            Event::Ran(Token(vm)) => {
                self.0[vm as usize] += 1;
                run(u16::try_from(vm).unwrap());
            }
            Event::Timer(_) | Event::Done(..) => {}
        }
    }
}

#[test]
fn each_vm_of_an_instance_has_its_own_virtual_cpus_and_host() {
    let mut hosts = [4, 1].map(|cores| HostCpu::new(CpuParameters::cores(cores)).unwrap());
    let vms = [(0, hosts[0].add_machine(1)), (1, hosts[1].add_machine(1))];
    let mut instances = [SimInstance { machine: TwoMachines([0; 2]), shape: shape(0) }];
    let mut site = Site::new(Array::new(), hosts.into(), vec![place(&vms)]);
    let until = Nanos::from_millis(1001);
    let options = Options { until, slice: until, events_per_instant_max: 1000 };
    run_model(&mut instances, &mut site, &options, &mut |_| {}).expect("time passes");
    assert_eq!(instances[0].machine.0, [100, 100], "two threads share one virtual CPU");
}

/// A peak of 2 s in 20 s is 10 % in the 20-second sum, so that sum hides the peak.
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
    let stopped = CpuParameters { speed: 0.0, ..CpuParameters::cores(1) };
    let error = HostCpu::new(stopped).unwrap_err();
    assert_eq!(error.to_string(), "host CPU: speed 0 is not above 0 and finite");
    let three = CpuParameters { threads: 2.5, ..CpuParameters::cores(1) };
    assert!(HostCpu::new(three).is_err());
    let nothing = CpuParameters { capacity: Ratio::ZERO, ..CpuParameters::cores(1) };
    assert!(HostCpu::new(nothing).is_err());
}
