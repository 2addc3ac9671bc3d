//! File that carries our marker.

use std::path::Path;

use rustix::fs::OFlags;
use units::Bytes;

use super::located::{Existing, Located, locate};
use super::store::remove_marked;
use crate::object::reopen;
use crate::owner::{Marker, Owned};
use crate::store::{Fate, Left, RunLeftover};
use crate::{CleanupOptions, DatastoreError, DiskRequest, Options, Refusal};

/// File with our marker.
struct FoundFile {
    located: Located,
    existing: Existing,
    marker: Marker,
    owned: Owned,
}

/// Finds the file at a path, if it carries our marker; reads only.
pub(super) fn find(path: &Path) -> Result<Option<Box<dyn RunLeftover>>, DatastoreError> {
    let options = Options { write: false, ..Options::default() };
    let mut located = locate(path, &options)?;
    let Some(mut existing) = located.existing.take() else { return Ok(None) };
    let Some(marker) = existing.marker.take() else { return Ok(None) };
    let allocated = u64::try_from(existing.stat.st_blocks).unwrap_or(0) * 512;
    let owned = Owned::of(&marker, &existing.file, path.to_owned(), Bytes::new(allocated));
    Ok(Some(Box::new(FoundFile { located, existing, marker, owned })))
}

impl RunLeftover for FoundFile {
    fn owned(&self) -> &Owned {
        &self.owned
    }

    fn disks(&self) -> Result<Vec<DiskRequest>, DatastoreError> {
        Ok(Vec::new())
    }

    fn open(&self) -> Result<Left, DatastoreError> {
        reopen(&self.existing.file, OFlags::RDONLY)
            .map(Left::Whole)
            .map_err(|error| DatastoreError::io("open", &self.owned.path, error))
    }

    /// Removes the file, or only its marker if the file existed before.
    fn remove(self: Box<Self>, _: &CleanupOptions) -> Result<Fate, DatastoreError> {
        let Located { dir, name, path, .. } = self.located;
        let links = u32::try_from(self.existing.stat.st_nlink).unwrap_or(u32::MAX);
        if links != 1 {
            return Err(Refusal::HardLinks { path, links }.into());
        }
        let is_gone = remove_marked(&dir, &name, &self.existing.file, self.marker.keep)
            .map_err(|error| DatastoreError::io("remove", path, error))?;
        let stays = "it existed before the run; only the marker was removed".to_owned();
        Ok(Fate { stays: (!is_gone).then_some(stays), failed: Vec::new() })
    }
}
