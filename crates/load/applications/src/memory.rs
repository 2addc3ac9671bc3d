//! Memory limit of an application, by a control group of its own. Without it the page cache of the
//! whole host serves the reads, and the storage sees none of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use units::Bytes;

use crate::error::ApplicationError;

/// Control group; removed when dropped.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    directory: PathBuf,
}

const V1: &str = "/sys/fs/cgroup/memory";
const V2: &str = "/sys/fs/cgroup";
const SETTINGS_V1: [&str; 2] = ["memory.limit_in_bytes", "memory.swappiness"];

impl MemoryGroup {
    /// Makes a group with a limit of so many bytes, page cache included.
    ///
    /// # Errors
    /// This host has no such groups, or this process may not make one.
    pub(crate) fn make(name: &str, bytes: Bytes) -> Result<Self, ApplicationError> {
        let controllers = fs::read_to_string(format!("{V2}/cgroup.subtree_control"));
        let has_v2 =
            controllers.is_ok_and(|list| list.split_whitespace().any(|one| one == "memory"));
        let has_v1 = Path::new(V1).join(SETTINGS_V1[0]).exists();
        let (root, [limit, swap]) = match (has_v1, has_v2) {
            (true, _) => (V1, SETTINGS_V1),
            (false, true) => (V2, ["memory.max", "memory.swap.max"]),
            (false, false) => return Err(ApplicationError::NoMemoryGroups),
        };
        let directory = Path::new(root).join(format!("tilemark-{name}"));
        let failed = |source| ApplicationError::MemoryGroup { path: directory.clone(), source };
        fs::create_dir(&directory).map_err(failed)?;
        let group = Self { directory: directory.clone() };
        fs::write(directory.join(limit), bytes.get().to_string()).map_err(failed)?;
        // A kernel without accounting of swap lacks this file, and then has nothing to limit.
        let _ = fs::write(directory.join(swap), "0");
        Ok(group)
    }

    /// Command that enters the group and then runs `command`.
    pub(crate) fn within(&self, command: &Command) -> Command {
        // The shell enters before it changes to the program: a process that enters later has
        // charged its first pages to another group.
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$1\" && shift && exec \"$@\"", "sh"]);
        shell.arg(self.directory.join("cgroup.procs"));
        shell.arg(command.get_program()).args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                shell.env(name, value);
            }
        }
        shell
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A group can be removed when its last process is gone, which takes the kernel a moment.
        for _ in 0..50 {
            if fs::remove_dir(&self.directory).is_ok() || !self.directory.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
