//! Checks, one function each. Kernel documentation of the files:
//! `Documentation/filesystems/proc.rst`, `accounting/psi.rst`, `admin-guide/pm/cpufreq.rst`,
//! `admin-guide/sysctl/kernel.rst` (`io_uring_disabled`), `admin-guide/cgroup-v2.rst`.

use super::{Finding, Root};

pub(super) fn governor(root: &Root) -> Finding {
    const ID: &str = "cpu-governor";
    match root.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").as_deref() {
        None => Finding::good(ID, "no frequency scaling visible (a virtual machine, or fixed)"),
        Some("performance") => Finding::good(ID, "performance"),
        Some(other) => Finding::noise(
            ID,
            format!("governor \"{other}\""),
            "cores slow down between I/Os, which adds tens of microseconds to each",
            "cpupower frequency-set -g performance",
        ),
    }
}

pub(super) fn load(root: &Root) -> Finding {
    const ID: &str = "load-average";
    let Some(load) = root
        .read("proc/loadavg")
        .and_then(|text| text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()))
    else {
        return Finding::unknown(ID, "the load average");
    };
    let found = format!("{load:.2} over the last minute");
    if load < 0.5 {
        return Finding::good(ID, found);
    }
    Finding::noise(
        ID,
        found,
        "other programs use the processors, and perhaps the storage",
        "stop other work, then measure",
    )
}

/// Checks the time that the hypervisor gave to other VMs since boot, as a share of all time.
pub(super) fn steal(root: &Root) -> Finding {
    const ID: &str = "cpu-steal";
    let Some(times) = root.read("proc/stat").and_then(|text| {
        let line = text.lines().next()?.strip_prefix("cpu ")?.to_owned();
        line.split_whitespace().map(|word| word.parse::<f64>().ok()).collect::<Option<Vec<_>>>()
    }) else {
        return Finding::unknown(ID, "CPU time");
    };
    let total: f64 = times.iter().take(8).sum();
    let share = times.get(7).copied().unwrap_or(0.0) / total.max(1.0) * 100.0;
    let found = format!("{share:.2} % of CPU time since boot went to other guests");
    if share < 1.0 {
        return Finding::good(ID, found);
    }
    Finding::noise(
        ID,
        found,
        "the VM is paused without notice; latencies include these pauses",
        "use a host without other guests, or more repeats",
    )
}

/// Checks pressure stall information: the share of the last minute during which some task waited
/// for I/O.
pub(super) fn pressure(root: &Root) -> Finding {
    const ID: &str = "io-pressure";
    let Some(share) = root.read("proc/pressure/io").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("some"))?.to_owned();
        let word = line.split_whitespace().find_map(|word| word.strip_prefix("avg60="))?;
        word.parse::<f64>().ok()
    }) else {
        return Finding::unknown(ID, "pressure stall information");
    };
    let found = format!("{share:.1} % of the last minute some task waited for storage");
    if share < 5.0 {
        return Finding::good(ID, found);
    }
    Finding::noise(
        ID,
        found,
        "the storage already has load",
        "find the cause (iotop, or the hypervisor)",
    )
}

fn meminfo(root: &Root, key: &str) -> Option<u64> {
    root.read("proc/meminfo")?
        .lines()
        .find_map(|line| line.strip_prefix(key)?.trim_start_matches(':').split_whitespace().next())
        .and_then(|word| word.parse().ok())
}

pub(super) fn memory(root: &Root) -> Finding {
    const ID: &str = "memory";
    let Some(available) = meminfo(root, "MemAvailable") else {
        return Finding::unknown(ID, "available memory");
    };
    let found = format!("{} MiB available", available / 1024);
    if available >= 512 * 1024 {
        return Finding::good(ID, found);
    }
    Finding::harmful(
        ID,
        found,
        "a run of 40 tiles needs 300 MB; below that the host starts to reclaim memory",
        "free memory",
    )
}

pub(super) fn swap(root: &Root) -> Finding {
    const ID: &str = "swap-in-use";
    let (Some(total), Some(free)) = (meminfo(root, "SwapTotal"), meminfo(root, "SwapFree")) else {
        return Finding::unknown(ID, "swap");
    };
    let used = total.saturating_sub(free) / 1024;
    if used < 64 {
        return Finding::good(ID, format!("{used} MiB of swap in use"));
    }
    Finding::noise(
        ID,
        format!("{used} MiB of swap in use"),
        "swapping makes storage traffic of its own",
        "free memory, then swapoff -a and swapon -a",
    )
}

pub(super) fn clock_source(root: &Root) -> Finding {
    const ID: &str = "clock-source";
    match root.read("sys/devices/system/clocksource/clocksource0/current_clocksource").as_deref() {
        None => Finding::unknown(ID, "the clock source"),
        Some(name @ ("tsc" | "kvm-clock" | "arch_sys_counter")) => Finding::good(ID, name),
        Some(name) => Finding::harmful(
            ID,
            format!("\"{name}\""),
            "reading this clock enters the kernel, which makes every latency longer",
            "boot with a working TSC (clocksource=tsc)",
        ),
    }
}

/// Checks io_uring. The system's setting is read only after a refusal, for the hint.
pub(super) fn io_uring(root: &Root, refusal: Option<&str>) -> Finding {
    const ID: &str = "io-uring";
    const WHY: &str = "a pool of threads makes load instead, at several times the CPU per I/O";
    let Some(refusal) = refusal else {
        return Finding::good(ID, "a ring was set up and completed a request");
    };
    match root.read("proc/sys/kernel/io_uring_disabled").as_deref() {
        Some("0") | None => Finding::harmful(
            ID,
            format!("refused: {refusal}"),
            WHY,
            "in a container, use a seccomp profile that allows io_uring_setup, io_uring_enter and \
             io_uring_register",
        ),
        Some(value) => Finding::harmful(
            ID,
            format!("refused: {refusal}; kernel.io_uring_disabled = {value}"),
            WHY,
            "sysctl kernel.io_uring_disabled=0",
        ),
    }
}

pub(super) fn virtualised(root: &Root) -> Finding {
    const ID: &str = "virtual-machine";
    let is_guest = root.read("proc/cpuinfo").is_some_and(|text| {
        text.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"))
    });
    if is_guest {
        return Finding::noise(
            ID,
            "this is a virtual machine".to_owned(),
            "the measurement includes the cache and the other guests of its host",
            "state this beside the result; compare only runs from the same guest",
        );
    }
    Finding::good(ID, "bare metal, as far as the processor reports")
}

pub(super) fn cgroup_cpu(root: &Root) -> Finding {
    const ID: &str = "cpu-limit";
    match root.read("sys/fs/cgroup/cpu.max").as_deref() {
        Some(limit) if !limit.starts_with("max") => Finding::harmful(
            ID,
            format!("cpu.max = {limit}"),
            "the generator is stopped when it has used up its share, which looks like slow storage",
            "lift the limit for the run",
        ),
        _ => Finding::good(ID, "no limit visible"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Root, Severity, examine};

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            std::fs::write(path, text).expect("a file");
        }
        let root = Root(dir.path().to_path_buf());
        (dir, root)
    }

    fn severity(root: &Root, id: &str) -> Severity {
        examine(root, Some("Operation not permitted (os error 1)"))
            .into_iter()
            .find(|finding| finding.id == id)
            .expect("the check exists")
            .severity
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_not_good() {
        let (_dir, root) = machine(&[]);
        for id in ["load-average", "cpu-steal", "memory", "clock-source"] {
            assert_eq!(severity(&root, id), Severity::Unknown, "{id}");
        }
    }

    #[test]
    fn a_busy_machine_with_a_slow_clock_and_no_ring_is_found() {
        let (_dir, root) = machine(&[
            ("proc/loadavg", "3.10 1.0 1.0 2/100 77"),
            ("proc/stat", "cpu  100 0 100 700 0 0 0 100 0 0\n"),
            ("proc/sys/kernel/io_uring_disabled", "2\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ]);
        assert_eq!(severity(&root, "load-average"), Severity::Noise);
        assert_eq!(severity(&root, "cpu-steal"), Severity::Noise);
        assert_eq!(severity(&root, "io-uring"), Severity::Harmful);
        assert_eq!(severity(&root, "clock-source"), Severity::Harmful);
        assert_eq!(severity(&root, "cpu-limit"), Severity::Harmful);
    }
    #[test]
    fn refused_io_uring_is_harmful_whatever_the_sysctl_says() {
        let says = |allowed: &str, refusal: Option<&str>| {
            let (_dir, root) = machine(&[("proc/sys/kernel/io_uring_disabled", allowed)]);
            super::io_uring(&root, refusal)
        };
        let refused = Some("Operation not permitted (os error 1)");
        // With a filter of system calls the setting allows io_uring, and the call fails.
        let filtered = says("0\n", refused);
        assert_eq!(filtered.severity, Severity::Harmful);
        assert!(filtered.try_next.contains("seccomp"), "{filtered:?}");
        let disabled = says("2\n", refused);
        assert_eq!(disabled.severity, Severity::Harmful);
        assert!(disabled.try_next.contains("sysctl"), "{disabled:?}");
        assert_eq!(says("1\n", None).severity, Severity::Good, "this process is allowed to");
    }
}
