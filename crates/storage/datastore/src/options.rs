use units::Bytes;

/// Permissions of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Through the page cache instead of `O_DIRECT`.
    pub buffered: bool,
    /// True if the run writes. If false, a file or block target is opened read-only and needs
    /// neither marker nor identity; a directory target always writes, because the run creates its
    /// disks.
    pub write: bool,
    /// At most this much is provisioned, on any kind of target.
    pub space_max: Option<Bytes>,
    /// The identity of the block device whose content may be lost: its serial, WWN/EUI or a
    /// name in `/dev/disk/by-id`; see `docs/safety.md`.
    pub destroy_data: Option<String>,
    /// An existing file that is not ours may be overwritten (images and used files never).
    pub overwrite_file: bool,
    /// A directory on a memory, overlay or root file system may be used.
    pub allow_root_fs: bool,
    /// Names the sub-directory and goes into every marker: 1 to 100 letters, digits, `-`,
    /// `_` or `.`, not beginning with a dot.
    pub run_id: String,
    /// The run whose sub-directory is taken over with its disks instead of making one; only a
    /// directory target has such.
    pub adopt: Option<String>,
}

/// Permissions of a cleanup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanupOptions {
    /// Only this run's, and then also when it was made on another host.
    pub run_id: Option<String>,
    /// The identity of a block device whose label may be erased.
    pub destroy_data: Option<String>,
}

/// Returns true if a run id can be part of a file name on every file system.
pub(crate) fn run_id_is_valid(run_id: &str) -> bool {
    (1..=100).contains(&run_id.len())
        && !run_id.starts_with('.')
        && run_id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}
