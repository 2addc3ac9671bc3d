use std::fs;
use std::path::{Path, PathBuf};

/// Reader of small files below a root directory.
pub(super) struct Probe {
    root: PathBuf,
}

impl Probe {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(super) fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// Returns the content of a file; `None` if it cannot be read.
    pub(super) fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.path(absolute)).ok()
    }

    /// Returns the content of a file with one value, without surrounding spaces; `None` if it is
    /// empty.
    pub(super) fn value(&self, absolute: impl AsRef<Path>) -> Option<String> {
        let text = self.text(absolute)?;
        let value = text.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Returns the whole number that a file contains.
    pub(super) fn number(&self, absolute: impl AsRef<Path>) -> Option<u64> {
        self.value(absolute)?.parse().ok()
    }

    pub(super) fn exists(&self, absolute: impl AsRef<Path>) -> bool {
        self.path(absolute).exists()
    }

    /// Returns the names in a directory, sorted; empty if the directory cannot be listed.
    pub(super) fn names(&self, absolute: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(absolute)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the last component of the final target of a symbolic link.
    pub(super) fn link_name(&self, absolute: impl AsRef<Path>) -> Option<PathBuf> {
        fs::canonicalize(self.path(absolute)).ok()
    }
}
