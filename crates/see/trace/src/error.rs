use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

/// Why a trace cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file or stream failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No format fits, or the named one does not.
    #[error("{}: {reason}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What was expected and what was found.
        reason: String,
    },
    /// No format fits its beginning, or several do.
    #[error("{}: {}", path.display(), unrecognised(fit, known))]
    Unrecognised {
        /// Which file.
        path: PathBuf,
        /// Names of those that fit equally well.
        fit: Vec<&'static str>,
        /// Names of all.
        known: Vec<&'static str>,
    },
    /// A file that is known, and is no trace that can be read.
    #[error("{}: this is {what}", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// Its kind.
        what: &'static str,
        /// What to do instead.
        hint: &'static str,
    },
    /// More bad lines than allowed.
    #[error("{}: {bad} bad lines, {allowed} allowed; the first: {first}", path.display())]
    TooManyBad {
        /// Which file.
        path: PathBuf,
        /// How many so far.
        bad: u64,
        /// The limit.
        allowed: u64,
        /// Where the first is, and why it is bad.
        first: String,
    },
    /// A Parquet file is damaged, or its library refused.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// Which file.
        path: PathBuf,
        /// What the library said.
        source: ParquetError,
    },
    /// A new trace would overwrite something.
    #[error("{} exists, and is not overwritten", path.display())]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// A trace whose writing did not come to its end.
    #[error("{} was not finished: whoever wrote it was stopped before its first part was complete", path.display())]
    Unfinished {
        /// Its directory.
        path: PathBuf,
    },
    /// An earlier write failed.
    #[error("{} is not written on, because an earlier write failed", path.display())]
    Broken {
        /// The trace.
        path: PathBuf,
    },
}

impl TraceError {
    /// What to try next, if anything helps.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space there, or choose another place with --out")
            }
            Self::Parquet { .. } => Some(
                "the file is damaged or not of this trace; sha256sum -c SHA256SUMS in its \
                 directory tells which files are as they were written",
            ),
            Self::Exists { path } if is_partial(path) => {
                Some("it is left of an attempt that was stopped; remove it, or choose another name")
            }
            Self::Exists { .. } => Some("choose another name with --out, or remove it"),
            Self::Unfinished { .. } => Some("record or import it again"),
            Self::Foreign { hint, .. } => Some(hint),
            Self::Unrecognised { .. } => Some("if it is one of these, name it with --from NAME"),
            _ => None,
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: untrusted::named(path), source }
    }

    /// Unwraps what the Parquet library wrapped, so that a full disk is seen as one.
    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = untrusted::named(path);
        move |error| match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(source) => Self::Io { path, source: *source },
                Err(other) => Self::Parquet { path, source: ParquetError::External(other) },
            },
            source => Self::Parquet { path, source },
        }
    }

    pub(crate) fn format(path: &Path, reason: impl ToString) -> Self {
        Self::Format { path: untrusted::named(path), reason: reason.to_string() }
    }
}

fn unrecognised(fit: &[&str], known: &[&str]) -> String {
    if fit.is_empty() {
        let known = known.join(", ");
        return format!("no trace format fits its beginning; those that are read: {known}");
    }
    format!("{} fit its beginning equally well", fit.join(" and "))
}

fn is_partial(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "partial")
}
