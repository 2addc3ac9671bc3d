use std::fs::File;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::DatastoreError;
use crate::direct::Access;

/// An open virtual disk: a range of an open file or device.
#[derive(Debug, Clone)]
pub struct VirtualDisk {
    /// The open file; several disks of one device share it.
    pub file: Arc<File>,
    /// First byte of the disk in the file.
    pub base: u64,
    /// Size of the disk.
    pub size: Bytes,
    /// Offsets, lengths and buffers must be multiples of this (512 or 4096).
    pub alignment: u32,
    /// True if the file was opened with `O_DIRECT`.
    pub direct: bool,
    /// True if writing is allowed.
    pub writable: bool,
    /// Name of the disk for messages.
    pub name: String,
}

/// A virtual disk that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskRequest {
    /// Unique in the datastore, for example `tile-1/mail/data`; as a file name at most 255
    /// bytes, where everything but letters, digits, `-`, `_` and `/` takes three.
    pub name: String,
    /// Size of the disk: a multiple of 512 B above zero.
    pub size: Bytes,
}

/// Kind of data that a disk was filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Seed of the contents.
    pub seed: u64,
    /// Share of the data that a compressor could remove, 0 to 100 percent.
    pub compressible_percent: u8,
    /// Share of the data that repeats, 0 to 100 percent.
    pub dedupable_percent: u8,
}

impl Fill {
    /// Returns true if storage would treat both alike. The seed is not compared.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        Self { seed: 0, ..*self } == Self { seed: 0, ..*other }
    }
}

impl DiskRequest {
    /// The disk at `base` of an open file, if its size suits the alignment there.
    pub(crate) fn disk(
        &self,
        file: &Arc<File>,
        base: u64,
        (access, writable): (Access, bool),
    ) -> Result<VirtualDisk, DatastoreError> {
        self.check_alignment(access.alignment)?;
        Ok(VirtualDisk {
            file: Arc::clone(file),
            base,
            size: self.size,
            alignment: access.alignment,
            direct: access.direct,
            writable,
            name: self.name.clone(),
        })
    }

    /// Refuses a size that is zero or no multiple of `alignment`.
    pub(crate) fn check_alignment(&self, alignment: u32) -> Result<(), DatastoreError> {
        if self.size != Bytes::ZERO && self.size.get().is_multiple_of(u64::from(alignment)) {
            return Ok(());
        }
        let (disk, size) = (self.name.clone(), self.size);
        Err(DatastoreError::SizeUnaligned { disk, size, alignment })
    }
}
