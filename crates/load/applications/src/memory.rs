//! Memory limit and CPU time of an application, by its own control group. Without a limit, the
//! host's page cache would serve the reads, and the storage would see none of them.

use std::fs;
use std::path::{Path, PathBuf};

use process_home::Phase;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use units::Bytes;

use crate::error::ApplicationError;

/// Control group of an application's processes. Dropping it kills the remaining processes and
/// removes the group.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    /// Directories of the group: one in the memory hierarchy, and with cgroup version 1 also one in
    /// the CPU time hierarchy.
    directories: Vec<PathBuf>,
    memory: Bytes,
}

const V1: &str = "/sys/fs/cgroup/memory";
const V1_CPU: &str = "/sys/fs/cgroup/cpuacct";
const V2: &str = "/sys/fs/cgroup";
const SETTINGS_V1: [&str; 2] = ["memory.limit_in_bytes", "memory.swappiness"];
/// Prefix of the directories' names; `PIDNAMESPACE-PID-NAME` follows.
const PREFIX: &str = "tilemark-servers-";

/// Returns the memory in which a server of data of this size keeps a part of them: a tenth, as in
/// the source of the tile's working set.
pub(crate) fn cache_of(size: Bytes) -> Bytes {
    Bytes::new(size.get() / 10)
}

impl MemoryGroup {
    /// Creates a group with a memory limit of `bytes`, page cache included.
    ///
    /// # Errors
    /// This host has no such groups, or this process may not create one.
    pub(crate) fn make(name: &str, bytes: Bytes) -> Result<Self, ApplicationError> {
        let controllers = fs::read_to_string(format!("{V2}/cgroup.subtree_control"));
        let has_v2 =
            controllers.is_ok_and(|list| list.split_whitespace().any(|one| one == "memory"));
        let has_v1 = Path::new(V1).join(SETTINGS_V1[0]).exists();
        let (roots, [limit, swap]) = match (has_v1, has_v2) {
            (true, _) => (vec![V1, V1_CPU], SETTINGS_V1),
            (false, true) => (vec![V2], ["memory.max", "memory.swap.max"]),
            (false, false) => return Err(ApplicationError::NoMemoryGroups),
        };
        let name = format!("{PREFIX}{}-{}-{name}", pid_namespace(), std::process::id());
        let mut group = Self { directories: Vec::new(), memory: bytes };
        for root in roots.into_iter().filter(|root| Path::new(root).exists()) {
            let path = Path::new(root).join(&name);
            let failed = |source| ApplicationError::MemoryGroup { path: path.clone(), source };
            fs::create_dir(&path).map_err(failed)?;
            group.directories.push(path.clone());
            if root != V1_CPU {
                fs::write(path.join(limit), bytes.get().to_string()).map_err(failed)?;
                // A kernel without accounting of swap lacks this file, and then has nothing to
                // limit.
                let _ = fs::write(path.join(swap), "0");
            }
        }
        Ok(group)
    }

    /// Returns the files to which a process writes its id to enter the group.
    pub(crate) fn entries(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|own| own.join("cgroup.procs")).collect()
    }

    /// Returns the CPU time of all present and past processes of the group, in seconds. The
    /// processes' own counters would miss children that were not waited for, as with Exim.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        self.directories.iter().find_map(|own| cpu_seconds(own))
    }

    /// Replaces the result of an application's start or check if the kernel killed a process of the
    /// group because the memory limit was reached.
    pub(crate) fn explain<T>(
        &self,
        name: &str,
        phase: Phase,
        result: Result<T, ApplicationError>,
    ) -> Result<T, ApplicationError> {
        // The kernel counts a kill before the process gets it. So a server that was seen to end
        // by it has been counted.
        if self.has_killed() {
            let (name, memory) = (name.to_owned(), self.memory);
            return Err(ApplicationError::OutOfMemory { name, phase, memory });
        }
        result
    }

    fn has_killed(&self) -> bool {
        let files = ["memory.oom_control", "memory.events"];
        let paths = self.directories.iter().flat_map(|own| files.map(|file| own.join(file)));
        paths.filter_map(|path| fs::read_to_string(path).ok()).any(|text| kills(&text) > 0)
    }

    /// Returns true if no process of the group runs or waits for storage (states R and D in
    /// proc(5)).
    pub(crate) fn is_idle(&self) -> bool {
        let processes = self.processes();
        // A list that cannot be read says nothing.
        !processes.is_empty()
            && processes.iter().all(|pid| {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                // The name of the program, in parentheses, may have any characters.
                let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
                !state.is_some_and(|rest| rest.starts_with(['R', 'D']))
            })
    }

    fn processes(&self) -> Vec<i32> {
        let text = self.entries().iter().find_map(|file| fs::read_to_string(file).ok());
        text.iter().flat_map(|text| text.lines()).filter_map(|line| line.parse().ok()).collect()
    }

    /// Kills all processes of the group.
    fn end_processes(&self) {
        for pid in self.processes() {
            // It is opened first and looked for again: its number may be another's by now.
            let held = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            if let Some(held) = held.filter(|_| self.processes().contains(&pid)) {
                let _ = pidfd_send_signal(held, Signal::KILL);
            }
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A group can be removed when its last process is gone, which takes the kernel a moment.
        for _ in 0..50 {
            self.end_processes();
            self.directories.retain(|own| fs::remove_dir(own).is_err() && own.exists());
            if self.directories.is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn cpu_seconds(directory: &Path) -> Option<f64> {
    let nanoseconds = fs::read_to_string(directory.join("cpuacct.usage"));
    let count = match nanoseconds {
        Ok(text) => text.trim().parse::<u64>().ok()?,
        Err(_) => {
            let text = fs::read_to_string(directory.join("cpu.stat")).ok()?;
            let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
            usage.parse::<u64>().ok()?.checked_mul(1000)?
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
    Some(count as f64 / 1e9)
}

/// Returns the number of processes that the kernel killed, according to the group's `events` file.
fn kills(events: &str) -> u64 {
    let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Kills processes that killed runs left in their groups, and removes the groups.
pub(crate) fn remove_stale() {
    let roots = [V1, V1_CPU, V2].into_iter().filter_map(|root| fs::read_dir(root).ok());
    for entry in roots.flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_stale) {
            drop(MemoryGroup { directories: vec![entry.path()], memory: Bytes::ZERO });
        }
    }
}

/// Returns true if the group belongs to a run that has ended. Returns false for groups of other PID
/// namespaces: a container may share the hierarchy, but its process ids have no meaning here.
fn is_stale(name: &str) -> bool {
    let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().split('-');
    let (namespace, pid) = (parts.next(), parts.next().and_then(|pid| pid.parse::<u32>().ok()));
    namespace == Some(&pid_namespace())
        && pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

/// Returns the number of this process's PID namespace (namespaces(7): the link is `pid:[NUMBER]`).
fn pid_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_read_of_both_versions() {
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 1\noom_kill 3\n"), 3);
        assert_eq!(kills("low 0\nhigh 0\nmax 812\noom 2\noom_kill 1\noom_group_kill 7\n"), 1);
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\n"), 0);
    }

    #[test]
    fn server_killed_for_its_memory_while_starting_is_named() {
        let Ok(group) = MemoryGroup::make("full-at-start", Bytes::new(16 << 20)) else {
            eprintln!("skipped: this test needs memory groups, and root");
            return;
        };
        let greedy = "head -c 256M /dev/zero | tail -c 200M";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", greedy]);
        let ended = process_home::entering(&group.entries(), &command).output();
        assert!(!ended.expect("a shell").status.success());
        let error = group.explain("tile-1", Phase::Start, Ok(())).expect_err("full memory");
        let text = error.to_string();
        assert!(
            text.starts_with("tile-1, while starting: its memory of 16 MiB was full"),
            "{text}"
        );
    }

    #[test]
    fn only_groups_of_ended_processes_of_this_namespace_are_stale() {
        let own = pid_namespace();
        assert!(!own.is_empty());
        // No process has this number: the kernel's largest is 2^22.
        assert!(is_stale(&format!("{PREFIX}{own}-99999999-run-tile-1")));
        assert!(!is_stale(&format!("{PREFIX}{own}-{}-run-tile-1", std::process::id())));
        assert!(!is_stale(&format!("{PREFIX}1{own}-99999999-run-tile-1")));
        for name in ["tilemark-throttle-1", "other", PREFIX, "tilemark-servers-99999999-run"] {
            assert!(!is_stale(name), "{name}");
        }
    }
}
