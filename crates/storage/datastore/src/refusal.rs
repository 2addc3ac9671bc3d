use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use units::Bytes;

use crate::AdoptProblem;

/// Type of file system on which a run would fill memory or the host's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsConcern {
    /// `tmpfs`, `ramfs` and the like: the run would measure and fill memory.
    Memory,
    /// `overlay`: usually the writable layer of a container.
    Overlay,
    /// File system mounted at `/`.
    Root,
}

impl FsConcern {
    const fn words(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Overlay => "a container's layer",
            Self::Root => "the root file system",
        }
    }
}

/// End of a device whose content was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// First 8 MiB of the device.
    First,
    /// Last 8 MiB of the device.
    Last,
}

impl End {
    /// Returns the word for messages: `first` or `last`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
        }
    }
}

/// Reason why a target is refused. Nothing has been written when a refusal is returned.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The run id cannot be part of a file name.
    #[error(
        "run id \"{run_id}\" is not 1 to 100 letters, digits, \"-\", \"_\" or \".\", not beginning with a dot"
    )]
    RunId {
        /// Run id as given.
        run_id: String,
    },
    /// Disks of an earlier run cannot be taken over.
    #[error("cannot take over {}: {problem}", path.display())]
    Adopt {
        /// Path of the sub-directory, or of a disk in it.
        path: PathBuf,
        /// Reason why the disks cannot be taken over.
        problem: AdoptProblem,
    },
    /// The path does not exist.
    #[error("{} does not exist", path.display())]
    Missing {
        /// Path of the target.
        path: PathBuf,
    },
    /// The directory of a file to be created does not exist.
    #[error("{} cannot be created: the directory {} does not exist", path.display(), parent.display())]
    ParentMissing {
        /// Path of the target.
        path: PathBuf,
        /// Directory that should hold the target.
        parent: PathBuf,
    },
    /// The object at the path is not of the kind that the target names.
    #[error("{} is a {found}, not a {wanted}", path.display())]
    WrongKind {
        /// Path of the target.
        path: PathBuf,
        /// Kind of the object, in words.
        found: &'static str,
        /// Kind that is needed, in words.
        wanted: &'static str,
    },
    /// The path or its content cannot be read.
    #[error("cannot {attempted} {}: {source}", object.display())]
    Unreadable {
        /// Operation that was attempted, as a verb.
        attempted: &'static str,
        /// Path on which it was attempted.
        object: PathBuf,
        /// Error that the system returned.
        #[source]
        source: Arc<io::Error>,
    },
    /// The kernel lacks openat2, or a system call filter blocks it. All files are opened by this
    /// call.
    #[error("openat2 is not available on this host; without it, nothing below {} is \
        opened", path.display())]
    NoOpenat2 {
        /// Path of the directory.
        path: PathBuf,
    },
    /// This user may not write to the directory.
    #[error("{} may not be written to by user {uid}", path.display())]
    NotWritable {
        /// Path of the target.
        path: PathBuf,
        /// Effective user id.
        uid: u32,
    },
    /// The file system is mounted read-only.
    #[error("{} is on the read-only mount {mount_point}", path.display())]
    ReadOnlyFs {
        /// Path of the target.
        path: PathBuf,
        /// Mount point of the file system.
        mount_point: String,
    },
    /// The file system must not be filled unless the user allows it.
    #[error("{} is on {} ({fs_type} mounted at {mount_point})", path.display(), concern.words())]
    FileSystem {
        /// Path of the target.
        path: PathBuf,
        /// Type of file system that is the reason for the refusal.
        concern: FsConcern,
        /// Type of the file system.
        fs_type: String,
        /// Mount point of the file system.
        mount_point: String,
    },
    /// The needed bytes exceed the limits.
    #[error(
        "{} needs {needed} ({} B); {} may be used: {rule}",
        path.display(), needed.get(), at_most(*limit)
    )]
    Space {
        /// Path of the target.
        path: PathBuf,
        /// Bytes that the run needs.
        needed: Bytes,
        /// Bytes that the run may use.
        limit: Bytes,
        /// Free bytes of the file system, or the size of the device.
        free: Bytes,
        /// Text of the rule behind the limit.
        rule: String,
    },
    /// The sub-directory of this run already exists.
    #[error("{} exists already", path.display())]
    AlreadyThere {
        /// Path of the target.
        path: PathBuf,
    },
    /// The existing file is not Tilemark's.
    #[error("file {} ({size}) exists, but does not carry tilemark's marker", path.display())]
    NotOurs {
        /// Path of the target.
        path: PathBuf,
        /// Size of the existing file.
        size: Bytes,
    },
    /// The file has further hard links.
    #[error("file {} has {links} hard links, but only 1 is allowed", path.display())]
    HardLinks {
        /// Path of the target.
        path: PathBuf,
        /// Number of hard links.
        links: u32,
    },
    /// A symbolic link without a target is at the path of the file to create.
    #[error("{} is a symbolic link whose target does not exist", path.display())]
    DanglingLink {
        /// Path of the target.
        path: PathBuf,
    },
    /// The file or device is used as swap space.
    #[error("{} is active swap space", path.display())]
    Swap {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// Another process uses the file.
    #[error("file {} is in use by {user}", path.display())]
    FileInUse {
        /// Path of the target.
        path: PathBuf,
        /// User of the file, in words, as far as it is known.
        user: String,
    },
    /// The file holds an image or a file system.
    #[error("file {} holds {signature} (at byte {offset})", path.display())]
    FileContent {
        /// Path of the target.
        path: PathBuf,
        /// Content that was recognised.
        signature: String,
        /// Offset of the content in bytes.
        offset: u64,
    },
    /// The device, one of its partitions or its disk is mounted.
    #[error("{} is mounted: {used} at {mount_point}{}", device.display(), in_namespace(*pid))]
    Mounted {
        /// Path of the target device.
        device: PathBuf,
        /// Device that is mounted: the target or a relative.
        used: String,
        /// Mount point of the device.
        mount_point: String,
        /// Id of a process that sees the mount, or 0 for this process's own namespace.
        pid: u32,
    },
    /// Another block device is built on the device.
    #[error("{} is in use: {used} is held by {holder}", device.display())]
    Held {
        /// Path of the target device.
        device: PathBuf,
        /// Device on which it is built: the target or a relative.
        used: String,
        /// Device that is built on it.
        holder: String,
    },
    /// The device has partitions.
    #[error("{} has the partitions {}", device.display(), partitions.join(", "))]
    Partitions {
        /// Path of the target device.
        device: PathBuf,
        /// Names of the partitions.
        partitions: Vec<String>,
    },
    /// The kernel does not allow exclusive use.
    #[error("{} is in exclusive use by something else: {used} (EBUSY)", device.display())]
    Busy {
        /// Path of the target device.
        device: PathBuf,
        /// Device that is in use: the target, or a device below it.
        used: String,
    },
    /// Another process has the device open, or an object that shares its blocks.
    #[error("{} is in use: process {process} has {used} open {}", device.display(), access(*writes))]
    OpenElsewhere {
        /// Path of the target device.
        device: PathBuf,
        /// Device or file that is open: the target or a relative.
        used: String,
        /// Process id and name.
        process: String,
        /// True if the process may write.
        writes: bool,
    },
    /// Another process holds the BSD lock of the device.
    #[error("{} is locked by another process (flock): {used}", device.display())]
    Locked {
        /// Path of the target device.
        device: PathBuf,
        /// Device that is locked: the target or a relative.
        used: String,
    },
    /// The object below a loop device is unknown.
    #[error("{} is on \"{name}\", but the file or device behind that name cannot be \
        determined", device.display())]
    BackingUnknown {
        /// Path of the target device.
        device: PathBuf,
        /// Name of the object as the kernel reports it.
        name: String,
    },
    /// The kernel treats the device as read-only.
    #[error("{} is a read-only device", device.display())]
    ReadOnlyDevice {
        /// Path of the target device.
        device: PathBuf,
    },
    /// The device is not empty, and its content is not Tilemark's.
    #[error(
        "{} is not empty: the {} 8 MiB hold {signature} (at byte {offset})",
        device.display(), end.word()
    )]
    Content {
        /// Path of the target device.
        device: PathBuf,
        /// Type of content that was recognised; `data` if it is unknown.
        signature: String,
        /// Offset of the content on the device, in bytes.
        offset: u64,
        /// End of the device in which the content was found.
        end: End,
    },
    /// The ends of the device are empty, but its middle is not.
    #[error(
        "{} is not empty: of {looked} blocks of 4 KiB looked at in its middle {filled} hold data, the first at byte {offset}",
        device.display()
    )]
    MiddleContent {
        /// Path of the target device.
        device: PathBuf,
        /// Number of blocks with a byte other than zero.
        filled: u64,
        /// Number of blocks that were read.
        looked: u64,
        /// Offset of the first non-zero byte on the device.
        offset: u64,
    },
    /// The user did not name by identity the device to be overwritten.
    #[error("writing to {} destroys its data, but its identity was not given", device.display())]
    IdentityMissing {
        /// Path of the target device.
        device: PathBuf,
        /// Names that would be accepted.
        choices: Vec<String>,
    },
    /// The given identity is not an identity of this device.
    #[error("\"{given}\" is not the identity of {}", device.display())]
    IdentityMismatch {
        /// Path of the target device.
        device: PathBuf,
        /// Name that was given.
        given: String,
        /// Names that would be accepted.
        choices: Vec<String>,
    },
    /// A rule is broken that only one kind of target has.
    #[error("{text}")]
    Rule {
        /// Stable name of the rule.
        id: &'static str,
        /// Object, value found and value allowed, in words.
        text: String,
        /// Advice for the user, if there is any.
        hint: Option<String>,
    },
    /// The object at the path changed between check and use.
    #[error("{} changed while it was checked: {what} was {was} and is {is}", path.display())]
    Changed {
        /// Path of the target.
        path: PathBuf,
        /// Property that changed.
        what: &'static str,
        /// Value when it was checked.
        was: String,
        /// Value when it was opened.
        is: String,
    },
}

const fn access(writes: bool) -> &'static str {
    if writes { "for writing" } else { "for reading" }
}

fn in_namespace(pid: u32) -> String {
    if pid == 0 { String::new() } else { format!(" in the mount namespace of process {pid}") }
}

fn at_most(limit: Bytes) -> String {
    match limit.get() {
        0 => "nothing".to_owned(),
        bytes => format!("at most {limit} ({bytes} B)"),
    }
}

impl Refusal {
    /// Returns the stable name of the rule, for scripts and documentation.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::RunId { .. } => "run-id",
            Self::Missing { .. } => "missing",
            Self::ParentMissing { .. } => "parent-missing",
            Self::WrongKind { .. } => "wrong-kind",
            Self::Unreadable { .. } => "unreadable",
            Self::NoOpenat2 { .. } => "no-openat2",
            Self::NotWritable { .. } => "not-writable",
            Self::ReadOnlyFs { .. } => "fs-read-only",
            Self::FileSystem { concern: FsConcern::Memory, .. } => "fs-memory",
            Self::FileSystem { concern: FsConcern::Overlay, .. } => "fs-overlay",
            Self::FileSystem { concern: FsConcern::Root, .. } => "fs-root",
            Self::Space { .. } => "space",
            Self::AlreadyThere { .. } => "already-there",
            Self::Adopt { .. } => "adopt",
            Self::NotOurs { .. } => "file-not-ours",
            Self::HardLinks { .. } => "hard-links",
            Self::DanglingLink { .. } => "dangling-link",
            Self::Swap { .. } => "swap",
            Self::FileInUse { .. } => "file-in-use",
            Self::FileContent { .. } => "file-content",
            Self::Mounted { .. } => "mounted",
            Self::Held { .. } => "held",
            Self::Partitions { .. } => "partitions",
            Self::Busy { .. } => "busy",
            Self::OpenElsewhere { .. } => "open-elsewhere",
            Self::Locked { .. } => "locked",
            Self::BackingUnknown { .. } => "backing-unknown",
            Self::MiddleContent { .. } => "content-middle",
            Self::ReadOnlyDevice { .. } => "device-read-only",
            Self::Content { .. } => "content",
            Self::IdentityMissing { .. } => "identity-missing",
            Self::IdentityMismatch { .. } => "identity-mismatch",
            Self::Changed { .. } => "changed",
            Self::Rule { id, .. } => id,
        }
    }

    /// Returns advice for the user, if there is any.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Missing { .. } => {
                "create the directory first; tilemark creates only its own sub-directory"
            }
            Self::Adopt { problem, .. } => match problem {
                AdoptProblem::Missing => {
                    "list the disks there with tilemark cleanup --dry-run, or make them with \
                    tilemark prepare"
                }
                AdoptProblem::Alive { .. } | AdoptProblem::Locked => {
                    "wait until that run has ended"
                }
                AdoptProblem::Kind { .. } => {
                    "leave out --reuse: then the disks are made and filled again"
                }
                AdoptProblem::Elsewhere { .. } => "run on that host, or prepare again here",
                _ => "prepare again; tilemark cleanup removes what is left",
            },
            Self::ParentMissing { .. } => "create the directory first",
            Self::WrongKind { wanted, .. } => match *wanted {
                "directory" => "write file:PATH for a file, block:PATH for a block device",
                "regular file" => "write dir:PATH for a directory, block:PATH for a block device",
                _ => "write dir:PATH for a directory, file:PATH for a file",
            },
            Self::Unreadable { .. } | Self::NotWritable { .. } => {
                "choose a target of your own, or run as a user who may use this one"
            }
            Self::NoOpenat2 { .. } => {
                "openat2 needs Linux 5.6; in a container, a filter that allows it; in a systemd \
                 unit, RestrictSUIDSGID=no"
            }
            Self::FileSystem { concern: FsConcern::Memory, .. } => {
                "choose a directory on the storage to be measured: this one is memory, without a disk \
                 or direct I/O below it. To try the program, --allow-root-fs allows it"
            }
            Self::FileSystem { .. } => {
                "choose a directory on the storage to be measured, or allow this one with --allow-root-fs"
            }
            Self::Space { .. } => {
                "use a larger target, fewer tiles or a smaller --footprint (of a replay, --size)"
            }
            Self::AlreadyThere { .. } => "another run has this id; see tilemark cleanup",
            Self::NotOurs { .. } => {
                "choose a path that does not exist, or give up the file's content with --overwrite-file"
            }
            Self::HardLinks { .. } => "the content has other hard links too; choose another path",
            Self::DanglingLink { .. } => "write the path the link points to",
            Self::Swap { .. } => "there is no override for active swap space",
            Self::FileInUse { .. } => "stop what uses the file, or choose another path",
            Self::FileContent { .. } => {
                "images and file systems are never overwritten; remove the file yourself if it may be lost"
            }
            Self::Mounted { .. } | Self::Held { .. } | Self::Busy { .. } => {
                "there is no override for devices in use"
            }
            Self::OpenElsewhere { .. } => "stop that process, or choose another device",
            Self::Locked { .. } => "wait until the lock is released (lslocks shows its holder)",
            Self::BackingUnknown { .. } => {
                "run where the loop device's node and file can be reached, or use the file directly"
            }
            Self::MiddleContent { .. } => {
                "if it may be lost, zero the whole device yourself (blkdiscard -z, or dd) and run again"
            }
            Self::Partitions { .. } => {
                "name one partition as the target, or remove the partition table yourself if it may be lost"
            }
            Self::Content { .. } => {
                "if it may be lost, zero the first and last 8 MiB yourself (blkdiscard -z, or dd) and run again"
            }
            Self::IdentityMissing { choices, .. } | Self::IdentityMismatch { choices, .. } => {
                return Some(identity_hint(choices));
            }
            Self::Changed { .. } => {
                "another program renames or replaces the target; run again when that is over"
            }
            Self::Rule { hint, .. } => return hint.clone(),
            Self::ReadOnlyFs { mount_point, .. } => {
                return Some(format!(
                    "mount it for writing first: mount -o remount,rw {mount_point}. If the kernel made \
                     it read-only after errors (dmesg says so), check it before"
                ));
            }
            Self::ReadOnlyDevice { .. } => {
                "blockdev --setrw makes a device writable, unless its storage or a switch on it \
                prevents that"
            }
            Self::RunId { .. } => return None,
        };
        Some(text.to_owned())
    }

    /// Returns the refusal for an error of the operating system during a check.
    pub(crate) fn unreadable(
        attempted: &'static str,
        object: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Unreadable { attempted, object: object.into(), source: Arc::new(source.into()) }
    }
}

fn identity_hint(choices: &[String]) -> String {
    if choices.is_empty() {
        return "the device has no unique serial, WWN or by-id name, so it cannot be named and is not written to"
            .to_owned();
    }
    let choices: Vec<String> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
    format!(
        "compare with the label on the drive, then give one of --destroy-data={}",
        choices.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_read_only_mounts_say_what_to_do() {
        let system = |concern| Refusal::FileSystem {
            path: "/dev/shm".into(),
            concern,
            fs_type: "tmpfs".to_owned(),
            mount_point: "/dev/shm".to_owned(),
        };
        let hint = |refusal: Refusal| refusal.hint().unwrap_or_default();
        assert!(hint(system(FsConcern::Memory)).contains("direct I/O"));
        assert!(!hint(system(FsConcern::Root)).contains("direct I/O"));
        let mount_point = "/mnt/ro".to_owned();
        let read_only = Refusal::ReadOnlyFs { path: "/mnt/ro/a".into(), mount_point };
        assert!(hint(read_only).contains("mount -o remount,rw /mnt/ro"));
    }
}
