//! Files of the site: pictures, thumbnails and documents.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use state_machine::{SplitMix, mix};

use crate::SiteError;
use crate::sizes::{EVENT_DOCUMENT, EVENT_PICTURE, PERSON_PICTURE, Sizes, THUMBNAIL};

/// Name of the subdirectory for the generated files.
pub const FILES: &str = "files";
/// Number of files per directory. Our choice: few enough to list, and few directories.
const FILES_IN_DIRECTORY: u32 = 1000;

/// Kind of a generated file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    PersonPicture,
    PersonThumbnail,
    EventPicture,
    EventDocument,
    EventThumbnail,
}

impl FileKind {
    const fn bytes(self) -> u64 {
        match self {
            Self::PersonPicture => PERSON_PICTURE,
            Self::EventPicture => EVENT_PICTURE,
            Self::EventDocument => EVENT_DOCUMENT,
            Self::PersonThumbnail | Self::EventThumbnail => THUMBNAIL,
        }
    }

    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::PersonPicture => ["persons", "picture"],
            Self::PersonThumbnail => ["persons", "thumbnail"],
            Self::EventPicture => ["events", "picture"],
            Self::EventDocument => ["events", "document"],
            Self::EventThumbnail => ["events", "thumbnail"],
        }
    }

    /// Returns the directory of a file, relative to [`FILES`].
    fn directory(self, id: u32) -> PathBuf {
        Path::new(self.names()[0]).join((id / FILES_IN_DIRECTORY).to_string())
    }

    /// Returns the path of a file, relative to [`FILES`].
    pub(crate) fn path(self, id: u32) -> PathBuf {
        self.directory(id).join(format!("{id}.{}", self.names()[1]))
    }

    /// Generates the content of a file. It differs for each file and for each seed.
    fn content(self, id: u32, seed: u64, bytes: &mut Vec<u8>) {
        bytes.clear();
        let length = usize::try_from(self.bytes()).unwrap_or(usize::MAX);
        let numbers = SplitMix(mix(mix(mix(seed) ^ self as u64) ^ u64::from(id)));
        for number in numbers.take(length.div_ceil(size_of::<u64>())) {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.truncate(length);
    }
}

/// Generates the files of a site in an empty directory. All users of the host can read them and
/// enter their directories. Only the user of this process can change them.
///
/// Each seed has its own content. Generating it takes less time than reading the content of another
/// site and changing it.
///
/// # Errors
/// A file cannot be written.
pub fn make_files(directory: &Path, sizes: Sizes, seed: u64) -> Result<(), SiteError> {
    let mut bytes = Vec::new();
    for (kinds, count) in [
        (&[FileKind::PersonPicture, FileKind::PersonThumbnail][..], sizes.persons),
        (
            &[FileKind::EventPicture, FileKind::EventDocument, FileKind::EventThumbnail],
            sizes.events,
        ),
    ] {
        make_directory(&directory.join(kinds[0].names()[0]))?;
        for id in 1..=count {
            if id == 1 || id % FILES_IN_DIRECTORY == 0 {
                make_directory(&directory.join(kinds[0].directory(id)))?;
            }
            for kind in kinds {
                kind.content(id, seed, &mut bytes);
                let path = directory.join(kind.path(id));
                let written = write_file(&path, &bytes);
                written.map_err(SiteError::io(format!("writing {}", path.display())))?;
            }
        }
    }
    Ok(())
}

fn make_directory(path: &Path) -> Result<(), SiteError> {
    fs::create_dir(path)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o711)))
        .map_err(SiteError::io(format!("making the directory {}", path.display())))
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    // The process's mask may hide new files from others.
    file.set_permissions(Permissions::from_mode(0o444))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Returns the first eight bytes of a site's files.
    fn numbers(seed: u64) -> Vec<[u8; 8]> {
        let directory = tempfile::tempdir().expect("a directory");
        let sizes = Sizes { persons: 3, tags: 1, events: 2 };
        make_files(directory.path(), sizes, seed).expect("made");
        let (mut all, mut bytes) = (Vec::new(), 0);
        for (kind, count) in [
            (FileKind::PersonPicture, 3),
            (FileKind::PersonThumbnail, 3),
            (FileKind::EventPicture, 2),
            (FileKind::EventDocument, 2),
            (FileKind::EventThumbnail, 2),
        ] {
            for id in 1..=count {
                let content = fs::read(directory.path().join(kind.path(id))).expect("a file");
                assert_eq!(content.len() as u64, kind.bytes());
                bytes += content.len() as u64;
                all.extend(content.as_chunks::<8>().0);
            }
        }
        // All but the rows of the tables.
        assert_eq!(bytes, 3 * 677_000 + 2 * 805_000);
        all
    }

    #[test]
    fn files_have_their_sizes_and_no_block_twice() {
        let (one, other) = (numbers(1), numbers(2));
        let distinct: BTreeSet<&[u8; 8]> = one.iter().chain(&other).collect();
        assert_eq!(distinct.len(), one.len() + other.len());
        assert_eq!(one, numbers(1));
    }

    #[test]
    fn thousandth_file_has_a_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let sizes = Sizes { persons: 1, tags: 1, events: 0 };
        make_files(directory.path(), sizes, 1).expect("made");
        assert_eq!(FileKind::EventPicture.path(1000), Path::new("events/1/1000.picture"));
        assert_eq!(FileKind::PersonThumbnail.path(999), Path::new("persons/0/999.thumbnail"));
        let again = make_files(directory.path(), sizes, 1).expect_err("it exists");
        assert!(again.to_string().contains("persons"), "{again}");
    }
}
