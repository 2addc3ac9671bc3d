use std::io;
use std::path::{Path, PathBuf};

/// Why a run directory cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDirError {
    /// The operating system refused.
    #[error("{attempt} {}: {source}", path.display())]
    Io {
        /// What was attempted: `writing`.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("reading {}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An earlier write failed, so the directory must not look complete.
    #[error("run directory {} stays partial because an earlier write to it failed", path.display())]
    Broken {
        /// The directory.
        path: PathBuf,
    },
    /// The series was not finished, so the directory must not look complete.
    #[error("run directory {} stays partial because its series was not finished", path.display())]
    SeriesOpen {
        /// The directory.
        path: PathBuf,
    },
    /// Results would be written to what is measured.
    #[error("runs would be stored in {}, on the device under test ({device})", base.display())]
    OnDeviceUnderTest {
        /// Where runs are stored.
        base: PathBuf,
        /// Its device number, `major:minor`.
        device: String,
    },
    /// There is no home to store runs under.
    #[error("there is no directory for runs: neither XDG_DATA_HOME nor HOME is an absolute path")]
    NoBase,
    /// No run has this name, id or part of an id.
    #[error("no run in {} has the name \"{name}\", or an id with it", base.display())]
    NotFound {
        /// Where it was looked for.
        base: PathBuf,
        /// What was looked for.
        name: String,
    },
    /// The latest run was asked for, and none has ended.
    #[error("no run in {} has ended", base.display())]
    NothingEnded {
        /// Where it was looked for.
        base: PathBuf,
    },
    /// A run before the newest was asked for, and not so many have ended.
    #[error("{ended} of the runs in {} have ended, and latest~{back} needs {}", base.display(), back + 1)]
    FewerEnded {
        /// Where it was looked for.
        base: PathBuf,
        /// Runs that have ended.
        ended: usize,
        /// Runs between the newest and the one that was asked for.
        back: usize,
    },
    /// Several runs have this name or part of an id.
    #[error("\"{name}\" fits {} runs: {}", found.len(), found.join(", "))]
    Ambiguous {
        /// What was looked for.
        name: String,
        /// Ids of the runs that it fits, oldest first.
        found: Vec<String>,
    },
    /// The run is being written by a live process.
    #[error("run {id} is still running")]
    Running {
        /// Which run.
        id: String,
    },
    /// Somebody keeps it.
    #[error("run {id} is kept")]
    Kept {
        /// Which run.
        id: String,
    },
    /// The directory holds something we did not put there.
    #[error("{} holds \"{name}\", which no run writes", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// What is in it.
        name: String,
    },
}

impl RunDirError {
    /// What to try next, if anything helps.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free space there, or choose another place for results with --out"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "choose a place for results you may write to with --out"
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
            Self::Kept { .. } => "`tilemark runs keep --off` lets go of it",
            Self::Foreign { .. } => "move it away first; only what a run wrote is deleted",
            _ => return None,
        })
    }

    /// Adds what was attempted on which path to an error of the operating system.
    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { attempt, path: untrusted::named(path), source }
    }
}
