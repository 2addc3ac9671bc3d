use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::throttle::hierarchy::Hierarchy;
use crate::throttle::limits::{line_v2, lines_v1};
use crate::throttle::{Limits, ThrottleRefusal};

/// Our groups begin with this; the process that made one comes behind it.
const PREFIX: &str = "tilemark-throttle-";

/// Limits in force on this process, until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the limits"]
pub struct Throttle {
    home: Hierarchy,
    group: PathBuf,
    /// Whether version 2 had to be told to hand its controller down.
    handed_down: bool,
    device: String,
    limits: Limits,
}

impl Throttle {
    /// Limits what this process may do to the device behind `path`, from now on. There is one
    /// at a time in a process.
    ///
    /// # Errors
    ///
    /// When it cannot be done here, and why; everything is then as it was.
    pub fn begin(path: &Path, limits: &Limits) -> Result<Self, ThrottleRefusal> {
        let found = datastore::device_behind(path);
        let found =
            found.map_err(|source| ThrottleRefusal::NoPath { path: path.to_owned(), source })?;
        let device = found.ok_or_else(|| ThrottleRefusal::NoDevice(path.to_owned()))?;
        let home = Hierarchy::own().ok_or(ThrottleRefusal::NoController)?;
        remove_stale_in(home.group());
        let group = home.group().join(format!("{PREFIX}{}", std::process::id()));
        // One that is there under the number of this process is ours, from a step before.
        match fs::create_dir(&group) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                return Err(ThrottleRefusal::NotMade { path: group, source });
            }
            _ => {}
        }
        // From here on a refusal drops it, and that undoes whatever was done.
        let mut throttle =
            Self { home, group, handed_down: false, device: device.name, limits: *limits };
        throttle.set(&device.number)?;
        Ok(throttle)
    }

    /// What holds, in words: `500 reads/s on vda`.
    pub fn describe(&self) -> String {
        format!("{} on {}", self.limits.describe(), self.device)
    }

    fn set(&mut self, number: &str) -> Result<(), ThrottleRefusal> {
        match &self.home {
            Hierarchy::V1(_) => {
                for (file, line) in lines_v1(&self.limits, number) {
                    set(&self.group.join(file), &line)?;
                }
                join(&self.group)
            }
            Hierarchy::V2(home) => {
                join(&self.group)?;
                if !self.group.join("io.max").exists() {
                    let control = home.join("cgroup.subtree_control");
                    write(&control, "+io").map_err(|source| ThrottleRefusal::Shared {
                        group: home.clone(),
                        source,
                    })?;
                    self.handed_down = true;
                }
                set(&self.group.join("io.max"), &line_v2(&self.limits, number))
            }
        }
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let home = self.home.group();
        // Nobody is left to tell. What stays behind is a group without processes or, if the
        // process cannot leave it, the limits on this process, which ends soon.
        if self.handed_down {
            let _ = write(&home.join("cgroup.subtree_control"), "-io");
        }
        let _ = join(home);
        remove(&self.group);
    }
}

/// Threads of the load generator that are about to end cannot be moved any more, and keep the
/// group busy until the kernel is done with them: milliseconds.
fn remove(group: &Path) {
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => sleep(REMOVE_PAUSE),
            _ => return,
        }
    }
}

/// A second in all.
const REMOVE_TRIES: u32 = 100;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// Removes groups of ours whose process is gone, below the group this process is in. How many.
pub fn remove_stale() -> usize {
    Hierarchy::own().map_or(0, |home| remove_stale_in(home.group()))
}

fn remove_stale_in(home: &Path) -> usize {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let is_stale = |name: &str| {
        let maker = name.strip_prefix(PREFIX).and_then(|pid| pid.parse::<u32>().ok());
        maker.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
    };
    // The kernel refuses to remove a group with processes in it, whatever its name is.
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_stale))
        .filter(|entry| fs::remove_dir(entry.path()).is_ok())
        .count()
}

/// Moves this process into a group, with all its threads: 0 stands for the writer.
fn join(group: &Path) -> Result<(), ThrottleRefusal> {
    set(&group.join("cgroup.procs"), "0")
}

fn set(file: &Path, line: &str) -> Result<(), ThrottleRefusal> {
    write(file, line).map_err(|source| ThrottleRefusal::NotSet {
        path: file.to_owned(),
        line: line.to_owned(),
        source,
    })
}

/// Writes a line to a file that is there; a missing one means that the kernel lacks the limit.
fn write(file: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(line.as_bytes())
}
