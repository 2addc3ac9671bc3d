use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::throttle::hierarchy::Hierarchy;
use crate::throttle::limits::{line_v2, lines_v1};
use crate::throttle::{Limits, ThrottleRefusal};

/// Prefix of the control groups' names; the process id follows.
const PREFIX: &str = "tilemark-throttle-";

/// Limits on this process, in force until dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the limits"]
pub struct Throttle {
    home: Hierarchy,
    group: PathBuf,
    /// True if the controller of version 2 first had to be enabled for child groups.
    handed_down: bool,
    device: String,
    limits: Limits,
}

impl Throttle {
    /// Limits this process's I/O to the device behind `path`. A process has one throttle at a time.
    ///
    /// # Errors
    ///
    /// If limits cannot be set here, with the reason; everything is then unchanged.
    pub fn begin(path: &Path, limits: &Limits) -> Result<Self, ThrottleRefusal> {
        let found = datastore::device_behind(path);
        let found =
            found.map_err(|source| ThrottleRefusal::NoPath { path: path.to_owned(), source })?;
        let device = found.ok_or_else(|| ThrottleRefusal::NoDevice(path.to_owned()))?;
        let home = Hierarchy::own().ok_or(ThrottleRefusal::NoController)?;
        remove_stale_in(home.group());
        let group = home.group().join(format!("{PREFIX}{}", std::process::id()));
        // An existing group with the id of this process remains from an earlier step.
        match fs::create_dir(&group) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                return Err(ThrottleRefusal::NotMade { path: group, source });
            }
            _ => {}
        }
        // From here on a refusal drops it, which undoes everything.
        let mut throttle =
            Self { home, group, handed_down: false, device: device.name, limits: *limits };
        throttle.set(&device.number)?;
        Ok(throttle)
    }

    /// Describes the limits: `500 reads/s on vda`.
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
        // Errors concern no one now. At worst a group without processes stays behind or, if the
        // process cannot leave it, the limits on this process, which ends soon.
        if self.handed_down {
            let _ = write(&home.join("cgroup.subtree_control"), "-io");
        }
        let _ = join(home);
        remove(&self.group);
    }
}

/// Removes a group, with several tries. Threads of the load generator that are ending cannot be
/// moved, and keep the group busy for milliseconds until the kernel has removed them.
fn remove(group: &Path) {
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => sleep(REMOVE_PAUSE),
            _ => return,
        }
    }
}

/// Number of tries; with the pause below they take a second.
const REMOVE_TRIES: u32 = 100;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// Removes groups of processes that have ended, below the group of this process; returns the number
/// of removed groups.
pub fn remove_stale() -> usize {
    Hierarchy::own().map_or(0, |home| remove_stale_in(home.group()))
}

fn remove_stale_in(home: &Path) -> usize {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let is_stale = |name: &str| {
        let maker = name.strip_prefix(PREFIX).and_then(|pid| pid.parse::<u32>().ok());
        maker.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
    };
    // The kernel refuses to remove a group with processes, whatever its name.
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_stale))
        .filter(|entry| fs::remove_dir(entry.path()).is_ok())
        .count()
}

/// Moves this process with all its threads into a group. The written `0` stands for the writing
/// process.
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

/// Writes a line to an existing file. If the file is missing, the kernel lacks the limit.
fn write(file: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(line.as_bytes())
}
