//! Marker of a directory or file of Tilemark: the process that created it, and a check if that
//! process is still alive.

use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Schema id in every marker. A file without this id is not Tilemark's.
pub(crate) const MARKER_SCHEMA: &str = "tilemark.owner/1.0";

/// Owner of a directory or file. Stored as JSON; see `docs/safety.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Version of the format: [`MARKER_SCHEMA`].
    pub(crate) schema: String,
    pub(crate) run_id: String,
    pub(crate) pid: u32,
    /// Start time of the process in clock ticks after boot, which detects a reused pid.
    pub(crate) start_ticks: u64,
    /// PID namespace in which the pid is valid.
    pub(crate) pid_namespace: String,
    pub(crate) boot_id: String,
    pub(crate) host: String,
    /// Time of creation, RFC 3339.
    pub(crate) created: String,
    pub(crate) tool_version: String,
    /// Bytes that the run may allocate at most.
    pub(crate) reserved_bytes: u64,
    /// True if the file existed before Tilemark used it, and therefore stays when the run is
    /// removed.
    #[serde(default)]
    pub(crate) keep: bool,
    /// For a marker beside a file: the file's device and inode numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inode: Option<(u64, u64)>,
}

/// State of the process that owns a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerState {
    /// The owner is this process.
    This,
    /// The owner is another process that runs now.
    Alive {
        /// Process id of the owner.
        pid: u32,
    },
    /// The owner ended, or the host was restarted since.
    Dead,
    /// The owner ran on another host, so its state is unknown.
    Elsewhere {
        /// Name of the other host.
        host: String,
    },
}

/// Object of Tilemark that a run left behind or is using. Outside this crate only [`Owned::of`]
/// creates one, so the state of the owner always comes from a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owned {
    /// Path of the sub-directory, the file or the device.
    pub path: PathBuf,
    /// Id of the run; empty if it was killed before it could write its marker.
    pub run_id: String,
    /// State of the owner. A device's label does not name its process, so its owner is always
    /// [`OwnerState::Dead`]. A live run is detected by its exclusive use.
    pub state: OwnerState,
    /// Bytes allocated on disk; for a device, the size of the label.
    pub bytes: Bytes,
    /// Time of creation, RFC 3339; empty if `run_id` is empty.
    pub created: String,
}

impl Owned {
    /// Describes the object at `path` with `bytes` of space, from its marker. `locked` is the open
    /// file that a live owner holds locked.
    pub fn of(marker: &Marker, locked: impl AsFd, path: PathBuf, bytes: Bytes) -> Self {
        Self {
            path,
            run_id: marker.run_id.clone(),
            state: marker.state(locked),
            bytes,
            created: marker.created.clone(),
        }
    }
}

impl Marker {
    /// Creates a marker of this process for a run that may allocate `reserved` bytes.
    pub fn new(run_id: &str, reserved: Bytes) -> Self {
        let pid = std::process::id();
        Self {
            schema: MARKER_SCHEMA.to_owned(),
            run_id: run_id.to_owned(),
            pid,
            start_ticks: start_ticks(pid).unwrap_or(0),
            pid_namespace: pid_namespace(),
            boot_id: boot_id(),
            host: host(),
            created: jiff::Timestamp::now().to_string(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            reserved_bytes: reserved.get(),
            keep: false,
            inode: None,
        }
    }

    /// Parses a marker. `None` if the bytes are not exactly a marker of Tilemark.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let marker: Self = serde_json::from_slice(bytes).ok()?;
        (marker.schema == MARKER_SCHEMA && crate::options::run_id_is_valid(&marker.run_id))
            .then_some(marker)
    }

    /// Returns true if the bytes are the beginning of a marker, which a kill may leave.
    pub(crate) fn begins(bytes: &[u8]) -> bool {
        let start = format!("{{\n  \"schema\": \"{MARKER_SCHEMA}\",");
        let length = bytes.len().min(start.len());
        bytes[..length] == start.as_bytes()[..length]
    }

    /// Encodes the marker for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("a marker has only string keys")
    }

    /// Determines the state of the owner. `locked` is the open file that a live owner holds locked.
    pub(crate) fn state(&self, locked: impl AsFd) -> OwnerState {
        let alive = OwnerState::Alive { pid: self.pid };
        if self.boot_id != boot_id() {
            return if self.host == host() {
                OwnerState::Dead
            } else {
                OwnerState::Elsewhere { host: self.host.clone() }
            };
        }
        if self.pid_namespace == pid_namespace() {
            return match start_ticks(self.pid) {
                Some(ticks) if ticks == self.start_ticks && self.pid == std::process::id() => {
                    OwnerState::This
                }
                Some(ticks) if ticks == self.start_ticks => alive,
                _ => OwnerState::Dead,
            };
        }
        // Another container on this kernel: its pids mean nothing here, its lock does.
        match flock(&locked, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let _ = flock(&locked, FlockOperation::Unlock);
                OwnerState::Dead
            }
            Err(Errno::WOULDBLOCK) => alive,
            Err(_) => OwnerState::Elsewhere { host: self.host.clone() },
        }
    }
}

impl Marker {
    /// Determines the state of the owner like [`Marker::state`], for a caller that holds the lock.
    /// An owner in another container of this kernel has ended, because otherwise it would hold the
    /// lock.
    pub(crate) fn state_under_lock(&self) -> OwnerState {
        if self.boot_id == boot_id() && self.pid_namespace != pid_namespace() {
            return OwnerState::Dead;
        }
        // Beyond that case the lock is not asked, so any object will do.
        self.state(rustix::fs::CWD)
    }
}

/// Locked marker. Dropping it unlocks explicitly. Closing alone would leave the lock to a child
/// process that was forked but has not executed its program yet.
#[derive(Debug)]
pub(crate) struct LockedMarker(pub std::fs::File);

impl Drop for LockedMarker {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Locks `file` for as long as it stays open. Does nothing on a file system without locks.
pub(crate) fn lock(file: impl AsFd) {
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

pub(crate) fn boot_id() -> String {
    read_trimmed("/proc/sys/kernel/random/boot_id")
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn pid_namespace() -> String {
    fs::read_link("/proc/self/ns/pid")
        .map(|link| link.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn read_trimmed(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Returns the start time of a process, field 22 of `/proc/pid/stat` (proc(5)). The command before
/// it may hold spaces and brackets. `None` for a zombie, which counts as ended.
fn start_ticks(pid: u32) -> Option<u64> {
    parse_start_ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_start_ticks(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn null() -> File {
        File::open("/dev/null").expect("/dev/null")
    }

    #[test]
    fn a_marker_of_this_process_is_known_as_such_after_a_round_trip() {
        let marker = Marker::new("run-1", Bytes::MIB);
        let read = Marker::parse(&marker.to_bytes()).expect("valid");
        assert_eq!(read, marker);
        assert_eq!(read.state(null()), OwnerState::This);
    }

    #[test]
    fn half_a_marker_is_known_by_its_beginning() {
        let whole = Marker::new("run-1", Bytes::MIB).to_bytes();
        for length in [0, 1, 20, 100, whole.len()] {
            assert!(Marker::begins(&whole[..length]));
        }
        assert!(!Marker::begins(b"thesis"));
    }

    #[test]
    fn a_reused_pid_is_not_taken_for_the_owner() {
        let mut marker = Marker::new("run-1", Bytes::MIB);
        marker.start_ticks += 1;
        assert_eq!(marker.state(null()), OwnerState::Dead);
    }

    #[test]
    fn owner_before_a_reboot_is_dead_and_on_another_host_unknown() {
        let mut marker = Marker::new("run-1", Bytes::MIB);
        marker.boot_id = "another".to_owned();
        assert_eq!(marker.state(null()), OwnerState::Dead);
        marker.host = "elsewhere".to_owned();
        assert_eq!(marker.state(null()), OwnerState::Elsewhere { host: "elsewhere".to_owned() });
    }

    #[test]
    fn in_another_container_the_lock_decides() {
        let path = tempfile::NamedTempFile::new().expect("temporary file");
        let mut marker = Marker::new("run-1", Bytes::MIB);
        marker.pid_namespace = "pid:[1]".to_owned();
        let held = File::open(path.path()).expect("open");
        lock(&held);
        let looking = File::open(path.path()).expect("open");
        assert_eq!(marker.state(&looking), OwnerState::Alive { pid: marker.pid });
        drop(held);
        assert_eq!(marker.state(&looking), OwnerState::Dead);
    }

    #[test]
    fn another_program_s_json_is_not_a_marker() {
        assert_eq!(Marker::parse(b"{}"), None);
        assert_eq!(Marker::parse(b""), None);
        let mut marker = Marker::new("run-1", Bytes::MIB);
        marker.run_id = "../x".to_owned();
        assert_eq!(Marker::parse(&marker.to_bytes()), None);
        let later =
            Marker { schema: "tilemark.owner/2.0".to_owned(), ..Marker::new("a", Bytes::MIB) };
        assert_eq!(Marker::parse(&later.to_bytes()), None, "what it means is not known");
    }

    #[test]
    fn a_command_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(parse_start_ticks(stat), Some(4711));
        assert_eq!(parse_start_ticks(&stat.replace(") S", ") Z")), None);
    }
}
