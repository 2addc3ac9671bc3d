use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

/// Error of reading or writing a trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file or stream failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// No format matches, or the named format does not.
    #[error("{}: {reason}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Description of the expected and the found content.
        reason: String,
    },
    /// No format matches the beginning, or several do.
    #[error("{}: {}", path.display(), unrecognised(fit, known))]
    Unrecognised {
        /// Path of the file.
        path: PathBuf,
        /// Names of the formats that match equally well; empty if none matches.
        fit: Vec<&'static str>,
        /// Names of all formats.
        known: Vec<&'static str>,
    },
    /// A file of a known kind that is not a readable trace.
    #[error("{}: this is {what}", path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// Kind of the file.
        what: &'static str,
        /// Advice on what to do instead.
        hint: &'static str,
    },
    /// More bad lines than allowed.
    #[error("{}: {bad} bad lines, but only {allowed} are allowed; the first: \
        {first}", path.display())]
    TooManyBad {
        /// Path of the file.
        path: PathBuf,
        /// Number of bad lines so far.
        bad: u64,
        /// Maximum number of bad lines.
        allowed: u64,
        /// Position of the first bad line, and the reason.
        first: String,
    },
    /// A Parquet file is damaged, or its library returned an error.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// Error of the library.
        source: ParquetError,
    },
    /// The path of a new trace is in use.
    #[error("{} exists already and is not overwritten", path.display())]
    Exists {
        /// Path of the new trace.
        path: PathBuf,
    },
    /// The trace was not written to its end.
    #[error("{} was not finished: the program that wrote it was stopped before its first part was \
        complete", path.display())]
    Unfinished {
        /// Path of its directory.
        path: PathBuf,
    },
    /// An earlier write failed.
    #[error("writing {} was stopped, because an earlier write failed", path.display())]
    Broken {
        /// Path of the trace.
        path: PathBuf,
    },
}

impl TraceError {
    /// Returns advice on what to try next, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space there, or choose another place with --out")
            }
            Self::Parquet { .. } => Some(
                "the file is damaged or does not belong to this trace; sha256sum -c SHA256SUMS in \
                 its directory shows which files are unchanged",
            ),
            Self::Exists { path } if is_partial(path) => Some(
                "it is left over from an interrupted attempt; remove it, or choose another name",
            ),
            Self::Exists { .. } => Some("choose another name with --out, or remove it"),
            Self::Unfinished { .. } => Some("record or import it again"),
            Self::Foreign { hint, .. } => Some(hint),
            Self::Unrecognised { .. } => {
                Some("if the file has one of these formats, name the format with --from NAME")
            }
            _ => None,
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: untrusted::named(path), source }
    }

    /// Converts an error of the Parquet library. An error of the system inside is unwrapped, so
    /// that a full disk is recognised.
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
        return format!("its beginning matches no trace format; supported are {known}");
    }
    format!("{} match its beginning equally well", fit.join(" and "))
}

fn is_partial(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "partial")
}
