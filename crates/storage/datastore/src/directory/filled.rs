//! Records of disks that were filled, which need not be written again before reuse.
//!
//! Each disk has one JSON file in the state directory. The record contains the disk's inode, so
//! that it is valid neither for a copy nor for a new disk of the same name.

use std::ffi::{CStr, CString};
use std::io::{Read, Write};

use rustix::fs::{fstat, fsync};
use serde::{Deserialize, Serialize};

use crate::disk_name::file_name;
use crate::made::OwnDir;
use crate::{Fill, VirtualDisk};

/// Schema id in every record; `docs/formats/datastore.md` describes the format.
const SCHEMA: &str = "tilemark.filled/1.0";
/// File name suffix of a record. It is as long as the suffix of a disk, so that the name always
/// fits.
const SUFFIX: &str = ".full";
/// File name of a record while it is being written.
const NEW: &CStr = c"full.new";

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: String,
    disk: String,
    size_bytes: u64,
    inode: u64,
    #[serde(flatten)]
    fill: Fill,
}

impl Record {
    fn new(disk: &VirtualDisk, fill: &Fill) -> rustix::io::Result<Self> {
        Ok(Self {
            schema: SCHEMA.to_owned(),
            disk: disk.name.clone(),
            size_bytes: disk.size.get(),
            inode: fstat(&disk.file)?.st_ino,
            fill: *fill,
        })
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.schema, &self.disk, self.size_bytes, self.inode)
            == (&other.schema, &other.disk, other.size_bytes, other.inode)
    }
}

/// Reads the record of the data that `disk` was filled with.
pub(crate) fn read(state: &OwnDir, disk: &VirtualDisk) -> Option<Fill> {
    let file = state.open_file(&record_name(&disk.name)?).ok()?;
    let mut bytes = Vec::new();
    file.take(64 << 10).read_to_end(&mut bytes).ok()?;
    let record: Record = serde_json::from_slice(&bytes).ok()?;
    let wanted = Record::new(disk, &record.fill).ok()?;
    record.is_of(&wanted).then_some(record.fill)
}

/// Records a filled disk. The record is written to a temporary file, made durable, then renamed.
pub(crate) fn write(state: &OwnDir, disk: &VirtualDisk, fill: &Fill) -> std::io::Result<()> {
    let name = record_name(&disk.name).ok_or(std::io::ErrorKind::InvalidFilename)?;
    // Removes the file that a killed process left of an earlier record.
    let _ = state.unmake(NEW);
    let mut file = state.create(NEW)?;
    file.write_all(&serde_json::to_vec_pretty(&Record::new(disk, fill)?)?)?;
    file.sync_all()?;
    state.publish(&file, NEW, &name)?;
    Ok(fsync(state)?)
}

/// Removes the record of a disk that is about to be created.
pub(crate) fn erase(state: &OwnDir, disk: &str) {
    if let Some(name) = record_name(disk) {
        // A record that stays belongs to another inode, and is not believed.
        let _ = state.unmake(&name);
    }
}

fn record_name(disk: &str) -> Option<CString> {
    file_name(disk, SUFFIX).ok()
}
