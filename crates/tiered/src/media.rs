use std::os::fd::OwnedFd;
use std::sync::Arc;

use front::Buffer;
use rustix::fs::{FileType, fstat, major, minor};
use rustix::io::{Errno, pread, pwrite};
use tier::{IoError, Media, Place};

/// The files of a set, by place.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) cache: Arc<OwnedFd>,
    /// Of each index: backing store and sidecar.
    pub(crate) disks: Vec<Option<(Arc<OwnedFd>, Arc<OwnedFd>)>>,
}

impl Files {
    pub(crate) fn of(&self, place: Place) -> &Arc<OwnedFd> {
        let disk = |index: u16| {
            self.disks[usize::from(index)].as_ref().expect("a disk that is served has files")
        };
        match place {
            Place::Cache => &self.cache,
            Place::Backing(index) => &disk(index).0,
            Place::Sidecar(index) => &disk(index).1,
            Place::Copy(..) => unreachable!("a copy is another host's"),
        }
    }
}

/// Whether a write to this file or device that is to be durable (`RWF_DSYNC`) needs no flush behind it: its device can
/// write so (FUA), or has nothing that could be lost. Elsewhere the kernel flushes in a worker of its own, which takes
/// longer than a flush that is asked for.
pub(crate) fn writes_durably(file: &OwnedFd) -> bool {
    let Ok(found) = fstat(file) else { return false };
    let is_device = FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice;
    let number = if is_device { found.st_rdev } else { found.st_dev };
    let device = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    // Of a partition they are those of its disk.
    let said = |what: &str| {
        let read = |path: String| std::fs::read_to_string(path).ok();
        read(format!("{device}/queue/{what}"))
            .or_else(|| read(format!("{device}/../queue/{what}")))
            .unwrap_or_default()
    };
    said("fua").trim() == "1" || said("write_cache").trim() == "write through"
}

impl Media for Files {
    fn read(&mut self, place: Place, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        let file = self.of(place);
        let mut buffer = Buffer::zeroed(into.len());
        let mut done = 0;
        while done < into.len() {
            match pread(file, &mut buffer[done..], at + done as u64) {
                Ok(0) => return Err(IoError::Io),
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(_) => return Err(IoError::Io),
            }
        }
        into.copy_from_slice(&buffer);
        Ok(())
    }

    fn write(&mut self, place: Place, at: u64, data: &[u8]) -> Result<(), IoError> {
        let file = self.of(place);
        let mut buffer = Buffer::zeroed(data.len());
        buffer.copy_from_slice(data);
        let mut done = 0;
        while done < data.len() {
            match pwrite(file, &buffer[done..], at + done as u64) {
                Ok(0) => return Err(IoError::Io),
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                // Its reservation is another host's.
                Err(Errno::BADE) if matches!(place, Place::Backing(_)) => {
                    return Err(IoError::Fenced);
                }
                Err(_) => return Err(IoError::Io),
            }
        }
        Ok(())
    }

    fn flush(&mut self, place: Place) -> Result<(), IoError> {
        rustix::fs::fdatasync(self.of(place)).map_err(|_| IoError::Io)
    }
}
