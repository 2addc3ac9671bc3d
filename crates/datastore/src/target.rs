use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use units::Bytes;

/// Where virtual disks live.
///
/// Text: `dir:PATH`, `file:PATH`, `block:PATH`. A bare path is a directory, unless it names
/// a block device now. A bare path may not begin with a word and a colon (`nfs:x`): that is
/// taken for a mistyped kind. `~` is not expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A directory: one file per virtual disk, as a hypervisor's datastore.
    Directory(PathBuf),
    /// One file, divided between the virtual disks.
    File(PathBuf),
    /// One block device, divided between the virtual disks.
    Block(PathBuf),
}

/// Why a text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// There is no path.
    #[error("target \"{text}\" has no path")]
    NoPath {
        /// The text as given.
        text: String,
    },
    /// The word before the colon is not a kind of target.
    #[error("target \"{text}\" is of the unknown kind \"{kind}\"; known are dir, file and block")]
    UnknownKind {
        /// The text as given.
        text: String,
        /// The word before the colon.
        kind: String,
    },
    /// The path begins with `~`, which only a shell expands.
    #[error("target \"{text}\" begins with ~, which is not expanded here")]
    Tilde {
        /// The text as given.
        text: String,
    },
    /// The path holds a NUL byte, which no file system allows.
    #[error("target {text:?} holds a NUL byte")]
    Nul {
        /// The text as given.
        text: String,
    },
}

impl TargetError {
    /// What to try next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoPath { .. } => "write dir:PATH, file:PATH or block:PATH",
            Self::UnknownKind { .. } => {
                "write dir:PATH for a directory; a path with a colon needs its kind in front"
            }
            Self::Tilde { .. } => "write the full path, or dir:./~NAME for a name with a tilde",
            Self::Nul { .. } => "write the path without control characters",
        }
    }
}

impl Target {
    /// Parses `text`; `is_block_device` decides what a bare path is.
    pub fn parse_with(
        text: &str,
        is_block_device: impl FnOnce(&Path) -> bool,
    ) -> Result<Self, TargetError> {
        let owned = || text.to_owned();
        if text.contains('\0') {
            return Err(TargetError::Nul { text: owned() });
        }
        let (kind, path) = match text.split_once(':') {
            Some((kind, path)) if is_word(kind) => (Some(kind), path),
            _ => (None, text),
        };
        if path.is_empty() {
            return Err(TargetError::NoPath { text: owned() });
        }
        if path.starts_with('~') {
            return Err(TargetError::Tilde { text: owned() });
        }
        let path = PathBuf::from(path);
        match kind {
            Some("dir") => Ok(Self::Directory(path)),
            Some("file") => Ok(Self::File(path)),
            Some("block") => Ok(Self::Block(path)),
            Some(kind) => Err(TargetError::UnknownKind { text: owned(), kind: kind.to_owned() }),
            None if is_block_device(&path) => Ok(Self::Block(path)),
            None => Ok(Self::Directory(path)),
        }
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::File(path) | Self::Block(path) => path,
        }
    }

    /// The word in front of the colon: `dir`, `file` or `block`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Directory(_) => "dir",
            Self::File(_) => "file",
            Self::Block(_) => "block",
        }
    }
}

/// A word could be meant as a kind: ASCII letters, digits and dashes, beginning with a letter.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

impl FromStr for Target {
    type Err = TargetError;

    /// Looks at the file system only for a bare path, to see whether it is a block device.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse_with(text, |path| {
            std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
        })
    }
}

impl fmt::Display for Target {
    /// Text that parses back to exactly this target, kind always included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.path().display())
    }
}

/// An open virtual disk: a range of an open file or device.
#[derive(Debug, Clone)]
pub struct VirtualDisk {
    /// The open file; several disks of one device share it.
    pub file: Arc<File>,
    /// First byte of the disk in the file.
    pub base: u64,
    /// Size of the disk.
    pub size: Bytes,
    /// Offsets, lengths and buffers must be multiples of this (512 or 4096).
    pub alignment: u32,
    /// Whether the file was opened with `O_DIRECT`.
    pub direct: bool,
    /// Whether writing is allowed.
    pub writable: bool,
    /// For messages.
    pub name: String,
}

/// A virtual disk that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskRequest {
    /// Unique in the datastore, for example `tile-1/mail/data`; as a file name at most 255
    /// bytes, where everything but letters, digits, `-`, `_` and `/` takes three.
    pub name: String,
    /// Its size, a multiple of 512 B above zero.
    pub size: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_kind_is_recognised() {
        let none = |_: &Path| false;
        assert_eq!(Target::parse_with("dir:/a", none), Ok(Target::Directory("/a".into())));
        assert_eq!(Target::parse_with("file:a/b", none), Ok(Target::File("a/b".into())));
        assert_eq!(Target::parse_with("block:/dev/x", none), Ok(Target::Block("/dev/x".into())));
    }

    #[test]
    fn a_bare_path_is_a_directory_unless_it_is_a_block_device() {
        assert_eq!(Target::parse_with("/a", |_| false), Ok(Target::Directory("/a".into())));
        assert_eq!(Target::parse_with("/a", |_| true), Ok(Target::Block("/a".into())));
        assert_eq!("/dev/null".parse(), Ok(Target::Directory("/dev/null".into())));
    }

    #[test]
    fn a_mistyped_kind_is_not_taken_for_a_directory() {
        let error = Target::parse_with("blok:/dev/sdb", |_| false).expect_err("unknown kind");
        assert!(matches!(error, TargetError::UnknownKind { .. }), "{error}");
    }

    #[test]
    fn a_tilde_is_refused_instead_of_naming_a_directory_called_tilde() {
        for text in ["~/x", "dir:~", "block:~/disk"] {
            let error = Target::parse_with(text, |_| false).expect_err("tilde");
            assert!(matches!(error, TargetError::Tilde { .. }), "{error}");
        }
    }

    #[test]
    fn a_target_without_a_path_is_refused() {
        for text in ["", "dir:", "block:"] {
            assert!(Target::parse_with(text, |_| true).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_target_round_trips_through_its_text(text in ".*", block: bool) {
            if let Ok(target) = Target::parse_with(&text, |_| block) {
                prop_assert_eq!(Target::parse_with(&target.to_string(), |_| !block), Ok(target));
            }
        }

        #[test]
        fn a_kind_in_front_never_depends_on_the_file_system(path in "[^~\0].*") {
            prop_assume!(!path.contains('\0'));
            let text = format!("dir:{path}");
            prop_assert_eq!(Target::parse_with(&text, |_| true), Ok(Target::Directory(path.into())));
        }
    }
}
