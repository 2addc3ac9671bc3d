use std::io;
use std::path::{Path, PathBuf};

/// Error of writing or reading a run directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDirError {
    /// The operating system returned an error.
    #[error("{attempt} {}: {source}", path.display())]
    Io {
        /// Attempted operation: `writing`.
        attempt: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file has invalid content.
    #[error("reading {}: {reason}", path.display())]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
    /// An earlier write failed. The directory must not be marked complete.
    #[error("run directory {} stays partial because an earlier write to it failed", path.display())]
    Broken {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The series was not finished. The directory must not be marked complete.
    #[error("run directory {} stays partial because its series was not finished", path.display())]
    SeriesOpen {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Results would be written to the device under test.
    #[error("runs would be stored in {}, on the device under test ({device})", base.display())]
    OnDeviceUnderTest {
        /// Directory of the runs.
        base: PathBuf,
        /// Device number of the directory, `major:minor`.
        device: String,
    },
    /// The user has no home directory for runs.
    #[error("there is no directory for runs: neither XDG_DATA_HOME nor HOME is an absolute path")]
    NoBase,
    /// No run matches the name, identifier or part of an identifier.
    #[error("no run in {} has the name \"{name}\", or an id with it", base.display())]
    NotFound {
        /// Directory of the runs that was searched.
        base: PathBuf,
        /// Name, identifier or path that was given.
        name: String,
    },
    /// The latest run was requested, but no run has ended.
    #[error("no run in {} has ended", base.display())]
    NothingEnded {
        /// Directory of the runs that was searched.
        base: PathBuf,
    },
    /// An older run was requested than exists.
    #[error("only {ended} of the runs in {} have ended, but latest~{back} needs \
        {}", base.display(), back + 1)]
    FewerEnded {
        /// Directory of the runs that was searched.
        base: PathBuf,
        /// Number of runs that have ended.
        ended: usize,
        /// Number of runs that are newer than the requested one.
        back: usize,
    },
    /// Several runs match the name or part of an identifier.
    #[error("\"{name}\" matches {} runs: {}", found.len(), found.join(", "))]
    Ambiguous {
        /// Name, identifier or path that was given.
        name: String,
        /// Identifiers of the matching runs, oldest first.
        found: Vec<String>,
    },
    /// A live process is writing the run.
    #[error("run {id} is still running")]
    Running {
        /// Identifier of the run.
        id: String,
    },
    /// A user marked the run to be kept.
    #[error("run {id} is kept")]
    Kept {
        /// Identifier of the run.
        id: String,
    },
    /// The directory contains a file that no run writes.
    #[error("{} holds \"{name}\", which is not a file of a run", path.display())]
    Foreign {
        /// Path of the directory.
        path: PathBuf,
        /// Name of the foreign file.
        name: String,
    },
}

impl RunDirError {
    /// Returns advice on what to try next, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free space there, or choose another place for results with --out"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "choose a writable place for results with --out"
            }
            Self::OnDeviceUnderTest { .. } => {
                "choose another device with --out, or accept the disturbance with \
                 --allow-same-device"
            }
            Self::NoBase => "choose a place for results with --out",
            Self::NotFound { .. } | Self::NothingEnded { .. } | Self::FewerEnded { .. } => {
                "`tilemark runs` lists them"
            }
            Self::Ambiguous { .. } => "give the whole id of one, or its last six letters",
            Self::Running { .. } => "stop it first",
            Self::Kept { .. } => "`tilemark runs keep --off` removes the mark",
            Self::Foreign { .. } => "move it away first; only files of a run are deleted",
            _ => return None,
        })
    }

    /// Returns a converter for errors of the operating system, which adds the attempted operation
    /// and the path.
    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { attempt, path: untrusted::named(path), source }
    }
}
