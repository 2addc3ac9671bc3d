//! Image of the guest: a kernel and its initial files, built by `scripts/vm-guest`. It is only used
//! if it is unchanged since the build.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Files of an image.
#[derive(Debug, Clone)]
pub struct Image {
    /// Directory of the files.
    pub directory: PathBuf,
    /// Path of the kernel.
    pub kernel: PathBuf,
    /// Path of the initial files, with the guest's program.
    pub initrd: PathBuf,
    /// Package and version of the kernel.
    pub about: String,
    /// SHA-256 of the checksum list, which identifies the image.
    pub sha256: String,
}

/// Error of loading the image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The image was not built, or cannot be read.
    #[error("reading {path} of the guest's image: {source}")]
    Missing {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A file differs from the built one.
    #[error("{path} of the guest's image has SHA-256 {has}, not {listed}")]
    Changed {
        /// Path of the file.
        path: PathBuf,
        /// Checksum of the file.
        has: String,
        /// Checksum in the list; empty if the file is not listed.
        listed: String,
    },
}

impl ImageError {
    /// Returns advice on how to get an image.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "scripts/vm-guest builds it",
            Self::Changed { .. } => "scripts/vm-guest builds it again",
        }
    }
}

/// Maximum size of a file of an image; our choice.
const FILE_MAX: u64 = 256 << 20;

impl Image {
    /// Returns the directory into which `scripts/vm-guest` puts the image: `tilemark/vm` in the
    /// user's cache.
    pub fn usual_directory() -> PathBuf {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache");
        cache.unwrap_or_else(home).join("tilemark/vm")
    }

    /// Reads the image in a directory and compares every file with its checksum.
    ///
    /// # Errors
    /// A file is missing or was changed.
    pub fn load(directory: &Path) -> Result<Self, ImageError> {
        // Virtual machines run in another directory than this process.
        let directory = &std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        let list = read(&directory.join("SHA256SUMS"))?;
        let text = String::from_utf8_lossy(&list);
        let checked = |name: &str| -> Result<(PathBuf, Vec<u8>), ImageError> {
            let path = directory.join(name);
            let bytes = read(&path)?;
            let has = hex(&bytes);
            let on = |line: &&str| line.split_whitespace().nth(1) == Some(name);
            let listed = text.lines().find(on).and_then(|line| line.split_whitespace().next());
            let listed = listed.unwrap_or_default().to_owned();
            if has == listed {
                Ok((path, bytes))
            } else {
                Err(ImageError::Changed { path, has, listed })
            }
        };
        let (_, about) = checked("about")?;
        Ok(Self {
            kernel: checked("vmlinuz")?.0,
            initrd: checked("initrd.gz")?.0,
            about: String::from_utf8_lossy(&about).trim().to_owned(),
            sha256: hex(&list),
            directory: directory.to_owned(),
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|source| ImageError::Missing { path: path.to_owned(), source })
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_read_only_as_it_was_built() {
        let place = tempfile::tempdir().expect("a directory");
        let missing = Image::load(place.path()).expect_err("nothing is there");
        assert!(missing.hint().contains("scripts/vm-guest builds it"), "{missing}");
        let mut list = String::new();
        for name in ["about", "initrd.gz", "vmlinuz"] {
            std::fs::write(place.path().join(name), name).expect("written");
            list += &format!("{}  {name}\n", hex(name.as_bytes()));
        }
        std::fs::write(place.path().join("SHA256SUMS"), &list).expect("written");
        let image = Image::load(place.path()).expect("whole");
        assert_eq!((image.about.as_str(), image.sha256), ("about", hex(list.as_bytes())));
        std::fs::write(place.path().join("initrd.gz"), "other").expect("written");
        let changed = Image::load(place.path()).expect_err("changed");
        assert!(changed.to_string().contains("initrd.gz"), "{changed}");
    }
}
