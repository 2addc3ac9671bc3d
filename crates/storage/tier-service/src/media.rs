use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use block_server::Buffer;
use rustix::fs::{FileType, fstat, major, minor};
use rustix::io::{Errno, pread, pwrite};
use tier::{IoError, IoTarget, Media, OpenError};

use crate::SetError;
use crate::files::failed;
use crate::opening::Opening;

/// Open files of a set: the cache, and the files of each disk.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) cache: Arc<OwnedFd>,
    /// Backing store and sidecar of each disk, by disk index.
    pub(crate) disks: Vec<Option<(Arc<OwnedFd>, Arc<OwnedFd>)>>,
}

impl Files {
    pub(crate) fn of(&self, place: IoTarget) -> &Arc<OwnedFd> {
        let disk =
            |index: u16| self.disks[usize::from(index)].as_ref().expect("a served disk has files");
        match place {
            IoTarget::Cache => &self.cache,
            IoTarget::Backing(index) => &disk(index).0,
            IoTarget::Sidecar(index) => &disk(index).1,
            IoTarget::Copy(..) => unreachable!("copies belong to other hosts"),
        }
    }
}

/// Returns true if a durable write (`RWF_DSYNC`) to this file or device needs no flush afterwards:
/// the device has FUA, or no volatile cache. On other devices the kernel flushes in a worker, which
/// is slower than an explicit flush.
pub(crate) fn writes_durably(file: &OwnedFd) -> bool {
    let Ok(found) = fstat(file) else { return false };
    let is_device = FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice;
    let number = if is_device { found.st_rdev } else { found.st_dev };
    let device = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    // A partition has no queue settings of its own, so those of its disk are read.
    let said = |what: &str| {
        let read = |path: String| std::fs::read_to_string(path).ok();
        read(format!("{device}/queue/{what}"))
            .or_else(|| read(format!("{device}/../queue/{what}")))
            .unwrap_or_default()
    };
    said("fua").trim() == "1" || said("write_cache").trim() == "write through"
}

impl Files {
    fn try_read(&self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        let file = self.of(place);
        let mut buffer = Buffer::zeroed(into.len());
        let mut done = 0;
        while done < into.len() {
            match pread(file, &mut buffer[done..], at + done as u64) {
                Ok(0) => return Err(Errno::IO),
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        into.copy_from_slice(&buffer);
        Ok(())
    }

    fn try_write(&self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), Errno> {
        let file = self.of(place);
        let mut buffer = Buffer::zeroed(data.len());
        buffer.copy_from_slice(data);
        let mut done = 0;
        while done < data.len() {
            match pwrite(file, &buffer[done..], at + done as u64) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn try_flush(&self, place: IoTarget) -> Result<(), Errno> {
        rustix::fs::fdatasync(self.of(place))
    }
}

fn error(place: IoTarget, errno: Errno) -> IoError {
    match (errno, place) {
        // The device is reserved for another host (reservation conflict).
        (Errno::BADE, IoTarget::Backing(_)) => IoError::Fenced,
        _ => IoError::Io,
    }
}

impl Media for Files {
    fn read(&mut self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        self.try_read(place, at, into).map_err(|_| IoError::Io)
    }

    fn write(&mut self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), IoError> {
        self.try_write(place, at, data).map_err(|errno| error(place, errno))
    }

    fn flush(&mut self, place: IoTarget) -> Result<(), IoError> {
        self.try_flush(place).map_err(|_| IoError::Io)
    }
}

/// Files of a set while it is opened. The file that failed is recorded, because an error of the
/// state machine does not name it.
pub(crate) struct Watched<'a> {
    files: &'a Files,
    failed: Option<(&'static str, IoTarget, Errno)>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(files: &'a Files) -> Self {
        Self { files, failed: None }
    }

    /// Returns an error with the path of the file that failed, if an I/O error is the cause.
    /// `disks` are the disks of the set, by index.
    pub(crate) fn failure<'b>(
        &self,
        error: &OpenError,
        cache: &Path,
        disks: impl IntoIterator<Item = (u16, &'b Opening)>,
    ) -> Option<SetError> {
        let (what, place, errno) = self.failed.filter(|_| matches!(error, OpenError::Io(_)))?;
        let of = |index| disks.into_iter().find(|(at, _)| *at == index).map(|(_, disk)| disk);
        let path = match place {
            IoTarget::Backing(index) => of(index)?.backing.clone(),
            IoTarget::Sidecar(index) => of(index)?.sidecar_path().ok()?,
            IoTarget::Cache | IoTarget::Copy(..) => cache.to_owned(),
        };
        Some(failed(what, &path)(errno.into()))
    }

    fn note(
        &mut self,
        what: &'static str,
        place: IoTarget,
        result: Result<(), Errno>,
    ) -> Result<(), IoError> {
        result.map_err(|errno| {
            self.failed = Some((what, place, errno));
            error(place, errno)
        })
    }
}

impl Media for Watched<'_> {
    fn read(&mut self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        let read = self.files.try_read(place, at, into);
        self.note("read", place, read)
    }

    fn write(&mut self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), IoError> {
        let written = self.files.try_write(place, at, data);
        self.note("write to", place, written)
    }

    fn flush(&mut self, place: IoTarget) -> Result<(), IoError> {
        let flushed = self.files.try_flush(place);
        self.note("flush", place, flushed)
    }
}
