//! Completions of I/O that the kernel reports for another disk or address.
//!
//! bcache first changes each I/O's address to the address on the disk behind its cache. So the
//! completion event has that disk, or bcache's own number, with sectors that count from the begin
//! of bcache's data there (seen with Linux 6.12).

use std::fs;
use std::path::Path;

/// Mapping of a disk's completions that are reported for another disk or address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MovedEnds {
    /// Device number of the disk.
    pub own: u32,
    /// Device number of the disk or partition behind the disk.
    pub behind: u32,
    /// Number of sectors by which addresses are shifted.
    pub shift: u64,
}

impl MovedEnds {
    /// Returns the mapping for the disk at this path of `/sys/block`, if it is a bcache disk.
    pub fn of(disk: &Path, dev: impl Fn(&Path) -> Option<u32>) -> Option<Self> {
        let size = |path: &Path| -> Option<u64> {
            fs::read_to_string(path.join("size")).ok()?.trim().parse().ok()
        };
        // A link to what bcache tells of the disk behind it, where it is no link.
        let behind = fs::canonicalize(disk.join("bcache")).ok()?;
        let behind = behind.parent()?;
        let shift = size(behind)?.checked_sub(size(disk)?)?;
        let ends = Self { own: dev(disk)?, behind: dev(behind)?, shift };
        (ends.own != ends.behind).then_some(ends)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn ends_of_bcache_are_moved_by_what_it_keeps_of_its_disk() {
        let sys = tempfile::tempdir().expect("a directory");
        let [disk, behind] = ["bcache0", "vdc/vdc1"].map(|name| sys.path().join(name));
        for (path, size) in [(&disk, "984\n"), (&behind, "1000\n")] {
            fs::create_dir_all(path).expect("made");
            fs::write(path.join("size"), size).expect("written");
        }
        let dev = |path: &Path| Some(if path.ends_with("vdc1") { 7 } else { 3 });
        assert_eq!(MovedEnds::of(&disk, dev), None, "no disk of bcache");
        fs::create_dir(behind.join("bcache")).expect("made");
        symlink(behind.join("bcache"), disk.join("bcache")).expect("linked");
        let wanted = MovedEnds { own: 3, behind: 7, shift: 16 };
        assert_eq!(MovedEnds::of(&disk, dev), Some(wanted));
        assert_eq!(MovedEnds::of(&behind, dev), None, "what is behind has its own ends");
    }
}
