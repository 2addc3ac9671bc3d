use std::collections::BTreeMap;
use std::io;

use rustix::time::{ClockId, clock_gettime};
use units::Nanos;

/// What the system says at one moment; all of it only grows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Time that never steps.
    pub at: Nanos,
    /// CPU time of this process, user and kernel.
    pub own: Nanos,
    /// CPU time of everything on this machine.
    pub busy: Nanos,
    /// Cores.
    pub cores: u32,
    /// Time each thread of this process was on a run queue and not on a core.
    pub waited: BTreeMap<u64, Nanos>,
}

/// `/proc/stat` counts in hundredths of a second, whatever the kernel's tick is (USER_HZ).
const TICK: Nanos = Nanos::from_millis(10);

impl Look {
    pub fn now() -> io::Result<Self> {
        let (busy, cores) = busy(&std::fs::read_to_string("/proc/stat")?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/stat has no cpu"))?;
        let waited = waited();
        let own = clock(ClockId::ProcessCPUTime);
        Ok(Self { at: clock(ClockId::Monotonic), own, busy, cores, waited })
    }
}

/// Neither clock is ever negative.
fn clock(id: ClockId) -> Nanos {
    let time = clock_gettime(id);
    Nanos(time.tv_sec.unsigned_abs() * Nanos::SECOND.0 + time.tv_nsec.unsigned_abs())
}

/// Busy time and cores, from `/proc/stat` (proc_stat(5)): user, nice, system, idle, iowait,
/// irq, softirq, steal; guest time is in user time already. Stolen time is busy for us: the
/// core was not there.
fn busy(text: &str) -> Option<(Nanos, u32)> {
    let mut ticks = 0;
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    for (place, number) in all.split_whitespace().take(8).enumerate() {
        let number: u64 = number.parse().ok()?;
        ticks += if matches!(place, 3 | 4) { 0 } else { number };
    }
    let is_core = |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' '));
    let cores = u32::try_from(text.lines().filter(is_core).count()).ok()?;
    Some((Nanos(ticks.saturating_mul(TICK.0)), cores))
}

/// Second field of every thread's `schedstat` (Documentation/scheduler/sched-stats.rst). A
/// kernel without it leaves the list empty.
fn waited() -> BTreeMap<u64, Nanos> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        let text = std::fs::read_to_string(entry.path().join("schedstat")).ok()?;
        Some((thread, Nanos(text.split_whitespace().nth(1)?.parse().ok()?)))
    };
    threads.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_and_waiting_for_io_are_not_busy() {
        let text = "cpu  100 20 30 4000 500 6 7 8 9 10\ncpu0 1 2\ncpu1 1 2\nintr 5\n";
        assert_eq!(busy(text), Some((Nanos(171 * TICK.0), 2)));
        assert_eq!(busy("intr 5\n"), None);
    }

    #[test]
    fn the_clocks_of_this_process_go_on() {
        let before = Look::now().expect("proc");
        let mut sum = 0_u64;
        while clock(ClockId::ProcessCPUTime).saturating_sub(before.own) < Nanos::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        let after = Look::now().expect("proc");
        assert!(after.own > before.own && after.at > before.at && after.busy >= before.busy);
        assert!(after.cores >= 1);
    }
}
