//! Requests about whole disks. A ring cannot carry them out, so a separate thread does, with
//! blocking calls. While such a request is open, the worker checks for answers every 200 us.
//! Recorded times are the times of the calls, not of the checks.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Instant;

use rustix::fs::{FallocateFlags, FileType, fallocate, fstat, ioctl_ficlone};
use rustix::io::Errno;
use state_machine::{Content, Event, IoError, IoRequest, Machine};
use units::Nanos;

use super::Worker;
use crate::EngineError;
use crate::backend::Backend;
use crate::disks::Disk;
use crate::telemetry::Outlet;

/// Interval between checks for answers while a request is open.
pub(super) const POLL: Nanos = Nanos::from_micros(200);

/// Thread for requests about whole disks, and the number of open requests.
#[derive(Debug, Default)]
pub(super) struct Errands {
    thread: Option<(Sender<Errand>, Receiver<Answer>)>,
    open: u32,
}

#[derive(Debug)]
struct Errand {
    instance: u32,
    disk: u32,
    request: IoRequest,
    what: Work,
}

#[derive(Debug)]
struct Answer {
    errand: Errand,
    took: Nanos,
    result: Result<(), Errno>,
}

#[derive(Debug)]
enum Work {
    /// Makes the first file share all blocks of the second.
    Clone(Arc<File>, Arc<File>),
    /// Deallocates a range: file, offset and length in bytes.
    Discard(Arc<File>, u64, u64),
}

impl Work {
    /// Converts a request for these disks. Blocks can only be shared by whole files, so disks that
    /// are parts of a file cannot be cloned.
    fn of(to: &Disk, from: Option<&Disk>) -> Result<Self, Errno> {
        let Some(from) = from else {
            return Ok(Self::Discard(Arc::clone(&to.handle), to.base(), to.size()));
        };
        let is_whole = |disk: &Disk| {
            fstat(&*disk.handle).is_ok_and(|found| found.st_size.unsigned_abs() == disk.size())
                && disk.base() == 0
        };
        match is_whole(to) && is_whole(from) {
            true => Ok(Self::Clone(Arc::clone(&to.handle), Arc::clone(&from.handle))),
            false => Err(Errno::OPNOTSUPP),
        }
    }

    fn carry_out(&self) -> Result<(), Errno> {
        match self {
            Self::Clone(to, from) => ioctl_ficlone(to.as_fd(), from.as_fd()),
            Self::Discard(file, base, size) => {
                // On a device the same call would trim it.
                let found = fstat(&**file)?;
                if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
                    return Err(Errno::OPNOTSUPP);
                }
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&**file, flags, *base, *size)
            }
        }
    }
}

impl Errands {
    pub fn is_idle(&self) -> bool {
        self.open == 0
    }

    fn send(&mut self, errand: Errand) -> std::io::Result<()> {
        if self.thread.is_none() {
            let (to, errands) = channel::<Errand>();
            let (answers, from) = channel();
            let main = move || {
                for errand in errands {
                    let begun = Instant::now();
                    let result = errand.what.carry_out();
                    let took = Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
                    if answers.send(Answer { errand, took, result }).is_err() {
                        return;
                    }
                }
            };
            Builder::new().name("tilemark-disks".to_owned()).spawn(main)?;
            self.thread = Some((to, from));
        }
        let sent = self.thread.as_ref().is_some_and(|(to, _)| to.send(errand).is_ok());
        self.open += u32::from(sent);
        if sent { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    }

    fn answered(&mut self) -> Option<Answer> {
        let answer = self.thread.as_ref()?.1.try_recv().ok()?;
        self.open -= 1;
        Some(answer)
    }
}

impl<M: Machine, B: Backend, O: Outlet> Worker<M, B, O> {
    /// Passes a request about a whole disk to the thread.
    pub(super) fn run_errand(&mut self, instance: u32, disk: u32, request: IoRequest) {
        let first = self.instances[instance as usize].first_disk;
        let from = match request.pattern.content {
            Content::Clone(of) => Some(&self.disks[(first + u32::from(of.0)) as usize]),
            _ => None,
        };
        let what = match Work::of(&self.disks[disk as usize], from) {
            Ok(what) => what,
            Err(error) => {
                let error = IoError::Os(error.raw_os_error());
                return self.fail(instance, disk, &request, error);
            }
        };
        // The new content is not written through the tracker, so nothing can be expected of the
        // disk.
        self.content.forget(disk);
        let now = self.backend.now();
        self.counts.pass_time(now);
        self.counts.in_flight += 1;
        self.counts.submitted += 1;
        self.counts.slice_submitted += 1;
        if let Err(source) = self.errands.send(Errand { instance, disk, request, what }) {
            let name = "tilemark-disks".to_owned();
            self.failure = self.failure.take().or(Some(EngineError::Thread { name, source }));
        }
    }

    pub(super) fn answer_errands(&mut self) {
        if self.errands.is_idle() {
            return;
        }
        while let Some(Answer { errand, took, result }) = self.errands.answered() {
            self.now = self.backend.now().max(self.now);
            self.counts.pass_time(self.now);
            self.counts.in_flight -= 1;
            self.counts.completed += 1;
            self.counts.slice_completed += 1;
            let Errand { instance, disk, request, .. } = errand;
            // The request moves no bytes.
            let told = IoRequest { length: 0, ..request };
            self.record(instance, &told, took, took, result.is_ok());
            match result {
                Err(error) => {
                    let error = IoError::Os(error.raw_os_error());
                    self.note_error(instance, disk, &request, error);
                    if self.dispatching {
                        self.answer_late(instance, request.token, error);
                    }
                }
                Ok(()) if self.dispatching => {
                    self.deliver(instance, Event::Done(request.token, Ok(())));
                }
                Ok(()) => {}
            }
        }
    }
}
