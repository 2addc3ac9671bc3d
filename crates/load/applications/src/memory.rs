//! Memory limit of an application, by a control group of its own. Without it the page cache of the
//! whole host serves the reads, and the storage sees none of them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use units::Bytes;

/// Memory of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryLimit {
    /// Limited to so many bytes, page cache included.
    Limited(Bytes),
    /// Not limited, for this reason: the page cache hides the storage.
    Unlimited(String),
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited(bytes) => write!(f, "{bytes}"),
            Self::Unlimited(why) => write!(f, "not limited ({why})"),
        }
    }
}

/// Control group; removed when dropped.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    directory: PathBuf,
}

const V1: &str = "/sys/fs/cgroup/memory";
const V2: &str = "/sys/fs/cgroup";

impl MemoryGroup {
    /// Makes a group with a limit. Without one, the second part says why.
    pub(crate) fn make(name: &str, bytes: Bytes) -> (Option<Self>, MemoryLimit) {
        match Self::try_make(name, bytes) {
            Ok(group) => (Some(group), MemoryLimit::Limited(bytes)),
            Err(why) => (None, MemoryLimit::Unlimited(why)),
        }
    }

    fn try_make(name: &str, bytes: Bytes) -> Result<Self, String> {
        let is_v1 = Path::new(V1).join("memory.limit_in_bytes").exists();
        let has_v2 = || {
            let controllers = fs::read_to_string(format!("{V2}/cgroup.subtree_control"));
            controllers.is_ok_and(|list| list.split_whitespace().any(|one| one == "memory"))
        };
        let (root, settings): (&str, &[(&str, String)]) = if is_v1 {
            let settings = [
                ("memory.limit_in_bytes", bytes.get().to_string()),
                ("memory.swappiness", "0".to_owned()),
            ];
            (V1, &settings.clone())
        } else if has_v2() {
            let settings =
                [("memory.max", bytes.get().to_string()), ("memory.swap.max", "0".to_owned())];
            (V2, &settings.clone())
        } else {
            return Err("this host has no memory control groups".to_owned());
        };
        let directory = Path::new(root).join(format!("tilemark-{name}"));
        let failed = |error: std::io::Error| format!("making {}: {error}", directory.display());
        fs::create_dir(&directory).map_err(failed)?;
        let group = Self { directory: directory.clone() };
        for (index, (file, value)) in settings.iter().enumerate() {
            let written = fs::write(directory.join(file), value);
            // Kernels without swap accounting lack the second file, and then nothing is swapped by
            // the group's limit that was not before.
            if index == 0 {
                written.map_err(failed)?;
            }
        }
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
