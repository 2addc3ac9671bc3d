//! Who gets a host's cores when they are short.

use state_machine::{CpuBurst, Token};
use tilemark_hardware::{CpuParameters, HostCpu, HostEffects, RunOrder};
use units::Nanos;

use crate::support::assert_within;

/// A virtual machine that always has this much work more, a pause after the last was done.
#[derive(Clone, Copy)]
struct Guest {
    cpus: u32,
    threads: u32,
    burst: Nanos,
    pause: Nanos,
    /// Time at which the threads begin.
    from: Nanos,
}

/// Threads that never pause, as many as the virtual machine has virtual CPUs.
fn greedy(cpus: u32) -> Guest {
    let burst = Nanos::from_millis(200);
    Guest { cpus, threads: cpus, burst, pause: Nanos::ZERO, from: Nanos::ZERO }
}

/// A guest with one thread: a burst, then a pause.
fn light(burst: Nanos, pause: Nanos) -> Guest {
    Guest { cpus: 1, threads: 1, burst, pause, from: Nanos::from_millis(1007) }
}

/// CPU time and bursts that a guest had.
#[derive(Debug, Clone, Default, PartialEq)]
struct Served {
    /// CPU time it had in each second.
    used: Vec<f64>,
    bursts: u32,
    /// The longest a burst took beyond its own length.
    delay_max: Nanos,
}

impl Served {
    fn used(&self) -> f64 {
        self.used.iter().sum()
    }
}

enum Due {
    Alarm,
    Burst(usize),
}

/// Runs guests on one host for this many seconds.
fn serve(parameters: CpuParameters, guests: &[Guest], seconds: u64) -> Vec<Served> {
    let mut host = HostCpu::new(parameters).unwrap();
    let mut due = Vec::new();
    for (vm, guest) in guests.iter().enumerate() {
        assert_eq!(host.add_machine(guest.cpus), vm);
        due.extend((0..guest.threads).map(|_| (guest.from, Due::Burst(vm))));
    }
    let mut served = vec![Served::default(); guests.len()];
    let mut asked = Vec::new();
    let until = Nanos::from_secs(seconds);
    loop {
        let next = (0..due.len()).min_by_key(|at| due[*at].0).expect("somebody wants to go on");
        let (now, what) = due.remove(next);
        if now > until {
            break;
        }
        let mut out = HostEffects::default();
        match what {
            Due::Alarm => host.wake(now, &mut out),
            Due::Burst(vm) => {
                let token = Token(u32::try_from(asked.len()).unwrap());
                asked.push(now);
                let burst = CpuBurst { token, cost: guests[vm].burst, burn: false, vm: 0 };
                host.run(now, vm, (vm, &burst), &mut out);
            }
        }
        for (vm, token) in out.ran {
            let took = now - asked[token.0 as usize];
            let served = &mut served[vm];
            served.bursts += 1;
            served.delay_max = served.delay_max.max(took.saturating_sub(guests[vm].burst));
            due.push((now + guests[vm].pause, Due::Burst(vm)));
        }
        due.extend(out.alarms.into_iter().map(|at| (at, Due::Alarm)));
    }
    for (vm, served) in served.iter_mut().enumerate() {
        let seconds = host.seconds(vm, until);
        served.used = seconds.iter().map(|second| second.used.as_secs_f64()).collect();
    }
    served
}

const SLICE: Nanos = Nanos::from_millis(50);

fn turns(cores: u32) -> CpuParameters {
    CpuParameters { order: RunOrder::Turns, ..CpuParameters::cores(cores) }
}

#[test]
fn a_vm_that_uses_less_than_its_share_waits_a_slice_at_most() {
    let seldom = light(Nanos::from_millis(2), Nanos::from_millis(90));
    let guests = [greedy(4), greedy(4), greedy(4), seldom];
    let by_shares = &serve(CpuParameters::cores(2), &guests, 30)[3];
    assert!(by_shares.delay_max <= SLICE, "waited {}", by_shares.delay_max);
    let in_turn = &serve(turns(2), &guests, 30)[3];
    assert!(in_turn.delay_max > Nanos(4 * SLICE.0), "waited {}", in_turn.delay_max);
    assert!(by_shares.bursts > 2 * in_turn.bursts);
}

#[test]
fn greedy_machines_get_cores_by_their_numbers_of_virtual_cpus() {
    let served = serve(CpuParameters::cores(3), &[1, 2, 4, 5].map(greedy), 60);
    for (vm, cpus) in [1.0, 2.0, 4.0, 5.0].into_iter().enumerate() {
        assert_within(0.01, served[vm].used(), 60.0 * 3.0 * cpus / 12.0, "its share");
    }
}

#[test]
fn what_one_machine_leaves_goes_to_the_others_by_shares() {
    let third = light(Nanos::from_millis(10), Nanos::from_millis(20));
    let served = serve(CpuParameters::cores(4), &[greedy(8), greedy(4), third], 60);
    let left = 240.0 - served[2].used();
    // Its share is 4 / 13. It asks for 10 ms in 30 and waits for the end of a slice each time.
    assert!(served[2].used() > 59.0 * 10.0 / 80.0, "it waits a slice at most");
    assert_within(0.01, served[0].used(), left * 2.0 / 3.0, "eight of twelve");
    assert_within(0.01, served[1].used(), left / 3.0, "four of twelve");
}

/// Many virtual machines that together ask for more than there is, each for less than a share
/// at first sight: all go on.
#[test]
fn no_machine_starves() {
    let mut guests = vec![light(Nanos::from_millis(9), Nanos::from_millis(1)); 40];
    guests.push(greedy(1));
    guests.push(greedy(4));
    let served = serve(CpuParameters::cores(4), &guests, 60);
    let share = 4.0 / 45.0;
    for served in &served[..41] {
        let used: f64 = served.used[2..].iter().sum();
        assert_within(0.03, used, 58.0 * share, "one of 45 shares");
        assert!(served.used[2..].iter().all(|second| *second > 0.0), "in every second");
    }
    let used: f64 = served[41].used[2..].iter().sum();
    assert_within(0.03, used, 58.0 * 4.0 * share, "four of 45");
}

/// A virtual machine that slept does not get later what it did not use, and one that used the
/// cores while nobody wanted them does not pay for it later.
#[test]
fn the_past_counts_for_a_slice_at_most() {
    let from = Nanos::from_secs(10);
    let late = Guest { from, ..greedy(2) };
    let served = serve(CpuParameters::cores(2), &[greedy(2), late], 20);
    assert_eq!(served[0].used[..10], [2.0; 10], "alone");
    for (first, second) in served[0].used[10..].iter().zip(&served[1].used[10..]) {
        assert!((first - 1.0).abs() <= 0.1 + 1e-9, "a slice for each virtual CPU: {first}");
        assert!((first + second - 2.0).abs() < 1e-9, "cores are never idle");
    }
    let evenly: f64 = served[0].used[11..].iter().sum();
    assert_within(0.02, evenly, 9.0, "half of two cores");
}

#[test]
fn the_same_guests_are_served_the_same_way_again() {
    let guests = [greedy(3), light(Nanos::from_millis(3), Nanos::from_millis(5)), greedy(2)];
    let parameters = CpuParameters { threads: 1.3, ..CpuParameters::cores(2) };
    assert_eq!(serve(parameters, &guests, 10), serve(parameters, &guests, 10));
}

/// Without anybody waiting the order does not matter.
#[test]
fn on_an_idle_host_both_orders_are_the_same() {
    let guests = [light(Nanos::from_millis(3), Nanos::from_millis(5)); 4];
    assert_eq!(serve(CpuParameters::cores(4), &guests, 10), serve(turns(4), &guests, 10));
}
