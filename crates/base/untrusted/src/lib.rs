//! Access to files that others may have made: run directories and traces from elsewhere, and
//! definitions that a user names.
//!
//! Function: It opens regular files only, without waiting for a pipe's writer. It reads at most as
//! much of a text as is expected. It creates files in directories where others may have put links.
//! It holds directories whose names others may replace. It reads the kernel's table of mounts,
//! which also contains names that others chose ([`mountinfo`]).
//!
//! Refused: links (in directories from elsewhere), pipes, sockets, devices, directories, texts
//! above their maximum size.

#![forbid(unsafe_code)]

pub mod mountinfo;

use std::borrow::Cow;
use std::fs::{DirBuilder, File, FileType, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum size of a text file, in bytes. Files of this program are far below: `run.json` of a run
/// of a thousand steps has about 10 MiB.
pub const TEXT_MAX: u64 = 64 << 20;

/// Reason why content cannot be used, in words for people. Content can be invalid in many ways and
/// is always refused in the same way, so there is no variant for each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(Cow<'static, str>);

impl From<&'static str> for Malformed {
    fn from(reason: &'static str) -> Self {
        Self(reason.into())
    }
}

impl From<String> for Malformed {
    fn from(reason: String) -> Self {
        Self(reason.into())
    }
}

/// Opens a regular file, and refuses a symbolic link. It is for names inside a directory from
/// elsewhere.
pub fn open(path: &Path) -> Result<File> {
    let file = open_with(path, libc::O_NOFOLLOW).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => refused("symbolic link"),
        _ => error,
    })?;
    refuse_giant_hole(&file)?;
    Ok(file)
}

/// Refuses a file above [`TEXT_MAX`] that has a hole. A terabyte of holes takes no room at its
/// origin, but hours to read. Files of this program have no holes.
fn refuse_giant_hole(file: &File) -> Result<()> {
    let length = file.metadata()?.len();
    if length <= TEXT_MAX {
        return Ok(());
    }
    // Where holes are not known, the first one is the end.
    let hole = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)).unwrap_or(length);
    rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0))?;
    match hole < length {
        false => Ok(()),
        true => {
            let text = format!(
                "it has {length} bytes, some of which were never written (a hole at {hole}); files \
                 with holes may have at most {TEXT_MAX} bytes"
            );
            Err(Error::new(ErrorKind::FileTooLarge, text))
        }
    }
}

/// Opens a regular file that a user named. The name may be a symbolic link.
pub fn open_named(path: &Path) -> Result<File> {
    open_with(path, 0)
}

fn open_with(path: &Path, flags: i32) -> Result<File> {
    // A pipe without a writer would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(flags | libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.file_type() {
        kind if kind.is_file() => Ok(file),
        kind => Err(refused(word(kind))),
    }
}

/// Creates a file for writing. A file with this name is unlinked, and its content is not changed:
/// in a directory in which others may write, it may be a link, or a hard link to somebody's file.
pub fn create(path: &Path) -> Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)
}

/// Directory that was just created and is held open. Names below it are looked up from the open
/// directory, even if the directory or one above it is renamed or replaced. Only its owner may
/// create files in it.
#[derive(Debug)]
pub struct HeldDirectory {
    /// Open file of the directory, for as long as names are looked up through it.
    _directory: File,
    at: PathBuf,
    path: PathBuf,
}

impl HeldDirectory {
    /// Creates the directory. If the name exists, or if somebody replaced the new directory, it is
    /// an error.
    pub fn make(path: &Path) -> Result<Self> {
        DirBuilder::new().mode(0o755).create(path)?;
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let at = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        let is_empty = std::fs::read_dir(&at)?.next().is_none();
        if !is_empty || directory.metadata()?.uid() != owner_of_new_files(&at)? {
            let text = "another program replaced it while it was made";
            return Err(Error::new(ErrorKind::PermissionDenied, text));
        }
        Ok(Self { _directory: directory, at, path: path.to_owned() })
    }

    /// Returns a path to the directory. It is valid while the directory is held.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Returns the path with which the directory was created.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the owner of files that this process creates in the directory. It is this process's
/// user, except on file systems without owners (FAT, CIFS), or if root is mapped to nobody (NFS).
fn owner_of_new_files(directory: &Path) -> Result<u32> {
    let probe = directory.join("probe");
    let owner = File::create_new(&probe)?.metadata()?.uid();
    std::fs::remove_file(&probe)?;
    Ok(owner)
}

/// Converts a path below a held directory to the path that people know. Other paths are returned
/// unchanged.
pub fn named(path: &Path) -> PathBuf {
    let held = Path::new("/proc/self/fd");
    let Ok(below) = path.strip_prefix(held) else { return path.to_owned() };
    let mut parts = below.components();
    let directory = parts.next().and_then(|number| std::fs::read_link(held.join(number)).ok());
    directory.map_or_else(|| path.to_owned(), |directory| directory.join(parts.as_path()))
}

/// Reads the whole of a regular file of at most `max` bytes. A symbolic link is refused.
pub fn read(path: &Path, max: u64) -> Result<Vec<u8>> {
    all_of(open(path)?, max)
}

/// Reads a file like [`read`], as text of at most [`TEXT_MAX`] bytes.
pub fn read_text(path: &Path) -> Result<String> {
    text_of(open(path)?)
}

/// Reads a text like [`read_text`], from a file that a user named. The name may be a symbolic link.
pub fn read_named_text(path: &Path) -> Result<String> {
    text_of(open_named(path)?)
}

fn text_of(file: File) -> Result<String> {
    String::from_utf8(all_of(file, TEXT_MAX)?).map_err(|_| ErrorKind::InvalidData.into())
}

fn all_of(file: File, max: u64) -> Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let too_long = |length| {
        let text = format!("it has {length} bytes, but the maximum is {max}");
        Error::new(ErrorKind::FileTooLarge, text)
    };
    if length > max {
        return Err(too_long(length));
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile, or be one that has no length (in /proc).
    file.take(max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > max => Err(too_long(length)),
        _ => Ok(bytes),
    }
}

fn refused(found: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("it is a {found}, not a regular file"))
}

fn word(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "directory",
        kind if kind.is_fifo() => "fifo",
        kind if kind.is_socket() => "socket",
        kind if kind.is_block_device() => "block device",
        _ => "character device",
    }
}

/// Makes text from elsewhere safe to show on a terminal. Characters that could steer the terminal
/// (control characters and the marks that change the direction of writing) are replaced by their
/// escapes, `\u{1b}`.
pub fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains(is_steering) {
        return text.into();
    }
    text.chars()
        .fold(String::new(), |mut shown, c| {
            match is_steering(c) {
                true => shown.extend(c.escape_unicode()),
                false => shown.push(c),
            }
            shown
        })
        .into()
}

/// Returns true for Unicode's control characters except line feed and tab, and for its direction
/// marks (UAX 9).
fn is_steering(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// The owner of the directory above can rename the held directory and put a link in its place.
    #[test]
    fn held_directory_keeps_writes_after_its_name_is_replaced() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (ours, theirs) = (dir.path().join("run"), dir.path().join("theirs"));
        std::fs::create_dir(&theirs).expect("creates");
        let held = HeldDirectory::make(&ours).expect("makes");
        std::fs::rename(&ours, dir.path().join("away")).expect("renames");
        symlink(&theirs, &ours).expect("links");
        std::fs::write(held.at().join("file"), "text").expect("writes");
        assert_eq!(std::fs::read_dir(&theirs).expect("lists").count(), 0);
        let file = named(&held.at().join("file"));
        assert!(file.ends_with("away/file") && file.exists(), "{}", file.display());
        assert_eq!(named(Path::new("/srv/file")), Path::new("/srv/file"));
        HeldDirectory::make(&ours).expect_err("a link has the name");
    }

    #[test]
    fn a_link_a_pipe_and_a_device_are_refused_by_what_they_are() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (link, pipe) = (dir.path().join("link"), dir.path().join("pipe"));
        symlink("/etc/passwd", &link).expect("link");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        for (path, what) in [
            (link.as_path(), "symbolic link"),
            (&pipe, "fifo"),
            (Path::new("/dev/zero"), "character device"),
            (dir.path(), "directory"),
        ] {
            let error = read_text(path).expect_err("refused").to_string();
            assert!(error.contains(what), "{error}");
        }
        assert!(read_named_text(&link).is_ok(), "a link that somebody names is followed");
        assert!(read_named_text(&pipe).is_err(), "what it leads to is looked at all the same");
    }

    #[test]
    fn a_link_planted_where_a_file_is_created_leads_nowhere() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (victim, planted) = (dir.path().join("victim"), dir.path().join("run.json.tmp"));
        std::fs::write(&victim, "foreign").expect("file");
        let plants: [fn(&Path, &Path) -> Result<()>; 2] =
            [|from, to| symlink(from, to), |from, to| std::fs::hard_link(from, to)];
        for plant in plants {
            plant(&victim, &planted).expect("planted");
            std::io::Write::write_all(&mut create(&planted).expect("new"), b"ours").expect("ours");
            assert_eq!(std::fs::read(&victim).expect("still there"), b"foreign");
            assert_eq!(std::fs::read(&planted).expect("written"), b"ours");
            std::fs::remove_file(&planted).expect("removed");
        }
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        file.as_file().set_len(1 << 40).expect("sparse");
        let error = read_text(file.path()).expect_err("refused").to_string();
        assert!(error.contains("1099511627776"), "{error}");
        file.as_file().set_len(3).expect("short");
        assert_eq!(read(file.path(), 3).expect("as long as allowed"), [0; 3]);
    }

    /// Seen at e6eaf978: a series with 1 TiB of holes was read to its end.
    #[test]
    fn giant_of_holes_is_refused_when_it_is_opened() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        file.as_file().set_len(1 << 40).expect("sparse");
        let error = open(file.path()).expect_err("refused").to_string();
        assert!(error.contains("1099511627776") && error.contains("a hole at 0"), "{error}");
        file.as_file().set_len(TEXT_MAX).expect("shorter");
        assert!(open(file.path()).is_ok(), "small files may have holes");
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_and_not_sent() {
        assert_eq!(shown("plain, \u{e4}\u{f6}\n"), "plain, \u{e4}\u{f6}\n");
        assert_eq!(shown("\u{1b}]0;x\u{7}"), "\\u{1b}]0;x\\u{7}");
        assert_eq!(shown("\u{9b}2J\r\u{202e}"), "\\u{9b}2J\\u{d}\\u{202e}");
    }
}
