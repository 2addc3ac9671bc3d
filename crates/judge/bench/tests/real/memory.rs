//! A kind of target from outside of our crates: disks in memory, for as long as this process lives.
//! It consists of this file and one call of `register`.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datastore::{
    Claim, Claimed, CleanupOptions, DatastoreError, DiskRequest, Examination, Facts, Fate, Left,
    Located, Mark, Marker, Options, Owned, Preflight, Refusal, Remembers, Removed, RunLeftover,
    Step, Store, VirtualDisk, Warning,
};
use rustix::fs::{MemfdFlags, memfd_create};
use units::Bytes;

/// Room of the target: more than any test needs.
const ROOM: Bytes = Bytes::new(256 << 20);
const GO_ON: Step = ControlFlow::Continue(());

#[derive(Debug)]
pub struct Memory;

/// Disks of a run in memory.
struct MemoryDisks {
    name: PathBuf,
    run_id: String,
    marker: File,
    data: Arc<File>,
}

static HELD: Mutex<Vec<MemoryDisks>> = Mutex::new(Vec::new());

fn held() -> MutexGuard<'static, Vec<MemoryDisks>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(name: &Path, run_id: &str) {
    held().retain(|held| held.name != name || held.run_id != run_id);
}

impl Store for Memory {
    fn facts(&self) -> &'static Facts {
        &Facts {
            word: "memory",
            noun: "memory",
            rule: ("the target is a name for memory", "a name without /"),
            is_path: false,
            remembers_disks: false,
            is_file_per_disk: false,
            has_content: false,
        }
    }

    fn locate(&self, address: &Path, _: &Options) -> Result<Box<dyn Located>, Refusal> {
        if address.components().count() == 1 && !address.has_root() {
            return Ok(Box::new(MemoryPath(address.to_owned())));
        }
        let text = format!("{} is no name for memory", address.display());
        Err(Refusal::Rule { id: "memory-name", text, hint: Some("leave / out".to_owned()) })
    }

    fn find(&self, address: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError> {
        let mut found: Vec<Box<dyn RunLeftover>> = Vec::new();
        for held in held().iter().filter(|held| held.name == address) {
            let size = |file: &File| file.metadata().map_or(0, |found| found.len());
            let mut bytes = vec![0; usize::try_from(size(&held.marker)).unwrap_or(0)];
            let read = held.marker.read_exact_at(&mut bytes, 0);
            read.map_err(|error| DatastoreError::io("read the marker of", address, error))?;
            let Some(marker) = Marker::parse(&bytes) else { continue };
            let allocated = Bytes::new(size(&held.data));
            let owned = Owned::of(&marker, &held.marker, address.to_owned(), allocated);
            found.push(Box::new(Rest { owned, data: Arc::clone(&held.data) }));
        }
        Ok(found)
    }
}

struct MemoryPath(PathBuf);

impl Located for MemoryPath {
    fn what(&self) -> &'static str {
        "name"
    }

    fn resolved(&self) -> PathBuf {
        self.0.clone()
    }

    /// Memory is shared with nothing.
    fn check_surroundings(&mut self, _: &Options, _: &mut Examination) -> Step {
        GO_ON
    }

    fn check_owner(&mut self, options: &Options, examination: &mut Examination) -> Step {
        let is_there =
            held().iter().any(|held| held.name == self.0 && held.run_id == options.run_id);
        let refusal = is_there.then(|| Refusal::AlreadyThere { path: self.0.clone() });
        examination.check("already-there", ("the run has nothing here", "absent"), "", refusal);
        GO_ON
    }

    /// The memory is new and zero.
    fn check_content(&mut self, _: &Options, _: &mut Examination) -> Step {
        GO_ON
    }

    fn check_room(&mut self, _: &Options, examination: &mut Examination) -> Step {
        examination.preflight.write_bytes = examination.preflight.needed_bytes;
        examination.check_space(ROOM, (ROOM, "what this test needs".to_owned()));
        GO_ON
    }

    /// Only this process has the memory.
    fn check_grant(&mut self, _: &Options, _: &mut Examination) -> Step {
        GO_ON
    }

    fn claim(
        self: Box<Self>,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError> {
        let failed = |error| DatastoreError::io("take memory for", &self.0, error);
        let memory = || memfd_create("tilemark-test", MemfdFlags::CLOEXEC).map(File::from);
        let (marker, data) = (memory().map_err(|error| failed(error.into()))?, memory());
        let data = Arc::new(data.map_err(|error| failed(error.into()))?);
        let kept = marker.try_clone().map_err(failed)?;
        let needed = Bytes::new(preflight.needed_bytes);
        let mark = Mark::write(marker, &Marker::new(&options.run_id, needed)).map_err(failed)?;
        let (name, run_id) = (self.0.clone(), options.run_id.clone());
        let store = Disks { name: name.clone(), run_id: run_id.clone(), data, next: 0 };
        held().push(MemoryDisks { name, run_id, marker: kept, data: Arc::clone(&store.data) });
        Ok(Claim { mark, claimed: Box::new(store), warnings: Vec::new() })
    }
}

#[derive(Debug)]
struct Disks {
    name: PathBuf,
    run_id: String,
    data: Arc<File>,
    next: u64,
}

impl Claimed for Disks {
    fn path(&self) -> &Path {
        &self.name
    }

    fn room(&self) -> Bytes {
        Bytes::new(ROOM.get() - self.next)
    }

    fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        let base = self.next;
        let end = base + request.size.round_up(Bytes::MIB).get();
        let grown = self.data.set_len(end);
        grown.map_err(|error| DatastoreError::io("grow", &self.name, error))?;
        self.next = end;
        let disk = VirtualDisk {
            file: Arc::clone(&self.data),
            base,
            size: request.size,
            alignment: 512,
            direct: false,
            writable: true,
            name: request.name.clone(),
        };
        Ok((disk, Vec::new()))
    }

    fn try_link(&self) -> Result<(), DatastoreError> {
        Err(DatastoreError::no_reflink(&self.name))
    }

    fn remembers(&self) -> Option<&dyn Remembers> {
        None
    }

    fn remove(self: Box<Self>, _: Mark) -> Removed {
        forget(&self.name, &self.run_id);
        Removed { removed: vec![self.name], ..Removed::default() }
    }
}

struct Rest {
    owned: Owned,
    data: Arc<File>,
}

impl RunLeftover for Rest {
    fn owned(&self) -> &Owned {
        &self.owned
    }

    fn disks(&self) -> Result<Vec<DiskRequest>, DatastoreError> {
        Ok(Vec::new())
    }

    fn open(&self) -> Result<Left, DatastoreError> {
        let file = self.data.try_clone();
        file.map(Left::Whole).map_err(|error| DatastoreError::io("open", &self.owned.path, error))
    }

    fn remove(self: Box<Self>, _: &CleanupOptions) -> Result<Fate, DatastoreError> {
        forget(&self.owned.path, &self.owned.run_id);
        Ok(Fate::default())
    }
}
