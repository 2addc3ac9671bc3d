//! Copies of other hosts' logs, in files of a directory: `DISK.GENERATION.log`, and `DISK.fence`
//! with the highest generation that was opened. The file `tilemark-hold` marks the directory as
//! ours and is locked while in use. A directory with other files is refused, because copies are
//! emptied by name. Symbolic links are not followed.
//!
//! A copy is opened by its export name, `log/DISK/GENERATION`. Each opening ends the writes of
//! earlier sessions. It also ends the writes of lower generations for ever: these can only be
//! opened read-only. So an owner whose disk was taken over gets no acknowledgement any more.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block_server::{Buffer, Catalog, Disk, Effects, FileDisk, IoId, Request, Service};
use nbd::{Abilities, BlockSizes, Code, Export, Operation};
use rustix::fs::{FlockOperation, flock};
use tier::format::LABEL_BYTES;

use crate::SetError;
use crate::files::{failed, keep_name};
use crate::identity::is_name;

/// Size of a copy in bytes. Nearly all of it is a hole. It is larger than any log, so that the ring
/// of the copy is never full.
const CAPACITY: u64 = LABEL_BYTES + (1 << 40);
/// Maximum size of a request, in bytes; the usual limit of NBD.
const REQUEST_MAX: u32 = 32 << 20;

/// Name of the file that marks a directory as one for copies.
const MARKER: &str = "tilemark-hold";

/// Returns options for writing without following a symbolic link. New files are accessible only for
/// their owner.
fn writing() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).mode(0o600);
    options
}

/// Directory with copies of logs.
#[derive(Debug)]
pub struct Hold {
    directory: PathBuf,
    logs: BTreeMap<String, Arc<Mutex<DiskCopies>>>,
    /// Lock on the marker, held as long as the directory is in use.
    _lock: File,
}

/// State of one disk's copies.
#[derive(Debug)]
struct DiskCopies {
    directory: PathBuf,
    disk: String,
    fence: u64,
    /// Number of openings so far. Only the session of the last opening may write.
    session: u64,
    /// True while a request of the last session is in progress.
    is_busy: bool,
    /// True once copies of lower generations were emptied.
    is_swept: bool,
}

/// Connection of a client to a copy.
struct Session {
    inner: FileDisk,
    held: Arc<Mutex<DiskCopies>>,
    generation: u64,
    /// Number of the opening; `None` for a read-only session.
    number: Option<u64>,
}

impl Hold {
    /// Opens a directory of copies, and creates it if needed.
    ///
    /// # Errors
    /// If the system returns an error, another server uses the directory, or it contains other
    /// files.
    pub fn open(directory: &Path) -> Result<Self, SetError> {
        std::fs::create_dir_all(directory).map_err(failed("make", directory))?;
        let path = directory.join(MARKER);
        let is_known = path.symlink_metadata().is_ok();
        let mut entries = std::fs::read_dir(directory).map_err(failed("look into", directory))?;
        if !is_known && entries.next().is_some() {
            return Err(SetError::HoldsOther { path: directory.to_owned() });
        }
        let lock = writing().create(true).open(&path).map_err(failed("open", &path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| block_server::OpenError::InUse { path: directory.to_owned() })?;
        Ok(Self { directory: directory.to_owned(), logs: BTreeMap::new(), _lock: lock })
    }

    fn held(&mut self, disk: &str) -> Result<Arc<Mutex<DiskCopies>>, SetError> {
        if let Some(known) = self.logs.get(disk) {
            return Ok(Arc::clone(known));
        }
        let held = Arc::new(Mutex::new(DiskCopies::open(&self.directory, disk)?));
        self.logs.insert(disk.to_owned(), Arc::clone(&held));
        Ok(held)
    }
}

impl Catalog for Hold {
    fn open(&mut self, name: &str) -> Option<Box<dyn Disk>> {
        let (disk, generation) = name.strip_prefix("log/")?.rsplit_once('/')?;
        let generation: u64 = generation.parse().ok().filter(|_| is_name(disk))?;
        let held = self.held(disk).ok()?;
        let mut guard = lock(&held);
        // A failed opening is only a missing export for the client, which tries again.
        let (inner, number) = guard.begin(name, generation).ok().flatten()?;
        drop(guard);
        Some(Box::new(Session { inner, held, generation, number }))
    }
}

fn lock(held: &Mutex<DiskCopies>) -> MutexGuard<'_, DiskCopies> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DiskCopies {
    fn open(directory: &Path, disk: &str) -> Result<Self, SetError> {
        let path = directory.join(format!("{disk}.fence"));
        let fence = match std::fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map_err(|_| SetError::Fence { path })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let (directory, disk) = (directory.to_owned(), disk.to_owned());
        Ok(Self { directory, disk, fence, session: 0, is_busy: false, is_swept: false })
    }

    fn path(&self, generation: u64) -> PathBuf {
        self.directory.join(format!("{}.{generation}.log", self.disk))
    }

    /// Opens a copy for a new session, and ends the earlier session. Returns `None` while the
    /// earlier session has a request in progress.
    fn begin(
        &mut self,
        name: &str,
        generation: u64,
    ) -> Result<Option<(FileDisk, Option<u64>)>, SetError> {
        let is_over = generation < self.fence;
        let path = self.path(generation);
        if !is_over {
            self.raise(generation)?;
            self.session += 1;
            if self.is_busy {
                return Ok(None);
            }
        }
        let mut options = writing();
        options.read(true).write(!is_over).create(!is_over);
        let file = options.open(&path).map_err(failed("open", &path))?;
        let mut size = file.metadata().map_err(failed("look at", &path))?.len();
        if !is_over && size != CAPACITY {
            file.set_len(CAPACITY).and_then(|()| file.sync_all()).map_err(failed("make", &path))?;
            keep_name(&path)?;
            size = CAPACITY;
        }
        let abilities = if is_over {
            Abilities::READ_ONLY | Abilities::FLUSH
        } else {
            Abilities::FLUSH | Abilities::TRIM
        };
        let export = BlockSizes::new(4096, 4096, REQUEST_MAX)
            .and_then(|blocks| Export::new(name, size, blocks, abilities))
            .map_err(|source| SetError::Export { name: name.to_owned(), source })?;
        let inner = FileDisk::over(export, Arc::new(file.into()));
        Ok(Some((inner, (!is_over).then_some(self.session))))
    }

    /// Stores durably that generations below this one can no longer write.
    fn raise(&mut self, generation: u64) -> Result<(), SetError> {
        if generation == self.fence {
            return Ok(());
        }
        let path = self.directory.join(format!("{}.fence", self.disk));
        let new = self.directory.join(format!("{}.fence.new", self.disk));
        let write = || -> std::io::Result<()> {
            let mut file = writing().create(true).truncate(true).open(&new)?;
            file.write_all(format!("{generation}\n").as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, &path)
        };
        write().map_err(failed("write", &path))?;
        keep_name(&path)?;
        (self.fence, self.is_swept) = (generation, false);
        Ok(())
    }

    /// Empties copies of lower generations, because the copy of a later generation has all of their
    /// content. Their files stay, so that their owners learn that their generation has ended.
    fn sweep(&mut self) {
        if std::mem::replace(&mut self.is_swept, true) {
            return;
        }
        let prefix = format!("{}.", self.disk);
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let generation = name
                .to_str()
                .and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(".log")?.parse().ok());
            if generation.is_some_and(|generation: u64| generation < self.fence)
                && let Ok(file) = writing().open(entry.path())
            {
                // A copy that cannot be emptied takes room and does no harm.
                let _ = file.set_len(0).and_then(|()| file.set_len(LABEL_BYTES));
            }
        }
    }

    fn refusal(&self, generation: u64, number: u64) -> Option<Code> {
        match () {
            () if generation < self.fence => Some(Code::NotPermitted),
            () if number != self.session => Some(Code::Shutdown),
            () => None,
        }
    }
}

impl Disk for Session {
    fn export(&self) -> &Export {
        self.inner.export()
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        let Some(number) = self.number else { return self.inner.submit(request, effects) };
        let mut held = lock(&self.held);
        if let Some(code) = held.refusal(self.generation, number) {
            return effects.answer(request.id, Err(code), request.data);
        }
        if matches!(request.operation, Operation::Write { .. }) {
            held.sweep();
        }
        self.inner.submit(request, effects);
        held.is_busy = !self.inner.is_idle();
    }

    fn service(&mut self) -> Option<&mut dyn Service> {
        Some(self)
    }
}

impl Service for Session {
    fn done(&mut self, io: IoId, result: Result<u32, i32>, data: Buffer, effects: &mut Effects) {
        self.inner.done(io, result, data, effects);
        if self.number.is_some() {
            lock(&self.held).is_busy = !self.inner.is_idle();
        }
    }
}
