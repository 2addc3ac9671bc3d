use std::os::fd::OwnedFd;
use std::sync::Arc;

use front::Buffer;
use rustix::io::{pread, pwrite};
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

impl Media for Files {
    fn read(&mut self, place: Place, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        let file = self.of(place);
        let mut buffer = Buffer::zeroed(into.len());
        let mut done = 0;
        while done < into.len() {
            match pread(file, &mut buffer[done..], at + done as u64) {
                Ok(0) => return Err(IoError::Io),
                Ok(read) => done += read,
                Err(rustix::io::Errno::INTR) => {}
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
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(IoError::Io),
            }
        }
        Ok(())
    }

    fn flush(&mut self, place: Place) -> Result<(), IoError> {
        rustix::fs::fdatasync(self.of(place)).map_err(|_| IoError::Io)
    }
}
