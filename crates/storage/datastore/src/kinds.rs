//! All kinds of target, and the words that name them in a target's text.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

use crate::Target;
use crate::block::BlockDevice;
use crate::directory::Directory;
use crate::file::SingleFile;
use crate::proxmox::{self, ProxmoxError};
use crate::store::Store;

/// All kinds of targets of this crate.
static KINDS: &[&dyn Store] = &[
    &Directory,   // directory/
    &SingleFile,  // file/
    &BlockDevice, // block/
];

/// Kinds of targets of other crates.
static REGISTERED: RwLock<Vec<&'static dyn Store>> = RwLock::new(Vec::new());

/// Registers a kind of target of another crate. It must be called before any target is parsed.
/// Returns false if the word of the kind is invalid or already in use; then nothing changes.
pub fn register(kind: &'static dyn Store) -> bool {
    let is_new = find(kind.facts().word).is_none() && is_word(kind.facts().word);
    if is_new {
        REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(kind);
    }
    is_new
}

fn all() -> Vec<&'static dyn Store> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    KINDS.iter().chain(registered.iter()).copied().collect()
}

fn find(word: &str) -> Option<&'static dyn Store> {
    all().into_iter().find(|kind| kind.facts().word == word)
}

/// Returns the words of all kinds as a list in prose: `dir, file and block`.
fn listed(last: &str, write: impl Fn(&str) -> String) -> String {
    let mut words: Vec<String> = all().iter().map(|kind| write(kind.facts().word)).collect();
    let end = words.pop().unwrap_or_default();
    format!("{} {last} {end}", words.join(", "))
}

/// Words of network storage with a colon that users may write by mistake. Such storage is used by
/// the path where it is mounted.
const NETWORKED: [&str; 6] = ["nfs", "nfs4", "smb", "cifs", "ceph", "glusterfs"];

/// Reason why a text is not a valid target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// There is no path.
    #[error("target \"{text}\" has no path")]
    NoPath {
        /// Text as given by the user.
        text: String,
    },
    /// The word before the colon is not a kind of target.
    #[error(
        "target \"{text}\" has the unknown kind \"{kind}\"; supported are {}",
        listed("and", str::to_owned)
    )]
    UnknownKind {
        /// Text as given by the user.
        text: String,
        /// The word before the colon.
        kind: String,
    },
    /// The path begins with `~`, which only a shell expands.
    #[error("target \"{text}\" begins with ~, which is not expanded here")]
    Tilde {
        /// Text as given by the user.
        text: String,
    },
    /// The text names a storage of Proxmox VE that cannot be a datastore.
    #[error(transparent)]
    Proxmox(#[from] ProxmoxError),
    /// The path holds a NUL byte, which no file system allows.
    #[error("target {text:?} holds a NUL byte")]
    Nul {
        /// Text as given by the user.
        text: String,
    },
}

impl TargetError {
    /// Returns advice for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::NoPath { .. } => {
                format!("write {}", listed("or", |word| format!("{word}:PATH")))
            }
            Self::UnknownKind { kind, .. } if kind == "nfs" => {
                "only run, plan, check, prepare, verify and cleanup can mount an export \
                 themselves, as nfs:SERVER:/EXPORT. Mount it first, then write dir:PATH of a \
                 directory on it"
                    .to_owned()
            }
            Self::UnknownKind { kind, .. } if NETWORKED.contains(&kind.as_str()) => {
                "mount it first, then write dir:PATH of a directory on it".to_owned()
            }
            Self::UnknownKind { kind, .. } if kind == "iscsi" => {
                "log in to the target first (iscsiadm), then write block:PATH of its device"
                    .to_owned()
            }
            Self::UnknownKind { .. } => {
                "write dir:PATH for a directory; a path with a colon needs its kind in front"
                    .to_owned()
            }
            Self::Tilde { .. } => {
                "write the full path, or dir:./~NAME for a name with a tilde".to_owned()
            }
            Self::Proxmox(error) => error.hint(),
            Self::Nul { .. } => "write the path without control characters".to_owned(),
        }
    }
}

impl Target {
    /// Parses `text`. `is_block_device` decides if a path without a kind is a block device or a
    /// directory.
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
        let kind = match kind {
            // Only a name: the path is what Proxmox VE says, so that results have it.
            Some(proxmox::WORD) => return Ok(Self::new(&Directory, proxmox::directory(path)?)),
            Some(word) => find(word)
                .ok_or_else(|| TargetError::UnknownKind { text: owned(), kind: word.to_owned() })?,
            None if is_block_device(Path::new(path)) => &BlockDevice,
            None => &Directory,
        };
        Ok(Self::new(kind, path))
    }
}

/// Returns true if the text could be meant as a kind: ASCII letters, digits and dashes, beginning
/// with a letter.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

impl FromStr for Target {
    type Err = TargetError;

    /// Parses a target. Reads the file system only for a path without a kind, to see if it is a
    /// block device, and for `pve:NAME`, which is looked up in /etc/pve/storage.cfg.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse_with(text, |path| {
            std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_kind_is_recognised() {
        let none = |_: &Path| false;
        assert_eq!(Target::parse_with("dir:/a", none), Ok(Target::new(&Directory, "/a")));
        assert_eq!(Target::parse_with("file:a/b", none), Ok(Target::new(&SingleFile, "a/b")));
        assert_eq!(
            Target::parse_with("block:/dev/x", none),
            Ok(Target::new(&BlockDevice, "/dev/x"))
        );
    }

    #[test]
    fn a_bare_path_is_a_directory_unless_it_is_a_block_device() {
        assert_eq!(Target::parse_with("/a", |_| false), Ok(Target::new(&Directory, "/a")));
        assert_eq!(Target::parse_with("/a", |_| true), Ok(Target::new(&BlockDevice, "/a")));
        assert_eq!("/dev/null".parse(), Ok(Target::new(&Directory, "/dev/null")));
    }

    #[test]
    fn a_mistyped_kind_is_not_taken_for_a_directory() {
        let error = Target::parse_with("blok:/dev/sdb", |_| false).expect_err("unknown kind");
        assert!(matches!(error, TargetError::UnknownKind { .. }), "{error}");
    }

    #[test]
    fn storage_over_a_network_is_mounted_first() {
        let hint = |text: &str| Target::parse_with(text, |_| false).expect_err(text).hint();
        assert!(hint("nfs:server:/export").contains("Mount it first"));
        assert!(hint("nfs4:server:/export").starts_with("mount it first"));
        assert!(hint("iscsi:iqn.2026-11.example:disk").contains("block:PATH"));
        assert!(hint("blok:/dev/sdb").starts_with("write dir:PATH"));
    }

    #[test]
    fn tilde_in_a_target_is_refused() {
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
            prop_assert_eq!(Target::parse_with(&text, |_| true), Ok(Target::new(&Directory, path)));
        }
    }
}
