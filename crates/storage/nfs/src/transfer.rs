//! Reads, writes and flushes, as many in flight as the kernel sends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

use crate::attributes::{after, pass_change};
use crate::client::{Client, nfs, status};
use crate::error::Trouble;
use crate::nodes::Handle;
use crate::xdr::{Reader, Writer};

const READ: u32 = 6;
const WRITE: u32 = 7;
const COMMIT: u32 = 21;
/// Stability levels of a write (RFC 1813, 3.3.7): not stable, and data and attributes stable.
const UNSTABLE: u32 = 0;
const FILE_SYNC: u32 = 2;

type Job = Box<dyn FnOnce() + Send>;

/// Converts the failure of a call into an error number of Linux. Most statuses of NFS 3 are numbers
/// of Unix; Linux has other numbers for some (RFC 1813, 2.6).
pub(crate) fn errno(trouble: Trouble) -> Errno {
    use rustix::io::Errno as Linux;
    let known = match trouble {
        Trouble::Status(status) => match status {
            1 => Linux::PERM,
            2 => Linux::NOENT,
            13 => Linux::ACCESS,
            17 => Linux::EXIST,
            18 => Linux::XDEV,
            20 => Linux::NOTDIR,
            21 => Linux::ISDIR,
            22 => Linux::INVAL,
            27 => Linux::FBIG,
            28 => Linux::NOSPC,
            30 => Linux::ROFS,
            31 => Linux::MLINK,
            63 => Linux::NAMETOOLONG,
            66 => Linux::NOTEMPTY,
            69 => Linux::DQUOT,
            70 => Linux::STALE,
            10_004 => Linux::OPNOTSUPP,
            _ => Linux::IO,
        },
        Trouble::Rejected(_) => Linux::ACCESS,
        Trouble::Malformed | Trouble::Lost => Linux::IO,
    };
    Errno::from_i32(known.raw_os_error())
}

/// Read that may need several calls.
pub(crate) struct Reading {
    pub handle: Handle,
    pub offset: u64,
    pub left: u32,
    pub read: Vec<u8>,
    pub reply: ReplyData,
}

/// Data transfers between the kernel and a server.
pub(crate) struct Transfers {
    client: Arc<Client>,
    /// Verifier that identifies the present boot of the server. If it changes, unstable data is
    /// lost.
    verifier: Mutex<Option<[u8; 8]>>,
    has_restarted: AtomicBool,
    /// Queue of jobs that answers cause and that must not run on the thread that reads answers.
    later: Sender<Job>,
}

impl Transfers {
    pub fn new(client: Arc<Client>) -> std::io::Result<Arc<Self>> {
        let (later, jobs) = mpsc::channel::<Job>();
        let own = std::thread::Builder::new().name("nfs-more".to_owned());
        own.spawn(move || jobs.into_iter().for_each(|job| job()))?;
        let verifier = Mutex::new(None);
        Ok(Arc::new(Self { client, verifier, has_restarted: AtomicBool::new(false), later }))
    }

    pub fn read(self: &Arc<Self>, part: Reading) {
        let count = part.left.min(self.client.facts().read_max);
        let body = Writer::default().opaque(&part.handle).u64(part.offset).u32(count);
        let own = Arc::clone(self);
        self.client.connection.call(nfs(READ), body, move |answer| {
            match answer.and_then(|answer| data(answer, count)) {
                Ok((data, is_end)) => own.was_read(part, data, is_end),
                Err(trouble) => part.reply.error(errno(trouble)),
            }
        });
    }

    fn was_read(self: Arc<Self>, mut part: Reading, data: &[u8], is_end: bool) {
        let count = u32::try_from(data.len()).unwrap_or(u32::MAX);
        part.left = part.left.saturating_sub(count);
        let is_done = is_end || part.left == 0 || data.is_empty();
        if is_done && part.read.is_empty() {
            return part.reply.data(data);
        }
        part.read.extend(data);
        if is_done {
            return part.reply.data(&part.read);
        }
        part.offset += u64::from(count);
        let own = Arc::clone(&self);
        let rest = self.later.send(Box::new(move || own.read(part)));
        // The thread lives as long as this does; a part that could not be sent is dropped, and
        // with it the kernel gets an error.
        drop(rest);
    }

    pub fn write(
        self: &Arc<Self>,
        handle: &Handle,
        (offset, data): (u64, &[u8]),
        is_synchronous: bool,
        reply: ReplyWrite,
    ) {
        let count = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let promise = if is_synchronous { FILE_SYNC } else { UNSTABLE };
        let body = Writer::default().opaque(handle).u64(offset).u32(count).u32(promise);
        let own = Arc::clone(self);
        self.client.connection.call(nfs(WRITE), body.opaque(data), move |answer| {
            let written = answer.and_then(|mut read| {
                status(&mut read)?;
                pass_change(&mut read)?;
                let written = read.u32()?;
                let _promise = read.u32()?;
                own.note(&mut read)?;
                if written <= count { Ok(written) } else { Err(Trouble::Malformed) }
            });
            match written {
                Ok(written) => reply.written(written),
                Err(trouble) => reply.error(errno(trouble)),
            }
        });
    }

    /// Makes the server write all data of a file to stable storage.
    pub fn flush(self: &Arc<Self>, handle: &Handle, reply: ReplyEmpty) {
        let body = Writer::default().opaque(handle).u64(0).u32(0);
        let own = Arc::clone(self);
        self.client.connection.call(nfs(COMMIT), body, move |answer| {
            let flushed = answer.and_then(|mut read| {
                status(&mut read)?;
                pass_change(&mut read)?;
                own.note(&mut read)
            });
            match flushed {
                Ok(()) if !own.has_restarted.load(Ordering::Relaxed) => reply.ok(),
                Ok(()) => reply.error(Errno::from_i32(rustix::io::Errno::IO.raw_os_error())),
                Err(trouble) => reply.error(errno(trouble)),
            }
        });
    }

    /// Reads the server's verifier, and records a restart of the server if it has changed.
    fn note(&self, read: &mut Reader<'_>) -> Result<(), Trouble> {
        let mut now = [0; 8];
        now.copy_from_slice(read.bytes(8)?);
        let mut known = self.verifier.lock().unwrap_or_else(PoisonError::into_inner);
        if *known.get_or_insert(now) != now {
            self.has_restarted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn data(mut read: Reader<'_>, count: u32) -> Result<(&[u8], bool), Trouble> {
    status(&mut read)?;
    after(&mut read)?;
    let _count = read.u32()?;
    let is_end = read.bool()?;
    let most = usize::try_from(count).map_err(|_| Trouble::Malformed)?;
    Ok((read.opaque(most)?, is_end))
}
