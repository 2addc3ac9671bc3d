//! Check if a file is open elsewhere, by an `fcntl` lease, which has no safe wrapper.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Command that chooses the signal of a lease; include/uapi/asm-generic/fcntl.h, absent from
/// `libc`.
const F_SETSIG: libc::c_int = 10;

/// Result of the check if another process has the file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenElsewhere {
    Yes,
    No,
    /// The file system or the user's rights do not allow the check. The text is the error.
    Unknown(String),
}

/// Takes a write lease and returns it at once. The kernel grants a lease only while no other open
/// file description of the inode exists (fcntl(2), "Leases"). Nothing is written.
pub(crate) fn open_elsewhere(file: &File) -> OpenElsewhere {
    // Should someone open the file in between, the kernel signals the lease's holder; the
    // default SIGIO would end this process, SIGURG is ignored unless asked for.
    if let Err(error) = fcntl(file, F_SETSIG, libc::SIGURG) {
        return OpenElsewhere::Unknown(error.to_string());
    }
    let taken = fcntl(file, libc::F_SETLEASE, libc::F_WRLCK);
    let _ = fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
    match taken {
        Ok(()) => OpenElsewhere::No,
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => OpenElsewhere::Yes,
        Err(error) => OpenElsewhere::Unknown(error.to_string()),
    }
}

fn fcntl(file: &File, command: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the commands used
    // here take an int and touch no memory of this process.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, value) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_opening_is_noticed_and_its_end_too() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        let path = file.path().to_owned();
        let (_, keep) = file.into_parts();
        let looking = File::open(&path).expect("open");
        if let OpenElsewhere::Unknown(why) = open_elsewhere(&looking) {
            eprintln!("skipped: leases are not available here: {why}");
            return;
        }
        let other = File::open(&path).expect("open");
        assert_eq!(open_elsewhere(&looking), OpenElsewhere::Yes);
        drop(other);
        assert_eq!(open_elsewhere(&looking), OpenElsewhere::No);
        drop(keep);
    }
}
