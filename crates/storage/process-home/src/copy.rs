//! Copies of directories that the servers' user owns, by a process that may run as root.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use crate::process::failed;
use crate::{Account, ProcessError};

/// Directory to copy from.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    opened: File,
}

impl Tree {
    /// Opens a directory.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(root: &Path) -> Result<Self, ProcessError> {
        let opened = File::open(root).map_err(failed("open", root))?;
        Ok(Self { root: root.to_owned(), opened })
    }

    /// Copies the directory `from`, which is in the tree, to the new directory `to`. The account
    /// owns the copy and is the only one that can access it. Links and special files are left out.
    /// `change` gets the name and content of each file, and may change the content. Returns the
    /// number of bytes.
    ///
    /// # Errors
    /// If `to` exists, or a file cannot be read or written.
    pub fn copy(
        &self,
        from: &Path,
        to: &Path,
        account: &Account,
        change: &dyn Fn(&OsStr, &mut Vec<u8>),
    ) -> Result<u64, ProcessError> {
        DirBuilder::new().mode(0o700).create(to).map_err(failed("make", to))?;
        let mut bytes = 0;
        for entry in sorted(&self.root.join(from))? {
            let (source, target) = (from.join(&entry.name), to.join(&entry.name));
            bytes += match entry.is_directory {
                true => self.copy(&source, &target, account, change)?,
                false => {
                    let mut content = self.read(&source)?;
                    change(&entry.name, &mut content);
                    write(&target, &content, account)?;
                    content.len() as u64
                }
            };
        }
        // Last: until then nobody else can put a link into the directory.
        account.own_directory(to).map_err(failed("change the owner of", to))?;
        Ok(bytes)
    }

    /// Reads a file as a whole. A clone would share its blocks with the copy.
    fn read(&self, from: &Path) -> Result<Vec<u8>, ProcessError> {
        // No link of the servers' user leads this process elsewhere.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let path = self.root.join(from);
        let file = openat2(&self.opened, from, flags, Mode::empty(), within);
        let file = file.map_err(|error| failed("open", &path)(error.into()))?;
        let mut bytes = Vec::new();
        File::from(file).read_to_end(&mut bytes).map_err(failed("read", &path))?;
        Ok(bytes)
    }
}

fn write(to: &Path, content: &[u8], account: &Account) -> Result<(), ProcessError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let mut file = file.map_err(failed("create", to))?;
    file.write_all(content).map_err(failed("write", to))?;
    account.own_file(&file).map_err(failed("change the owner of", to))
}

struct Entry {
    name: OsString,
    is_directory: bool,
}

/// Returns the files and directories in a directory, sorted by name. Other entries are skipped.
fn sorted(path: &Path) -> Result<Vec<Entry>, ProcessError> {
    let entries = || {
        let mut all = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_file() || kind.is_dir() {
                all.push(Entry { name: entry.file_name(), is_directory: kind.is_dir() });
            }
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok::<_, io::Error>(all)
    };
    entries().map_err(failed("list", path))
}

/// Writes all files of a directory to the storage and evicts them from the page cache. The kernel
/// charges a page to the group that first read it. So cached pages would not count against the
/// limit of a server that reads them, and their first reads would not reach the storage.
///
/// # Errors
/// If a file cannot be read or written back.
pub fn release_cache(directory: &Path) -> io::Result<()> {
    // One call for all files: a flush for each of a thousand takes seconds on a slow storage.
    rustix::fs::syncfs(File::open(directory)?)?;
    evict_pages(directory)
}

fn evict_pages(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            evict_pages(&entry.path())?;
        } else if kind.is_file() {
            let file = crate::careful::read(&entry.path())?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_leaves_links_behind_and_follows_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("tree/u1/storage")).expect("made");
        fs::write(path("secret"), "of somebody else").expect("written");
        fs::write(path("tree/u1/storage/m.1"), "mails").expect("written");
        std::os::unix::fs::symlink(path("secret"), path("tree/u1/m.2")).expect("linked");
        std::os::unix::fs::symlink(directory.path(), path("tree/u1/more")).expect("linked");
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let account = Account { uid, gid, user: "u".into(), group: "g".into() };
        let tree = Tree::open(&path("tree")).expect("opened");
        let change = |name: &OsStr, bytes: &mut Vec<u8>| {
            assert_eq!(name, "m.1");
            bytes.make_ascii_uppercase();
        };
        let copied = tree.copy(Path::new("u1"), &path("copy"), &account, &change);
        assert_eq!(copied.expect("copied"), 5);
        let names: Vec<_> =
            sorted(&path("copy")).expect("listed").into_iter().map(|own| own.name).collect();
        assert_eq!(names, ["storage"]);
        assert_eq!(fs::read_to_string(path("copy/storage/m.1")).expect("a file"), "MAILS");
        // A link that comes after the list was made: the file itself is refused.
        for name in ["u1/m.2", "u1/more/secret", "../secret"] {
            let error = tree.read(Path::new(name)).expect_err(name);
            assert!(matches!(error, ProcessError::Io { attempt: "open", .. }), "{error}");
        }
        assert!(tree.copy(Path::new("u1"), &path("copy"), &account, &change).is_err());
    }
}
