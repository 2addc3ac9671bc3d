use units::{Nanos, Ratio};

use super::disks::names;
use crate::array::{Array, Frequency, HostPower, Hosts, Hypervisor, Memory, StoragePower};
use crate::check::finding::Findings;
use crate::locate::DefinitionPath;

/// Maximum for any power value, in W.
const WATTS_MAX: f64 = 1e6;

/// Checks the settings of hosts, except their cores.
pub(super) fn hosts(hosts: &Hosts, place: &DefinitionPath, found: &mut Findings) {
    if let Some(own) = &hosts.frequency {
        frequency(own, &place.key("frequency"), found);
    }
    if let Some(Memory { speed, .. }) = &hosts.memory {
        found.above_zero(place.key("memory").key("speed"), "the speed of memory", *speed);
    }
    if let Some(own) = &hosts.hypervisor {
        hypervisor(own, &place.key("hypervisor"), found);
    }
    if let Some(own) = &hosts.power {
        host(own, &place.key("power"), found);
    }
}

fn frequency(own: &Frequency, place: &DefinitionPath, found: &mut Findings) {
    found.above_zero(place.key("nominal"), "the nominal frequency", own.nominal);
    let nominal = own.nominal;
    for (i, state) in own.states.iter().enumerate() {
        let at = place.key("states").index(i);
        found.above_zero(at.clone(), "the frequency", *state);
        if *state >= nominal {
            let help = "list only the lower states; the nominal state is always included";
            let message =
                format!("the state of {state} GHz is not below the nominal {nominal} GHz");
            found.add_help(at, message, help);
        } else if i > 0 && *state <= own.states[i - 1] {
            found.add(at, "list states from the lowest to the highest, each once");
        }
    }
    for (i, bin) in own.turbo.iter().enumerate() {
        let at = place.key("turbo").index(i);
        if !(bin.is_finite() && *bin >= nominal) {
            let message = format!("turbo of {bin} GHz is below the nominal {nominal} GHz");
            found.add_help(at, message, "GHz with 1, 2, ... cores at work, from nominal up");
        } else if i > 0 && *bin > own.turbo[i - 1] {
            let help = "the more cores are at work, the less each may do";
            found.add_help(at, "turbo rises with the number of cores at work", help);
        }
    }
    some_share(place.key("limit"), "the limit", own.limit, found);
    let Some(governor) = &own.governor else { return };
    let place = place.key("governor");
    found.some_time(place.key("every"), "the time between two decisions", governor.every);
    some_share(place.key("target"), "the target", governor.target, found);
}

fn some_share(place: DefinitionPath, what: &str, share: Ratio, found: &mut Findings) {
    if share == Ratio::ZERO {
        found.add(place, format!("{what} is 0 % and must be above 0 %"));
    }
}

fn hypervisor(own: &Hypervisor, place: &DefinitionPath, found: &mut Findings) {
    found.says_something(place.key("version"), "the version", &own.version);
    found.above_zero(place.key("cpu"), "the CPU of a step, in times", own.cpu);
    if !(own.io_cpu.is_finite() && own.io_cpu >= 0.0) {
        let message = format!("the CPU of an I/O is {} times and must be 0 or more", own.io_cpu);
        found.add(place.key("io-cpu"), message);
    }
}

fn watts(place: DefinitionPath, what: &str, watts: f64, found: &mut Findings) {
    if !(0.0..=WATTS_MAX).contains(&watts) {
        found.add(place, format!("{what} is {watts} W and must be from 0 to 1,000,000 W"));
    }
}

fn host(own: &HostPower, place: &DefinitionPath, found: &mut Findings) {
    found.says_something(place.key("source"), "the source", &own.source);
    watts(place.key("idle"), "an idle host", own.idle, found);
    watts(place.key("core"), "a core at work", own.core, found);
    watts(place.key("awake"), "a core that is awake", own.awake, found);
    if !(1.0..=4.0).contains(&own.exponent) {
        let message = format!("power grows with the frequency to the power of {}", own.exponent);
        let help = "1 (fixed voltage) to 4; 3 if the voltage follows the frequency";
        found.add_help(place.key("exponent"), message, help);
    }
    if !(0.0..=own.idle).contains(&own.memory) {
        let message =
            format!("memory takes {} W of the {} W of an idle host", own.memory, own.idle);
        found.add_help(
            place.key("memory"),
            message,
            "memory power is a part of idle power: 0 to idle",
        );
    }
    if own.sleep_after.is_none() && own.wake > Nanos::ZERO {
        let help = "add sleep-after = \"...\", or leave out wake";
        found.add_help(place.key("wake"), "wake is given, but cores never sleep", help);
    }
    if own.sleep_after.is_some() && own.awake == 0.0 {
        let help = "add awake = W of a core that does nothing and does not sleep";
        found.add_help(place.key("sleep-after"), "cores sleep, but that saves no power", help);
    }
}

/// Checks the power of the storage.
pub(super) fn storage(array: &Array, found: &mut Findings) {
    let Some(own) = &array.power else { return };
    let StoragePower { source, fixed, disk } = own;
    let place = DefinitionPath::default().key("power");
    found.says_something(place.key("source"), "the source", source);
    watts(place.key("static"), "the storage", *fixed, found);
    let known = names(array);
    for (name, power) in disk {
        let place = place.key("disk");
        found.known(place.at_key(name), "disk", name, &known);
        let place = place.key(name);
        watts(place.key("idle"), "an idle disk", power.idle, found);
        watts(place.key("active"), "a busy disk", power.active, found);
        if power.active < power.idle {
            let message =
                format!("a busy disk takes {} W, an idle one {} W", power.active, power.idle);
            found.add_help(place.key("active"), message, "active must be at least idle");
        }
    }
}
