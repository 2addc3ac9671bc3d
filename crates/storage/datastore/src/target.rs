use std::fmt;
use std::path::{Path, PathBuf};

use crate::store::{Facts, Store};

/// Location of virtual disks: a kind of target, and an address that the kind interprets.
///
/// Text: `dir:PATH`, `file:PATH`, `block:PATH`. `pve:NAME` is converted to `dir:PATH` with the
/// directory of a storage of Proxmox VE. A path without a kind is a directory, unless it is a block
/// device at that moment. Such a path may not begin with a word and a colon (`nfs:x`), because that
/// could be a mistyped kind. `~` is not expanded.
#[derive(Debug, Clone)]
pub struct Target {
    kind: &'static dyn Store,
    address: PathBuf,
}

impl Target {
    /// Creates a target of a kind.
    pub fn new(kind: &'static dyn Store, address: impl Into<PathBuf>) -> Self {
        Self { kind, address: address.into() }
    }

    /// Returns the address as given; for most kinds a path.
    pub fn path(&self) -> &Path {
        &self.address
    }

    /// Returns the properties of every target of its kind.
    pub fn facts(&self) -> &'static Facts {
        self.kind.facts()
    }

    /// Returns the implementation of the target's kind.
    pub(crate) fn store(&self) -> &'static dyn Store {
        self.kind
    }

    /// Returns the target with an absolute path, which has the same meaning in every working
    /// directory.
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
    /// Writes the text that parses to exactly this target, always with the kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.facts().word, self.address.display())
    }
}
