//! Reads counters of this host and of single processes, for a service that samples them for months.
//! Each sample reads a few small files, whatever the number of processes.

use std::collections::BTreeMap;
use std::fs;

use rustix::time::ClockId;
use units::Nanos;

use super::proc::{busy, clock, disks, pressure, process, waited};

/// Counters of the host at one moment. None of them decreases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Time on the monotonic clock.
    pub at: Nanos,
    /// CPU time of all processes, with stolen time; `None` if `/proc/stat` cannot be read.
    pub busy: Option<Nanos>,
    /// CPU time that the hypervisor gave to other VMs.
    pub steal: Option<Nanos>,
    /// CPU time of this process.
    pub own: Nanos,
    /// Number of cores.
    pub cores: u32,
    /// Time during which some task waited for memory; `None` if the kernel does not count it.
    pub memory_pressure: Option<Nanos>,
    /// Time during which some task waited for storage; `None` if the kernel does not count it.
    pub io_pressure: Option<Nanos>,
    /// Disks and partitions by name.
    pub disks: BTreeMap<String, DiskCounters>,
}

/// Counters of a disk. None of them decreases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Time with I/O in flight.
    pub busy: Nanos,
    /// Sum of the times of all I/Os.
    pub queued: Nanos,
    /// Total bytes, read and written.
    pub bytes: u64,
}

impl HostCounters {
    /// Reads all counters now.
    pub fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).ok();
        let stat = text("/proc/stat").and_then(|text| busy(&text));
        let of = |disk: super::proc::Disk| DiskCounters {
            busy: disk.busy,
            queued: disk.queued,
            bytes: disk.bytes,
        };
        let table = text("/proc/diskstats").unwrap_or_default();
        Self {
            at: clock(ClockId::Monotonic),
            busy: stat.as_ref().map(|stat| stat.busy),
            steal: stat.as_ref().map(|stat| stat.steal),
            own: clock(ClockId::ProcessCPUTime),
            cores: stat.map_or(0, |stat| stat.cores),
            memory_pressure: text("/proc/pressure/memory").and_then(|text| pressure(&text)),
            io_pressure: text("/proc/pressure/io").and_then(|text| pressure(&text)),
            disks: disks(&table).map(|(_, name, disk)| (name.to_owned(), of(disk))).collect(),
        }
    }
}

/// Counters of a process at one moment. None of them decreases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCounters {
    /// Start of the process in ticks since boot. It distinguishes the process from a later one with
    /// the same id.
    pub started: u64,
    /// CPU time of the process and of its children that have ended.
    pub cpu: Nanos,
    /// Time during which threads of the process were ready but waited for a core; `None` if the
    /// kernel does not count it.
    pub ready: Option<Nanos>,
}

impl ProcessCounters {
    /// Reads the counters of a process; `None` if it has ended.
    pub fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (started, process) = process(&stat)?;
        let waited = waited(&pid.to_string());
        let sum = waited.values().fold(Nanos::ZERO, |sum, own| sum.saturating_add(*own));
        Some(Self { started, cpu: process.cpu, ready: (!waited.is_empty()).then_some(sum) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_this_host_and_process_grow() {
        let pid = std::process::id();
        let (before, process) = (HostCounters::read(), ProcessCounters::read(pid).expect("runs"));
        let mut sum = 0_u64;
        while clock(ClockId::ProcessCPUTime).saturating_sub(before.own) < Nanos::from_millis(30) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        let (after, later) = (HostCounters::read(), ProcessCounters::read(pid).expect("runs"));
        assert!(after.at > before.at && after.busy >= before.busy && after.cores > 0);
        assert!(later.cpu > process.cpu && later.started == process.started);
        assert_eq!(ProcessCounters::read(u32::MAX), None);
    }
}
