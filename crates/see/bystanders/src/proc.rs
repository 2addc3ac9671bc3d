use std::collections::BTreeMap;
use std::io;

use rustix::time::{ClockId, clock_gettime};
use units::Nanos;

/// Counters of the system at one moment. None of them decreases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Time on the monotonic clock.
    pub at: Nanos,
    /// CPU time of this process, user and kernel.
    pub own: Nanos,
    /// CPU time of all processes on this host, including stolen time.
    pub busy: Nanos,
    /// CPU time that the hypervisor gave to other VMs.
    pub steal: Nanos,
    /// Number of cores.
    pub cores: u32,
    /// Time that each thread of this process spent on a run queue without a core.
    pub waited: BTreeMap<u64, Nanos>,
    /// Other processes, by id and start time.
    pub others: BTreeMap<(u32, u64), Process>,
    /// True if the byte counters of some processes are hidden (not root).
    pub hides_bytes: bool,
    /// Time during which some task waited for memory, and for storage; `None` if the kernel does
    /// not count it.
    pub pressure: Option<[Nanos; 2]>,
    /// Number of times that a processor slowed down because of heat.
    pub throttled: Option<u64>,
    /// Device under test.
    pub disk: Option<Disk>,
}

/// Process other than this one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Process {
    /// Name as the kernel shows it, at most 15 bytes.
    pub name: String,
    /// CPU time of the process and of its children that have ended.
    pub cpu: Nanos,
    /// Bytes read from and written to storage; `None` if hidden.
    pub bytes: Option<u64>,
    /// Id of the parent process.
    pub parent: u32,
    /// True if the process descends from this one, such as a server of a tile.
    pub is_ours: bool,
}

/// Counters of a device in `/proc/diskstats` (Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Disk {
    /// Time with I/O in flight (field 10).
    pub busy: Nanos,
    /// Sum of the times of all I/Os (field 11).
    pub queued: Nanos,
    /// Total bytes, read and written (fields 3 and 7, sectors of 512).
    pub bytes: u64,
}

/// Unit of `/proc/stat`: a hundredth of a second, whatever the kernel's tick (USER_HZ).
const TICK: Nanos = Nanos::from_millis(10);

impl Look {
    /// Samples everything now; `device` is the number of the device under test.
    pub fn now(device: Option<u64>) -> io::Result<Self> {
        let stat = busy(&std::fs::read_to_string("/proc/stat")?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/stat has no cpu"))?;
        let pressure =
            |of: &str| pressure(&std::fs::read_to_string(format!("/proc/pressure/{of}")).ok()?);
        let (others, hides_bytes) = others();
        Ok(Self {
            at: clock(ClockId::Monotonic),
            own: clock(ClockId::ProcessCPUTime),
            busy: stat.busy,
            steal: stat.steal,
            cores: stat.cores,
            waited: waited("self"),
            others,
            hides_bytes,
            pressure: pressure("memory").zip(pressure("io")).map(|(memory, io)| [memory, io]),
            throttled: throttled(),
            disk: device
                .and_then(|device| disk(&std::fs::read_to_string("/proc/diskstats").ok()?, device)),
        })
    }
}

/// Returns the time on the monotonic clock.
pub(super) fn monotonic() -> Nanos {
    clock(ClockId::Monotonic)
}

/// Returns the time on a clock. The clocks used here are never negative.
pub(super) fn clock(id: ClockId) -> Nanos {
    let time = clock_gettime(id);
    Nanos(time.tv_sec.unsigned_abs() * Nanos::SECOND.0 + time.tv_nsec.unsigned_abs())
}

/// Values of the first line of `/proc/stat`, and the number of cores.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub busy: Nanos,
    pub steal: Nanos,
    pub cores: u32,
}

/// Parses busy time and cores from `/proc/stat` (proc_stat(5)): user, nice, system, idle, iowait,
/// irq, softirq, steal; user time already includes guest time. Stolen time counts as busy, because
/// the core was not available.
pub(super) fn busy(text: &str) -> Option<Stat> {
    let (mut ticks, mut stolen) = (0, 0);
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    for (place, number) in all.split_whitespace().take(8).enumerate() {
        let number: u64 = number.parse().ok()?;
        ticks += if matches!(place, 3 | 4) { 0 } else { number };
        stolen += if place == 7 { number } else { 0 };
    }
    let is_core = |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' '));
    let cores = u32::try_from(text.lines().filter(is_core).count()).ok()?;
    let time = |ticks: u64| Nanos(ticks.saturating_mul(TICK.0));
    Some(Stat { busy: time(ticks), steal: time(stolen), cores })
}

/// Parses the value `total=` of the line `some`, in microseconds
/// (Documentation/accounting/psi.rst).
pub(super) fn pressure(text: &str) -> Option<Nanos> {
    let some = text.lines().find(|line| line.starts_with("some"))?;
    let total = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    Some(Nanos(total.parse::<u64>().ok()?.saturating_mul(1000)))
}

/// Flag of kernel threads. They are excluded because they work for other processes, often for this
/// one.
const KERNEL_THREAD: u64 = 0x0020_0000;

fn others() -> (BTreeMap<(u32, u64), Process>, bool) {
    let mut hides_bytes = false;
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok().filter(|_| id != own)?;
        let (start, mut process) = process(&stat)?;
        let io = std::fs::read_to_string(entry.path().join("io"));
        hides_bytes |= io.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied);
        process.bytes = io.ok().and_then(|io| moved(&io));
        Some(((id, start), process))
    };
    let mut others: BTreeMap<(u32, u64), Process> = entries.filter_map(of).collect();
    mark_ours(&mut others, own);
    (others, hides_bytes)
}

/// Marks the processes that descend from `own`.
fn mark_ours(all: &mut BTreeMap<(u32, u64), Process>, own: u32) {
    let parents: BTreeMap<u32, u32> =
        all.iter().map(|((id, _), process)| (*id, process.parent)).collect();
    for process in all.values_mut() {
        // No chain is longer than the list; a number that is used again could close a circle.
        let chain = std::iter::successors(Some(process.parent), |id| parents.get(id).copied());
        process.is_ours = chain.take(parents.len() + 1).any(|id| id == own);
    }
}

/// Parses start time and counters of `/proc/PID/stat` (proc_pid_stat(5)); `None` for kernel
/// threads. The name is in brackets and may contain any characters, including brackets.
pub(super) fn process(stat: &str) -> Option<(u64, Process)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    // The first field after the name is the third of the file.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    if field(9)? & KERNEL_THREAD != 0 {
        return None;
    }
    let ticks = field(14)? + field(15)? + field(16)? + field(17)?;
    let cpu = Nanos(ticks.saturating_mul(TICK.0));
    let parent = u32::try_from(field(4)?).ok()?;
    Some((field(22)?, Process { name, cpu, parent, ..Process::default() }))
}

/// Adds `read_bytes` and `write_bytes` of `/proc/PID/io`: bytes that reach storage.
fn moved(io: &str) -> Option<u64> {
    let number = |key: &str| {
        let line = io.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    Some(number("read_bytes:")?.saturating_add(number("write_bytes:")?))
}

fn throttled() -> Option<u64> {
    let cpus = std::fs::read_dir("/sys/devices/system/cpu").ok()?.flatten();
    let count = |cpu: std::fs::DirEntry| {
        let file = cpu.path().join("thermal_throttle/core_throttle_count");
        std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    };
    cpus.filter_map(count).reduce(|sum, count| sum + count)
}

fn disk(text: &str, device: u64) -> Option<Disk> {
    let device = (rustix::fs::major(device), rustix::fs::minor(device));
    disks(text).find(|(number, _, _)| *number == device).map(|(_, _, disk)| disk)
}

/// Parses number, name and counters of each device.
pub(super) fn disks(text: &str) -> impl Iterator<Item = ((u32, u32), &str, Disk)> {
    text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let device = (fields.first()?.parse().ok()?, fields.get(1)?.parse().ok()?);
        // Three words name the device; field 1 of the documentation is the fourth.
        let disk = Disk {
            busy: Nanos::from_millis(number(12)?),
            queued: Nanos::from_millis(number(13)?),
            bytes: (number(5)? + number(9)?).saturating_mul(512),
        };
        Some((device, *fields.get(2)?, disk))
    })
}

/// Reads the second field of `schedstat` of every thread of a process
/// (Documentation/scheduler/sched-stats.rst). With a kernel that lacks the file, the result is
/// empty.
pub(super) fn waited(process: &str) -> BTreeMap<u64, Nanos> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
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
        let stat = Stat { busy: Nanos(171 * TICK.0), steal: Nanos(8 * TICK.0), cores: 2 };
        assert_eq!(busy(text), Some(stat));
        assert_eq!(busy("intr 5\n"), None);
    }

    #[test]
    fn the_clocks_of_this_process_go_on() {
        let before = Look::now(None).expect("proc");
        let mut sum = 0_u64;
        while clock(ClockId::ProcessCPUTime).saturating_sub(before.own) < Nanos::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        let after = Look::now(None).expect("proc");
        assert!(after.own > before.own && after.at > before.at && after.busy >= before.busy);
        assert!(after.cores >= 1);
    }

    #[test]
    fn stat_parser_takes_brackets_in_names_and_skips_kthreads() {
        let stat = |name: &str, flags: u64| {
            format!("71 ({name}) S 1 2 3 4 5 {flags} 0 0 0 0 10 20 30 40 20 0 1 0 999 0 0")
        };
        let (start, found) = process(&stat("a) R (b", 4_194_304)).expect("a process");
        assert_eq!((start, found.name.as_str(), found.cpu), (999, "a) R (b", Nanos(100 * TICK.0)));
        assert_eq!(process(&stat("kworker/0:1", KERNEL_THREAD | 64)), None);
    }

    #[test]
    fn descendants_are_ours_and_circles_end() {
        let process = |parent| Process { parent, ..Process::default() };
        let mut all: BTreeMap<(u32, u64), Process> =
            [(20, 10), (30, 20), (40, 1), (50, 60), (60, 50)]
                .map(|(id, parent)| ((id, 0), process(parent)))
                .into();
        mark_ours(&mut all, 10);
        let ours = all.iter().filter(|(_, process)| process.is_ours).map(|((id, _), _)| *id);
        assert_eq!(ours.collect::<Vec<u32>>(), [20, 30]);
    }

    #[test]
    fn a_device_is_found_by_its_number() {
        let text =
            "   8 0 sda 10 0 16 5 20 0 32 7 0 900 1200 0 0\n   8 1 sda1 1 0 1 1 1 0 1 1 0 1 1\n";
        let found = disk(text, rustix::fs::makedev(8, 0)).expect("listed");
        assert_eq!((found.busy, found.bytes), (Nanos::from_millis(900), 48 * 512));
        assert_eq!(disk(text, rustix::fs::makedev(9, 0)), None);
    }
}
