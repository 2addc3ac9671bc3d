use std::collections::BTreeMap;
use std::io;

use units::Nanos;

use super::proc::Look;

/// Changes between two samples, about a second apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostSecond {
    /// Time between the samples.
    pub width: Nanos,
    /// CPU time of all processes on the host.
    pub busy: Nanos,
    /// CPU time of this process.
    pub own: Nanos,
    /// Time during which this process's threads were ready but waited for a core.
    pub ready: Nanos,
    /// CPU time that the hypervisor gave to other VMs.
    pub steal: Nanos,
    /// CPU time of processes that descend from this process.
    pub children: Nanos,
    /// Bytes that processes descended from this process transferred to and from storage.
    pub bytes_of_children: u64,
    /// CPU time of other processes, by name.
    pub cpu_of_others: BTreeMap<String, Nanos>,
    /// Bytes that other processes transferred to and from storage, by name.
    pub bytes_of_others: BTreeMap<String, u64>,
    /// True if the byte counters of some other process are hidden (not root).
    pub hides_bytes: bool,
    /// Number of times that a processor slowed down because of heat; `None` if not counted.
    pub throttled: Option<u64>,
    /// Longest time in which this program did not run although it was due.
    pub paused: Nanos,
    /// Time during which some task waited for memory, and for storage; `None` if the kernel does
    /// not count it.
    pub pressure: Option<[Nanos; 2]>,
    /// Device under test: time busy, I/O time queued, bytes.
    pub disk: Option<(Nanos, Nanos, u64)>,
    /// Cores of the host.
    pub cores: u32,
}

/// Samples this host repeatedly.
#[derive(Debug, Default)]
pub struct HostWatch {
    pub(super) before: Option<Look>,
    pub(super) seconds: Vec<HostSecond>,
    pub(super) cores: u32,
    pub(super) device: Option<Watched>,
    /// Longest pause since the last sample.
    pub(super) paused: Nanos,
}

/// Device under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Device number, as in `st_rdev`.
    pub number: u64,
    /// Name in the kernel.
    pub name: String,
}

/// Minimum time between samples, because the kernel counts CPU time in hundredths of a second.
const APART: Nanos = Nanos::from_millis(450);

impl HostWatch {
    /// Creates a watch that also samples a device.
    pub fn of_device(device: Option<Watched>) -> Self {
        Self { device, ..Self::default() }
    }

    /// Returns the name of the sampled device.
    pub fn device(&self) -> &str {
        self.device.as_ref().map_or("", |device| &device.name)
    }

    /// Takes a sample, and adds the changes since the previous sample; the first sample adds none.
    ///
    /// # Errors
    ///
    /// If `/proc` cannot be read.
    pub fn look(&mut self) -> io::Result<()> {
        let now = Look::now(self.device.as_ref().map(|device| device.number))?;
        self.cores = now.cores;
        let paused = std::mem::take(&mut self.paused);
        if let Some(before) = &self.before {
            self.seconds.push(HostSecond { paused, ..between(before, &now) });
        }
        self.before = Some(now);
        Ok(())
    }

    /// Reports that a wait of at most `wanted` took `took`. If the process is stopped or the
    /// virtual machine paused, this thread stops together with all others. If the storage blocks a
    /// worker in the kernel, this thread does not stop.
    pub fn waited(&mut self, wanted: Nanos, took: Nanos) {
        self.paused = self.paused.max(took.saturating_sub(wanted));
    }

    /// Takes a sample if one is due; returns the changes since the last sample.
    pub fn look_if_due(&mut self) -> Option<&HostSecond> {
        let now = super::proc::monotonic();
        let is_due =
            self.before.as_ref().is_none_or(|before| now.saturating_sub(before.at) >= APART);
        let had = self.seconds.len();
        if !is_due || self.look().is_err() {
            return None;
        }
        self.seconds.get(had)
    }

    /// Drops the seconds so far; the next one begins at the last sample.
    pub fn restart(&mut self) {
        self.paused = Nanos::ZERO;
        self.seconds.clear();
    }

    /// Returns all seconds in order.
    pub fn seconds(&self) -> &[HostSecond] {
        &self.seconds
    }
}

/// Calculates the changes between two samples. A thread that is new has waited only since its
/// start.
fn between(before: &Look, now: &Look) -> HostSecond {
    let waited = |(thread, total): (&u64, &Nanos)| {
        total.saturating_sub(before.waited.get(thread).copied().unwrap_or_default())
    };
    let mut second = HostSecond {
        width: now.at.saturating_sub(before.at),
        busy: now.busy.saturating_sub(before.busy),
        own: now.own.saturating_sub(before.own),
        ready: now.waited.iter().map(waited).fold(Nanos::ZERO, Nanos::saturating_add),
        steal: now.steal.saturating_sub(before.steal),
        throttled: now.throttled.zip(before.throttled).map(|(now, then)| now.saturating_sub(then)),
        pressure: now
            .pressure
            .zip(before.pressure)
            .map(|(now, then)| std::array::from_fn(|at| now[at].saturating_sub(then[at]))),
        disk: now.disk.zip(before.disk).map(|(now, then)| {
            let (busy, queued) =
                (now.busy.saturating_sub(then.busy), now.queued.saturating_sub(then.queued));
            (busy, queued, now.bytes.saturating_sub(then.bytes))
        }),
        cores: now.cores,
        hides_bytes: now.hides_bytes,
        ..HostSecond::default()
    };
    for (id, process) in &now.others {
        // A new process did all its work since the last sample. Its parent may count the time of
        // ended children again, so other work is limited below.
        let earlier = before.others.get(id);
        let cpu = process.cpu.saturating_sub(earlier.map_or(Nanos::ZERO, |earlier| earlier.cpu));
        if process.is_ours {
            second.children = second.children.saturating_add(cpu);
        } else if cpu > Nanos::ZERO {
            let sum = second.cpu_of_others.entry(process.name.clone()).or_default();
            *sum = sum.saturating_add(cpu);
        }
        let bytes = process.bytes.zip(earlier.map_or(Some(0), |earlier| earlier.bytes));
        if let Some((now, then)) = bytes
            && now > then
        {
            match process.is_ours {
                true => second.bytes_of_children += now - then,
                false => {
                    *second.bytes_of_others.entry(process.name.clone()).or_default() += now - then;
                }
            }
        }
    }
    second.cap();
    second
}

impl HostSecond {
    /// Limits the CPU time of others to the host's busy time minus ours. Without this, a parent
    /// that waits for a child inherits all of the child's time at once, including time that was
    /// already counted while the child ran.
    fn cap(&mut self) {
        let ours = self.own.saturating_add(self.children).saturating_add(self.steal);
        let most = self.busy.saturating_sub(ours).as_secs_f64();
        let all: f64 = self.cpu_of_others.values().map(|cpu| cpu.as_secs_f64()).sum();
        if all > most {
            for cpu in self.cpu_of_others.values_mut() {
                *cpu = Nanos::from_secs_f64(cpu.as_secs_f64() * most / all);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at_s: u64, own_ms: u64, waited: &[(u64, u64)]) -> Look {
        Look {
            at: Nanos::from_secs(at_s),
            own: Nanos::from_millis(own_ms),
            busy: Nanos::from_millis(2 * own_ms),
            cores: 2,
            waited: waited.iter().map(|(id, ms)| (*id, Nanos::from_millis(*ms))).collect(),
            ..Look::default()
        }
    }

    #[test]
    fn ended_threads_subtract_no_wait_and_new_ones_add_theirs() {
        let found = between(&look(1, 100, &[(1, 40), (2, 500)]), &look(2, 700, &[(1, 70), (3, 5)]));
        assert_eq!(found.ready, Nanos::from_millis(35));
        assert_eq!(found.own, Nanos::from_millis(600));
        assert_eq!(found.busy, Nanos::from_millis(1200));
        assert_eq!(found.width, Nanos::SECOND);
    }

    #[test]
    fn cpu_time_inherited_from_children_is_not_of_this_second() {
        let process = |name: &str, cpu_s: u64| crate::proc::Process {
            name: name.to_owned(),
            cpu: Nanos::from_secs(cpu_s),
            ..crate::proc::Process::default()
        };
        let mut before = look(1, 100, &[]);
        before.others = [((7, 1), process("make", 0))].into();
        let mut now = look(2, 400, &[]);
        now.others = [((7, 1), process("make", 90))].into();
        let second = between(&before, &now);
        assert_eq!(
            second.cpu_of_others["make"],
            Nanos::from_millis(300),
            "of 600 ms busy, 300 ours"
        );
    }

    #[test]
    fn servers_of_this_process_are_not_others() {
        let process = |cpu_ms: u64, bytes: u64, is_ours: bool| crate::proc::Process {
            name: "postgres".to_owned(),
            cpu: Nanos::from_millis(cpu_ms),
            bytes: Some(bytes),
            is_ours,
            ..crate::proc::Process::default()
        };
        let mut before = look(1, 100, &[]);
        before.others = [((7, 1), process(0, 0, true)), ((8, 1), process(0, 0, false))].into();
        let mut now = look(2, 400, &[]);
        now.others = [((7, 1), process(200, 5000, true)), ((8, 1), process(90, 7, false))].into();
        let second = between(&before, &now);
        assert_eq!((second.children, second.bytes_of_children), (Nanos::from_millis(200), 5000));
        assert_eq!(second.cpu_of_others["postgres"], Nanos::from_millis(90));
        assert_eq!(second.bytes_of_others["postgres"], 7);
    }

    #[test]
    fn a_watch_sees_this_process_work() {
        let mut watch = HostWatch::default();
        watch.look().expect("proc");
        assert_eq!(watch.seconds(), []);
        watch.look().expect("proc");
        assert_eq!(watch.seconds().len(), 1);
        watch.restart();
        watch.look().expect("proc");
        assert_eq!(watch.seconds().len(), 1);
    }
}
