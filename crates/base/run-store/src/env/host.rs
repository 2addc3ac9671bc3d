use std::collections::BTreeSet;

use super::probe::Probe;
use super::types::{Cgroup, Cpu, Memory, System};

pub(super) fn system(probe: &Probe) -> System {
    System {
        kernel: probe.value("/proc/sys/kernel/osrelease"),
        kernel_version: probe.value("/proc/sys/kernel/version"),
        distribution: distribution(probe),
        architecture: std::env::consts::ARCH.to_owned(),
        hostname: probe.value("/proc/sys/kernel/hostname"),
        clock_source: probe
            .value("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        virtualisation: virtualisation(probe),
    }
}

fn distribution(probe: &Probe) -> Option<String> {
    let release = probe.text("/etc/os-release")?;
    let line = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// Collects signs of a VM or container: marker files of containers, the hypervisor bit of the
/// processor, and the vendor in the firmware.
fn virtualisation(probe: &Probe) -> Option<String> {
    let mut hints = Vec::new();
    if probe.exists("/.dockerenv") {
        hints.push("docker".to_owned());
    }
    if probe.exists("/run/.containerenv") {
        hints.push("podman".to_owned());
    }
    hints.extend(probe.value("/sys/hypervisor/type"));
    let has_bit = cpuinfo(probe, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    if has_bit {
        let maker = ["sys_vendor", "product_name"]
            .iter()
            .filter_map(|name| probe.value(format!("/sys/class/dmi/id/{name}")))
            .collect::<Vec<_>>()
            .join(" ");
        hints.push(if maker.is_empty() { "a hypervisor".to_owned() } else { maker });
    }
    (!hints.is_empty()).then(|| hints.join(", "))
}

fn cpuinfo(probe: &Probe, key: &str) -> Option<String> {
    field(&probe.text("/proc/cpuinfo")?, key)
}

fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

pub(super) fn cpu(probe: &Probe) -> Cpu {
    let (mut cores, mut sockets) = (BTreeSet::new(), BTreeSet::new());
    let (mut governors, mut frequency_khz_max, mut logical) = (BTreeSet::new(), None, 0_u32);
    let base = "/sys/devices/system/cpu";
    for name in probe.names(base) {
        let is_cpu = name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
        if !is_cpu {
            continue;
        }
        logical += 1;
        let topology = format!("{base}/{name}/topology");
        let socket = probe.number(format!("{topology}/physical_package_id"));
        if let (Some(socket), Some(core)) = (socket, probe.number(format!("{topology}/core_id"))) {
            sockets.insert(socket);
            cores.insert((socket, core));
        }
        governors.extend(probe.value(format!("{base}/{name}/cpufreq/scaling_governor")));
        let khz = probe.number(format!("{base}/{name}/cpufreq/cpuinfo_max_freq"));
        frequency_khz_max = frequency_khz_max.max(khz);
    }
    let counted = |count: usize| u32::try_from(count).ok().filter(|count| *count > 0);
    Cpu {
        model: cpuinfo(probe, "model name"),
        logical: Some(logical).filter(|count| *count > 0),
        cores: counted(cores.len()),
        sockets: counted(sockets.len()),
        governors: governors.into_iter().collect(),
        frequency_max_hz: frequency_khz_max.map(|khz| khz * 1000),
    }
}

pub(super) fn memory(probe: &Probe) -> Memory {
    let text = probe.text("/proc/meminfo").unwrap_or_default();
    let bytes = |key| {
        let value = field(&text, key)?;
        let kib: u64 = value.strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    };
    Memory {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        swap_bytes: bytes("SwapTotal"),
    }
}

/// Returns the lowest limits of our control group and all groups above it (control groups version
/// 2).
pub(super) fn cgroup(probe: &Probe) -> Cgroup {
    let list = probe.text("/proc/self/cgroup").unwrap_or_default();
    let Some(path) = list.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Cgroup::default();
    };
    let (mut cpu, mut memory): (Option<u64>, Option<u64>) = (None, None);
    for group in std::path::Path::new(path).ancestors() {
        let file = |name: &str| {
            let relative = group.strip_prefix("/").unwrap_or(group);
            std::path::Path::new("/sys/fs/cgroup").join(relative).join(name)
        };
        let quota = probe.value(file("cpu.max")).and_then(|text| cpu_ns_per_s(&text));
        cpu = cpu.into_iter().chain(quota).min();
        memory = memory.into_iter().chain(probe.number(file("memory.max"))).min();
    }
    Cgroup { path: Some(path.to_owned()), cpu_ns_per_s: cpu, memory_bytes: memory }
}

/// Returns the processor time per second from `cpu.max`: a quota and a period, both in
/// microseconds. `None` if the quota is `max`.
fn cpu_ns_per_s(text: &str) -> Option<u64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (u128, u128) = (quota.parse().ok()?, period.trim().parse().ok()?);
    u64::try_from((quota * 1_000_000_000).checked_div(period)?).ok()
}

pub(super) fn load_average(probe: &Probe) -> Option<[f64; 3]> {
    let text = probe.text("/proc/loadavg")?;
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_quota_of_1_5_processors_is_1_5_s_per_second() {
        assert_eq!(cpu_ns_per_s("150000 100000"), Some(1_500_000_000));
        assert_eq!(cpu_ns_per_s("max 100000"), None);
        assert_eq!(cpu_ns_per_s("1 0"), None);
    }
}
