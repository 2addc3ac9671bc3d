use units::Bytes;

/// Options and permissions that the user gave for a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// True to use the page cache instead of `O_DIRECT`.
    pub buffered: bool,
    /// True if the run writes. If false, a file or block target is opened read-only and needs
    /// neither marker nor identity. A directory target is always written, because the run creates
    /// its disks.
    pub write: bool,
    /// Maximum size of all disks, on any kind of target; `None` for no limit of the user.
    pub space_max: Option<Bytes>,
    /// Identity of the block device whose content may be destroyed: its serial, WWN/EUI or a name
    /// in `/dev/disk/by-id`; see `docs/safety.md`.
    pub destroy_data: Option<String>,
    /// True to allow overwriting an existing file that is not Tilemark's. Images and files in use
    /// are never overwritten.
    pub overwrite_file: bool,
    /// True to allow a directory on a memory, overlay or root file system.
    pub allow_root_fs: bool,
    /// Id of the run. It is part of the sub-directory's name and of every marker: 1 to 100 letters,
    /// digits, `-`, `_` or `.`, not beginning with a dot.
    pub run_id: String,
    /// Id of the run whose sub-directory is taken over with its disks, in place of creating one.
    /// Only for a directory target.
    pub adopt: Option<String>,
}

/// Options and permissions of a cleanup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanupOptions {
    /// Id of the only run to remove; also if it ran on another host. `None` for all runs of this
    /// host.
    pub run_id: Option<String>,
    /// Identity of the block device whose label may be erased.
    pub destroy_data: Option<String>,
}

/// Returns true if a run id can be part of a file name on every file system.
pub(crate) fn run_id_is_valid(run_id: &str) -> bool {
    (1..=100).contains(&run_id.len())
        && !run_id.starts_with('.')
        && run_id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}
