//! Objects that a run left at a target: its disks, opened read-only, and its state.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::held::HeldDir;
use crate::made::OwnDir;
use crate::owner::{Owned, OwnerState};
use crate::store::Left;
use crate::{DatastoreError, DiskRequest, Target, VirtualDisk, direct};

/// Objects that a dead run left in a directory.
#[derive(Debug)]
pub struct Leftover {
    /// Id of the run; empty if it was killed before it could write its marker.
    pub run_id: String,
    /// Path of the run's sub-directory.
    pub path: PathBuf,
    /// Directory of the state beside the disks, if the run made one.
    pub state_dir: Option<HeldDir>,
    /// Disks of the run, sorted by name, opened for reading only.
    pub disks: Vec<VirtualDisk>,
}

/// Opens the objects that dead runs left; nothing is changed. A file or device has no room for
/// state beside its disks. Its state is in a sub-directory of `outside`, named `<run id>.verify`,
/// which also lists the positions of the disks ([`DiskList`]).
pub fn open_leftovers(target: &Target, outside: &Path) -> Result<Vec<Leftover>, DatastoreError> {
    let mut leftovers = Vec::new();
    for found in target.store().find(target.path())? {
        let Owned { run_id, path, state, .. } = found.owned().clone();
        if state != OwnerState::Dead {
            continue;
        }
        let (state_dir, disks) = match found.open()? {
            Left::Disks { state_dir, disks } => (state_dir, disks),
            Left::Whole(file) => match open_listed(target, file, (outside, &run_id))? {
                Some((state, disks)) => (Some(state), disks),
                None => continue,
            },
        };
        leftovers.push(Leftover { run_id, path, state_dir, disks });
    }
    Ok(leftovers)
}

/// Opens the state of a run in the directory `outside`, and the disks in `file` that are listed
/// there.
fn open_listed(
    target: &Target,
    file: File,
    (outside, run_id): (&Path, &str),
) -> Result<Option<(HeldDir, Vec<VirtualDisk>)>, DatastoreError> {
    let name = CString::new(format!("{run_id}.verify")).expect("the run id is valid");
    let state = HeldDir::open(outside).and_then(|outside| outside.open_dir(&name));
    let Ok(state) = state else { return Ok(None) };
    let listed = DiskList::read(&state)
        .map_err(|error| DatastoreError::io("open the disks listed in", state.path(), error))?;
    let (access, _) = direct::choose(&file, &target.to_string(), false);
    let file = Arc::new(file);
    let disk = |Listed { name, base_bytes, size_bytes }| VirtualDisk {
        file: Arc::clone(&file),
        base: base_bytes,
        size: Bytes::new(size_bytes),
        alignment: access.alignment,
        direct: access.direct,
        writable: false,
        name,
    };
    let disks = listed.into_iter().map(disk).collect();
    Ok(Some((state, disks)))
}

/// List of the disks in a file or on a device: `disks.jsonl` beside the state of their
/// verification. A line is appended for each disk that is created.
#[derive(Debug)]
pub struct DiskList(File);

const DISKS: &CStr = c"disks.jsonl";

#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    name: String,
    base_bytes: u64,
    size_bytes: u64,
}

impl DiskList {
    /// Creates an empty list in a directory of Tilemark.
    pub fn create(directory: &OwnDir) -> std::io::Result<Self> {
        directory.create(DISKS).map(Self)
    }

    /// Appends a disk, durably.
    pub fn add(&mut self, disk: &VirtualDisk) -> std::io::Result<()> {
        let (base_bytes, size_bytes) = (disk.base, disk.size.get());
        let mut line =
            serde_json::to_vec(&Listed { name: disk.name.clone(), base_bytes, size_bytes })?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.sync_data()
    }

    fn read(directory: &HeldDir) -> std::io::Result<Vec<Listed>> {
        const BYTES_MAX: u64 = 32 << 20;
        let mut bytes = Vec::new();
        directory.open_file(DISKS)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
        // A line that was cut off is of a disk that nothing was written to.
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

/// Disks that a run left in a directory, or is using. The disks are not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRun {
    /// Sub-directory of the run, with the state of its owner.
    pub owned: Owned,
    /// Disks of the run, sorted by name.
    pub disks: Vec<DiskRequest>,
}

/// Finds the disks that runs left in a directory or are using; reads only. Empty for files and
/// block devices, which do not record their disks.
pub fn find_kept(target: &Target) -> Result<Vec<KeptRun>, DatastoreError> {
    if !target.facts().remembers_disks {
        return Ok(Vec::new());
    }
    let found = target.store().find(target.path())?;
    // One that was killed before it could write its marker has no disks.
    let marked = found.iter().filter(|found| !found.owned().run_id.is_empty());
    marked
        .map(|found| Ok(KeptRun { owned: found.owned().clone(), disks: found.disks()? }))
        .collect()
}
