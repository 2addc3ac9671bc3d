//! Reading again what a run left in a directory: its disks, read-only, and its state.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, fstat};
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::disk_name::disk_name;
use crate::held::{self, HeldDir};
use crate::made::OwnDir;
use crate::owned::{self, STATE};
use crate::owner::OwnerState;
use crate::{DatastoreError, DiskRequest, Owned, Target, VirtualDisk, direct};

/// What one dead run left in a directory.
#[derive(Debug)]
pub struct Leftover {
    /// The run; empty when it was killed before it could write its marker.
    pub run_id: String,
    /// Its sub-directory.
    pub path: PathBuf,
    /// Where it kept state beside its disks, if it came so far.
    pub state_dir: Option<HeldDir>,
    /// Its disks, opened for reading only, by name.
    pub disks: Vec<VirtualDisk>,
}

/// Opens what dead runs left; nothing is changed. Beside the disks in a file or on a device
/// there is no room for state: `outside` has it, in a directory that is named
/// `<run id>.verify` and says where the disks are ([`DiskList`]).
pub fn open_leftovers(target: &Target, outside: &Path) -> Result<Vec<Leftover>, DatastoreError> {
    let Target::Directory(path) = target else { return open_outside(target, outside) };
    let (_, found) = crate::cleanup::scan(path)?;
    let dead = found.into_iter().filter(|item| item.state == OwnerState::Dead);
    dead.map(|item| {
        let path = path.join(owned::name_path(&item.name));
        let disks = open_disks(&item, &path)?;
        Ok(Leftover {
            run_id: item.marker.map_or_else(String::new, |marker| marker.run_id),
            state_dir: item.fd.shown_as(&path).open_dir(STATE).ok(),
            path,
            disks,
        })
    })
    .collect()
}

fn open_outside(target: &Target, outside: &Path) -> Result<Vec<Leftover>, DatastoreError> {
    let mut found = crate::find_owned(target)?;
    found.retain(|owned| owned.state == OwnerState::Dead);
    let mut leftovers = Vec::new();
    for owned in found {
        let name = CString::new(format!("{}.verify", owned.run_id)).expect("a valid run id");
        let state = HeldDir::open(outside).and_then(|outside| outside.open_dir(&name));
        let Ok(state) = state else { continue };
        let disks = DiskList::read(&state)
            .and_then(|disks| open_listed(target, disks))
            .map_err(|error| DatastoreError::io("open the disks listed in", state.path(), error))?;
        let (run_id, path) = (owned.run_id, owned.path);
        leftovers.push(Leftover { run_id, path, state_dir: Some(state), disks });
    }
    Ok(leftovers)
}

fn open_listed(target: &Target, listed: Vec<Listed>) -> std::io::Result<Vec<VirtualDisk>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(target.path(), flags, Mode::empty())?);
    let (access, _) = direct::choose(&file, &target.to_string(), false);
    let file = Arc::new(file);
    Ok(listed
        .into_iter()
        .map(|Listed { name, base_bytes, size_bytes }| VirtualDisk {
            file: Arc::clone(&file),
            base: base_bytes,
            size: Bytes::new(size_bytes),
            alignment: access.alignment,
            direct: access.direct,
            writable: false,
            name,
        })
        .collect())
}

/// Where the disks are in a file or on a device: `disks.jsonl` beside the state of their
/// verification, a line for each as it is made.
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
    /// Begins a list in a directory of ours.
    pub fn create(directory: &OwnDir) -> std::io::Result<Self> {
        directory.create(DISKS).map(Self)
    }

    /// Adds a disk, durably.
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

/// What one run left in a directory, or is using, without opening its disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRun {
    /// The run, its sub-directory and whether it lives.
    pub owned: Owned,
    /// Its disks, by name.
    pub disks: Vec<DiskRequest>,
}

/// The disks that runs left in a directory or are using; reads only. Files and block devices do
/// not remember their disks, so there are none.
pub fn find_kept(target: &Target) -> Result<Vec<KeptRun>, DatastoreError> {
    let Target::Directory(path) = target else { return Ok(Vec::new()) };
    let (_, found) = crate::cleanup::scan(path)?;
    let kept = |item: &owned::OwnedDir| {
        let owned = crate::cleanup::describe(path, item);
        let names = held::entries(&item.fd)
            .map_err(|error| DatastoreError::io("list", &owned.path, error))?;
        let disks = names.iter().filter_map(|file_name| disk_of(item, file_name));
        Ok(KeptRun { disks: disks.collect(), owned })
    };
    found.iter().filter(|item| item.marker.is_some()).map(kept).collect()
}

fn disk_of(item: &owned::OwnedDir, file_name: &CStr) -> Option<DiskRequest> {
    let name = disk_name(file_name.to_str().ok()?)?;
    let status = held::look(&item.fd, file_name).ok()?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    is_file.then(|| DiskRequest { name, size: Bytes::new(status.st_size.unsigned_abs()) })
}

fn open_disks(item: &owned::OwnedDir, path: &Path) -> Result<Vec<VirtualDisk>, DatastoreError> {
    let io = |what, error| DatastoreError::io(what, path, error);
    let mut disks = Vec::new();
    for file_name in held::entries(&item.fd).map_err(|error| io("list", error))? {
        let Some(name) = file_name.to_str().ok().and_then(disk_name) else { continue };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fd = held::open_at(&item.fd, &file_name, flags, Mode::empty())
            .map_err(|error| io("open a disk in", error))?;
        let status = fstat(&fd).map_err(|error| io("look at a disk in", error))?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            continue;
        }
        let file = File::from(fd);
        let (access, _) = direct::choose(&file, &path.display().to_string(), false);
        disks.push(VirtualDisk {
            file: Arc::new(file),
            base: 0,
            size: Bytes::new(u64::try_from(status.st_size).unwrap_or(0)),
            alignment: access.alignment,
            direct: access.direct,
            writable: false,
            name,
        });
    }
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(disks)
}
