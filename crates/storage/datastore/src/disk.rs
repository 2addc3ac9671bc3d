use std::fs::File;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::DatastoreError;
use crate::direct::Access;

/// Open virtual disk: a range of an open file or device.
#[derive(Debug, Clone)]
pub struct VirtualDisk {
    /// Open file or device. All disks of one file or device share it.
    pub file: Arc<File>,
    /// Offset of the disk's first byte in the file.
    pub base: u64,
    /// Size of the disk in bytes.
    pub size: Bytes,
    /// Alignment in bytes: offsets, lengths and buffers must be multiples of it (512 or 4096).
    pub alignment: u32,
    /// True if the file was opened with `O_DIRECT`.
    pub direct: bool,
    /// True if writing is allowed.
    pub writable: bool,
    /// Name of the disk, for messages.
    pub name: String,
}

/// Virtual disk to create or open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskRequest {
    /// Name, unique in the datastore, for example `tile-1/mail/data`. As a file name it has at most
    /// 255 bytes, where every character except letters, digits, `-`, `_` and `/` takes three.
    pub name: String,
    /// Size of the disk: a multiple of 512 B, above zero.
    pub size: Bytes,
}

/// Properties of the data with which a disk was filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Seed of the generated data.
    pub seed: u64,
    /// Share of the data that a compressor could remove, 0 to 100 percent.
    pub compressible_percent: u8,
    /// Share of the data that repeats, 0 to 100 percent.
    pub dedupable_percent: u8,
}

impl Fill {
    /// Returns true if storage would treat both kinds of data alike. The seed is not compared.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        Self { seed: 0, ..*self } == Self { seed: 0, ..*other }
    }
}

impl DiskRequest {
    /// Returns the disk at offset `base` of an open file, if its size is a multiple of the
    /// alignment there.
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

    /// Refuses a size that is zero or not a multiple of `alignment`.
    pub(crate) fn check_alignment(&self, alignment: u32) -> Result<(), DatastoreError> {
        if self.size != Bytes::ZERO && self.size.get().is_multiple_of(u64::from(alignment)) {
            return Ok(());
        }
        let (disk, size) = (self.name.clone(), self.size);
        Err(DatastoreError::SizeUnaligned { disk, size, alignment })
    }
}
