//! File attributes in the form of NFS and in the form of FUSE.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};

use crate::error::Trouble;
use crate::xdr::{Reader, Writer};

/// Attributes that a server sends (RFC 1813, 2.6, `fattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub kind: FileType,
    mode: u32,
    links: u32,
    user: u32,
    group: u32,
    size: u64,
    used: u64,
    /// Number of the file in its file system (inode number).
    pub number: u64,
    accessed: SystemTime,
    modified: SystemTime,
    changed: SystemTime,
}

impl Attributes {
    pub fn read(read: &mut Reader<'_>) -> Result<Self, Trouble> {
        let kind = match read.u32()? {
            1 => FileType::RegularFile,
            2 => FileType::Directory,
            3 => FileType::BlockDevice,
            4 => FileType::CharDevice,
            5 => FileType::Symlink,
            6 => FileType::Socket,
            7 => FileType::NamedPipe,
            _ => return Err(Trouble::Malformed),
        };
        let [mode, links, user, group] = [read.u32()?, read.u32()?, read.u32()?, read.u32()?];
        let [size, used] = [read.u64()?, read.u64()?];
        let _device = read.u64()?;
        let _file_system = read.u64()?;
        let number = read.u64()?;
        let [accessed, modified, changed] = [time(read)?, time(read)?, time(read)?];
        Ok(Self { kind, mode, links, user, group, size, used, number, accessed, modified, changed })
    }

    /// Converts the attributes for FUSE. `number` is the file's number for the kernel, and `block`
    /// the block size.
    pub fn shown(&self, number: u64, block: u32) -> FileAttr {
        FileAttr {
            ino: INodeNo(number),
            size: self.size,
            blocks: self.used.div_ceil(512),
            atime: self.accessed,
            mtime: self.modified,
            ctime: self.changed,
            crtime: self.changed,
            kind: self.kind,
            perm: u16::try_from(self.mode & 0o7777).unwrap_or(0),
            nlink: self.links,
            uid: self.user,
            gid: self.group,
            rdev: 0,
            blksize: block,
            flags: 0,
        }
    }
}

fn time(read: &mut Reader<'_>) -> Result<SystemTime, Trouble> {
    let (seconds, nanos) = (read.u32()?, read.u32()?);
    let since = Duration::new(u64::from(seconds), nanos.min(999_999_999));
    Ok(UNIX_EPOCH + since)
}

/// Parses the attributes after a call, which a server may leave out (`post_op_attr`).
pub(crate) fn after(read: &mut Reader<'_>) -> Result<Option<Attributes>, Trouble> {
    read.optional(Attributes::read)
}

/// Skips the attributes before and after a change (`wcc_data`).
pub(crate) fn pass_change(read: &mut Reader<'_>) -> Result<(), Trouble> {
    read.optional(|read| read.bytes(24).map(drop))?;
    after(read).map(drop)
}

/// Attributes to set (`sattr3`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Change {
    pub mode: Option<u32>,
    pub user: Option<u32>,
    pub group: Option<u32>,
    pub size: Option<u64>,
    pub accessed: Option<TimeOrNow>,
    pub modified: Option<TimeOrNow>,
}

impl Change {
    pub fn write(&self, body: Writer) -> Writer {
        let mode = self.mode.map(|mode| mode & 0o7777);
        let body = body.optional(mode).optional(self.user).optional(self.group);
        let body = match self.size {
            Some(size) => body.u32(1).u64(size),
            None => body.u32(0),
        };
        write_time(write_time(body, self.accessed), self.modified)
    }
}

fn write_time(body: Writer, time: Option<TimeOrNow>) -> Writer {
    match time {
        None => body.u32(0),
        Some(TimeOrNow::Now) => body.u32(1),
        Some(TimeOrNow::SpecificTime(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            let seconds = u32::try_from(since.as_secs()).unwrap_or(u32::MAX);
            body.u32(2).u32(seconds).u32(since.subsec_nanos())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_to_their_end_and_no_further() {
        let words = [1_u32, 0o100_644, 1, 1000, 100]
            .iter()
            .fold(Writer::default(), |own, word| own.u32(*word));
        let rest = [4096_u64, 8192, 0, 5, 77].iter().fold(words, |own, long| own.u64(*long));
        let whole = rest.u32(10).u32(5).u32(11).u32(u32::MAX).u32(12).u32(0).into_bytes();
        assert_eq!(whole.len(), 84, "RFC 1813 has 84 bytes");
        let mut read = Reader(&whole);
        let own = Attributes::read(&mut read).expect("attributes");
        assert!(read.0.is_empty());
        let shown = own.shown(9, 4096);
        assert_eq!(
            (shown.ino, shown.size, shown.blocks, shown.perm),
            (INodeNo(9), 4096, 16, 0o644)
        );
        assert_eq!(own.number, 77);
        assert_eq!(Attributes::read(&mut Reader(&whole[..83])), Err(Trouble::Malformed));
    }

    #[test]
    fn a_change_of_nothing_is_six_noes() {
        assert_eq!(Change::default().write(Writer::default()).into_bytes(), [0; 24]);
    }
}
