//! Virtual machines that stop on one host and go on there or on another.

use state_machine::{CpuBurst, Token};
use tilemark_hardware::{CpuParameters, HostCpu, HostEffects};
use units::Nanos;

const fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

fn host(cores: u32) -> HostCpu {
    HostCpu::new(CpuParameters::cores(cores)).expect("a valid host")
}

fn burst(token: u32, cost: Nanos) -> CpuBurst {
    CpuBurst { token: Token(token), cost, burn: false, vm: 0 }
}

/// Wakes a host until nothing is left. Returns the bursts that ended, with their times.
fn ended(host: &mut HostCpu, mut fx: HostEffects) -> Vec<(Nanos, u32)> {
    let mut done = Vec::new();
    let mut alarms = std::mem::take(&mut fx.alarms);
    while !alarms.is_empty() {
        alarms.sort_unstable();
        let now = alarms.remove(0);
        host.wake(now, &mut fx);
        done.extend(fx.ran.drain(..).map(|(_, token)| (now, token.0)));
        alarms.append(&mut fx.alarms);
    }
    done
}

/// One virtual CPU with a burst of 10 ms at work since time 0, and one of 5 ms that waits.
fn at_work(host: &mut HostCpu) -> (usize, HostEffects) {
    let vm = host.add_machine(1);
    let mut fx = HostEffects::default();
    for (token, cost) in [(0, ms(10)), (1, ms(5))] {
        host.run(Nanos::ZERO, vm, (0, &burst(token, cost)), &mut fx);
    }
    (vm, fx)
}

#[test]
fn moved_bursts_do_the_rest_of_their_work_on_the_other_host() {
    let (mut from, mut to) = (host(1), host(1));
    let (vm, mut fx) = at_work(&mut from);
    let suspended = from.suspend(ms(4), vm, &mut fx);
    assert_eq!(ended(&mut from, fx), [], "nothing is left there");
    let cpus = from.retire(ms(4), vm);
    let there = to.add_machine_at(ms(100), cpus);
    let mut fx = HostEffects::default();
    to.resume(ms(100), there, suspended, &mut fx);
    assert_eq!(ended(&mut to, fx), [(ms(106), 0), (ms(111), 1)]);
    let used = |host: &mut HostCpu, vm| host.seconds(vm, Nanos::SECOND)[0].used;
    assert_eq!((used(&mut from, vm), used(&mut to, there)), (ms(4), ms(11)));
    assert_eq!(to.seconds(there, Nanos::SECOND)[0].wait, ms(889), "counted since it came");
}

#[test]
fn bursts_after_a_power_cut_run_again_whole() {
    let mut own = host(1);
    let (vm, mut fx) = at_work(&mut own);
    let suspended = own.suspend(ms(4), vm, &mut fx).from_the_start();
    assert_eq!(ended(&mut own, fx), []);
    let mut fx = HostEffects::default();
    own.resume(ms(100), vm, suspended, &mut fx);
    assert_eq!(ended(&mut own, fx), [(ms(110), 0), (ms(115), 1)]);
}

#[test]
fn suspended_vm_leaves_the_core_to_others() {
    let mut own = host(1);
    let (vm, mut fx) = at_work(&mut own);
    let other = own.add_machine(1);
    own.run(Nanos::ZERO, other, (0, &burst(7, ms(3))), &mut fx);
    let suspended = own.suspend(ms(4), vm, &mut fx);
    let done = ended(&mut own, fx);
    assert_eq!(done, [(ms(7), 7)]);
    drop(suspended);
}

#[test]
fn power_cut_drops_hypervisor_work() {
    let mut own = host(1);
    let mut fx = HostEffects::default();
    for number in [3, 4] {
        own.run_system(Nanos::ZERO, number, ms(1), &mut fx);
    }
    let mut numbers = own.drop_system(Nanos(1), &mut fx);
    numbers.sort_unstable();
    assert_eq!(numbers, [3, 4]);
    assert_eq!(ended(&mut own, fx), []);
}
