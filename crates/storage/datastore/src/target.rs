use std::fmt;
use std::path::{Path, PathBuf};

use crate::store::{Facts, Store};

/// Place of virtual disks: a kind, and an address that the kind understands.
///
/// Text: `dir:PATH`, `file:PATH`, `block:PATH`. `pve:NAME` is the directory of a storage of
/// Proxmox VE, and `dir:PATH` from then on. A bare path is a directory, unless it names
/// a block device now. A bare path may not begin with a word and a colon (`nfs:x`): that is
/// taken for a mistyped kind. `~` is not expanded.
#[derive(Debug, Clone)]
pub struct Target {
    kind: &'static dyn Store,
    address: PathBuf,
}

impl Target {
    /// A target of a kind.
    pub fn new(kind: &'static dyn Store, address: impl Into<PathBuf>) -> Self {
        Self { kind, address: address.into() }
    }

    /// The address as given; of most kinds a path.
    pub fn path(&self) -> &Path {
        &self.address
    }

    /// Properties of every target of its kind.
    pub fn facts(&self) -> &'static Facts {
        self.kind.facts()
    }

    /// Implementation of the target's kind.
    pub(crate) fn store(&self) -> &'static dyn Store {
        self.kind
    }

    /// Target with an absolute path, which means the same in every working directory.
    #[must_use]
    pub fn absolute(&self) -> Self {
        let path = self.facts().is_path.then(|| std::path::absolute(&self.address).ok());
        let address = path.flatten().unwrap_or_else(|| self.address.clone());
        Self { kind: self.kind, address }
    }
}

/// Compares kind and address as text.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        (self.facts().word, &self.address) == (other.facts().word, &other.address)
    }
}

impl Eq for Target {}

impl fmt::Display for Target {
    /// Text that parses back to exactly this target, kind always included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.facts().word, self.address.display())
    }
}
