//! Trace file system of the kernel, with a tracing instance for this capture.
//!
//! Source: kernel `Documentation/trace/ftrace.rst` ("Instances", "per_cpu", "trace_pipe_raw").

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::error::CaptureError;

/// Usual mount points; other mount points are found in the list of mounts.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Prefix of the instances' names.
const PREFIX: &str = "tilemark-";
/// Buffer size for texts; larger than any description.
const TEXT_BYTES: usize = 64 << 10;

/// Mount without a path, which other processes do not see. It ends when closed.
type PrivateMount = Arc<OwnedFd>;

/// Mounted trace file system.
#[derive(Debug, Clone)]
pub(crate) struct Tracefs {
    place: PathBuf,
    mount: Option<PrivateMount>,
}

impl Tracefs {
    /// Finds the trace file system and block events in it. If it is not mounted and this user may
    /// mount, it is mounted for this process alone.
    pub fn find() -> Result<Self, CaptureError> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mounted = mounts.lines().filter_map(tracefs_mount);
        let places = PLACES.iter().map(PathBuf::from).chain(mounted);
        let mut refused = None;
        for place in places {
            match fs::metadata(place.join("instances")) {
                Ok(_) => return Self { place, mount: None }.with_events(),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    refused = Some(place);
                }
                Err(_) => {}
            }
        }
        if let Some(path) = refused {
            return Err(CaptureError::NotAllowed { path });
        }
        Self::mounted_for_us().ok_or(CaptureError::NoTracefs)?.with_events()
    }

    /// Mounts the file system for this process (fsopen(2) and fsmount(2), Linux 5.2 and later). It
    /// is reached through the descriptor.
    fn mounted_for_us() -> Option<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
        fsconfig_create(&context).ok()?;
        let none = MountAttrFlags::empty();
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, none).ok()?;
        let place = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Some(Self { place, mount: Some(Arc::new(mount)) })
    }

    fn with_events(self) -> Result<Self, CaptureError> {
        let path = self.place.join("events/block/block_rq_issue");
        match fs::metadata(&path) {
            Ok(_) => Ok(self),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(CaptureError::NotAllowed { path: self.place })
            }
            Err(_) => Err(CaptureError::NoEvents { path }),
        }
    }

    /// Creates a stopped instance, and removes the instances of killed captures.
    pub fn instance(&self) -> Result<Instance, CaptureError> {
        let instances = self.place.join("instances");
        remove_leftovers(&instances);
        let process = std::process::id();
        let name = format!("{PREFIX}{process}-{}", started(process).unwrap_or(0));
        // Several captures in a process have a number at the end of the name.
        for number in 0..100 {
            let path = instances.join(format!("{name}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let instance = Instance { path, _mount: self.mount.clone() };
                    instance.write("tracing_on", "0")?;
                    return Ok(instance);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(CaptureError::io(&path, source)),
            }
        }
        Err(CaptureError::Io { path: instances, source: io::ErrorKind::AlreadyExists.into() })
    }
}

/// Parses the mount point of tracefs from a line of `/proc/mounts`.
fn tracefs_mount(line: &str) -> Option<PathBuf> {
    let mut words = line.split(' ');
    let place = words.nth(1)?;
    (words.next()? == "tracefs").then(|| PathBuf::from(place.replace("\\040", " ")))
}

/// Stops and removes the instances of killed captures; returns the number of removed instances.
pub fn remove_stale() -> usize {
    Tracefs::find().map_or(0, |tracefs| remove_leftovers(&tracefs.place.join("instances")))
}

/// Removes instances whose process has ended, and returns their number. The kernel refuses to
/// remove an instance that is being read. This matters because processes of other PID namespaces
/// (containers) are not visible here, and their captures must continue.
fn remove_leftovers(instances: &Path) -> usize {
    let Ok(entries) = fs::read_dir(instances) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((process, start)) = name.to_str().and_then(maker) else { continue };
        if started(process) != Some(start) {
            removed += usize::from(fs::remove_dir(entry.path()).is_ok());
        }
    }
    removed
}

/// Parses process and start time from an instance's name.
fn maker(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns the start time of a process, in ticks since boot (`proc_pid_stat(5)`, field 22);
/// together with the process id it is unique.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

/// Tracing instance of this capture; removed when dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    path: PathBuf,
    /// Mount that the path leads through, if it is a private mount.
    _mount: Option<PrivateMount>,
}

impl Instance {
    /// Makes an instance of any directory, for tests of the written settings.
    #[cfg(test)]
    pub fn at(path: PathBuf) -> Self {
        Self { path, _mount: None }
    }

    pub fn write(&self, name: &str, value: &str) -> Result<(), CaptureError> {
        let path = self.path.join(name);
        fs::write(&path, value).map_err(|source| CaptureError::io(&path, source))
    }

    /// Reads a setting or description.
    pub fn read(&self, name: &str) -> Result<String, CaptureError> {
        let path = self.path.join(name);
        read_whole(&path).map_err(|source| CaptureError::io(&path, source))
    }

    /// Returns true if such a setting or event exists.
    pub fn has(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// Returns the path of the instance.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the numbers of the instance's CPUs.
    pub fn cpus(&self) -> Result<Vec<u32>, CaptureError> {
        let path = self.path.join("per_cpu");
        let entries = fs::read_dir(&path).map_err(|source| CaptureError::io(&path, source))?;
        let number = |name: &str| name.strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<u32> =
            entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    /// Opens the raw pages of a CPU; reading them never blocks.
    pub fn pages(&self, cpu: u32) -> Result<File, CaptureError> {
        let path = self.path.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(&path)
            .map_err(|source| CaptureError::io(&path, source))
    }

    /// Returns the number of events lost because a CPU's buffer was full.
    pub fn lost(&self, cpu: u32) -> u64 {
        let text = self.read(&format!("per_cpu/cpu{cpu}/stats")).unwrap_or_default();
        lost_in(&text)
    }
}

/// Reads a text in one call: some of these files (`header_page`) return only their first part to
/// small reads.
fn read_whole(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut bytes = vec![0; TEXT_BYTES];
    let mut length = 0;
    loop {
        bytes.resize(length + TEXT_BYTES, 0);
        match file.read(&mut bytes[length..])? {
            0 => break,
            count => length += count,
        }
    }
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.write("tracing_on", "0");
        let _ = self.write("events/enable", "0");
        // A refusal means that another process reads it; the next start tries again.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Parses the number of lost events in a CPU's statistics: overwritten events, events of a writer
/// that was interrupted too often, and events that came while the buffer was full.
fn lost_in(stats: &str) -> u64 {
    let value = |line: &str| -> Option<u64> {
        let (name, value) = line.split_once(':')?;
        let is_loss = ["overrun", "commit overrun", "dropped events"].contains(&name);
        if is_loss { value.trim().parse().ok() } else { None }
    };
    stats.lines().filter_map(value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_lose_events_counts() {
        let stats = "entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 9\n\
                     oldest event ts:     0.000000\ndropped events: 5\nread events: 7\n";
        assert_eq!(lost_in(stats), 9);
    }

    #[test]
    fn only_names_of_ours_are_leftovers() {
        assert_eq!(maker("tilemark-12-345-0"), Some((12, 345)));
        assert_eq!(maker("tilemark-mine"), None);
        assert_eq!(maker("perf-12-345"), None);
    }

    #[test]
    fn a_process_is_known_by_its_number_and_start() {
        assert!(started(std::process::id()).is_some_and(|start| start > 0));
        assert_eq!(started(u32::MAX), None);
    }

    #[test]
    fn privately_mounted_tracefs_is_invisible_to_others() {
        let mounts = || fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let before = mounts();
        let Some(tracefs) = Tracefs::mounted_for_us() else {
            eprintln!("skipped: tracefs cannot be mounted by this user or kernel");
            return;
        };
        assert!(tracefs.place.join("instances").is_dir());
        assert_eq!(mounts(), before);
    }

    #[test]
    fn stale_tracing_instance_is_removed_and_a_live_one_stays() {
        let Ok(tracefs) = Tracefs::find() else {
            eprintln!("skipped: there is no tracefs here, or not for this user");
            return;
        };
        let live = tracefs.instance().expect("an instance");
        // No process of this number started at boot.
        let stale = tracefs.place.join("instances/tilemark-4194304-1-0");
        fs::create_dir(&stale).expect("an instance");
        assert!(remove_stale() >= 1);
        assert!(!stale.exists() && live.path().exists());
    }

    #[test]
    fn an_instance_that_somebody_reads_goes_on() {
        let Ok(tracefs) = Tracefs::find() else {
            eprintln!("skipped: there is no tracefs here, or not for this user");
            return;
        };
        // As one of another PID namespace: no process of this number is seen here.
        let path = tracefs.place.join("instances/tilemark-4194304-2-0");
        fs::create_dir(&path).expect("an instance");
        let other = Instance { path, _mount: None };
        let read = other.pages(other.cpus().expect("CPUs")[0]).expect("pages");
        remove_stale();
        assert_eq!(other.read("tracing_on").expect("a switch").trim(), "1");
        drop(read);
        assert!(remove_stale() >= 1 && !other.path().exists());
    }

    #[test]
    fn a_mount_with_a_space_is_found() {
        let line = "tracefs /mnt/my\\040traces tracefs rw,nosuid 0 0";
        assert_eq!(tracefs_mount(line), Some(PathBuf::from("/mnt/my traces")));
        assert_eq!(tracefs_mount("proc /proc proc rw 0 0"), None);
    }
}
