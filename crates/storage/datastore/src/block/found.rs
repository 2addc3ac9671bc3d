//! Device that carries our label.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::OFlags;
use units::Bytes;

use super::examine::check_identity;
use super::node::{device_of, not_opened, open_node};
use super::store::erase_label;
use crate::claim::claim;
use crate::label::{LABEL_LENGTH, Label};
use crate::object::reopen;
use crate::owner::{Owned, OwnerState};
use crate::preflight::Examination;
use crate::store::{Fate, Left, RunLeftover};
use crate::{CleanupOptions, DatastoreError, DiskRequest, Refusal, in_use};

/// Block device with a label of Tilemark.
struct FoundLabel {
    node: OwnedFd,
    label: Label,
    owned: Owned,
}

/// Finds the device at a path, if it carries a valid label; reads only.
pub(super) fn find(path: &Path) -> Result<Option<Box<dyn RunLeftover>>, DatastoreError> {
    let node = open_node(path)?;
    let mut file =
        reopen(&node, OFlags::RDONLY).map_err(|error| DatastoreError::io("open", path, error))?;
    let label = label_in(&mut file).map_err(|error| DatastoreError::io("read", path, error))?;
    let Some(label) = label else { return Ok(None) };
    let second = i64::try_from(label.created).unwrap_or(i64::MAX);
    let owned = Owned {
        path: path.to_owned(),
        run_id: label.run_id.clone(),
        state: OwnerState::Dead,
        bytes: Bytes::new(LABEL_LENGTH as u64),
        created: jiff::Timestamp::from_second(second)
            .map_or_else(|_| String::new(), |time| time.to_string()),
    };
    Ok(Some(Box::new(FoundLabel { node, label, owned })))
}

fn label_in(file: &mut File) -> std::io::Result<Option<Label>> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut first = vec![0; LABEL_LENGTH];
    if size < LABEL_LENGTH as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut first, 0)?;
    Ok(Label::decode(&first, Bytes::new(size)))
}

impl RunLeftover for FoundLabel {
    fn owned(&self) -> &Owned {
        &self.owned
    }

    fn disks(&self) -> Result<Vec<DiskRequest>, DatastoreError> {
        Ok(Vec::new())
    }

    fn open(&self) -> Result<Left, DatastoreError> {
        reopen(&self.node, OFlags::RDONLY)
            .map(Left::Whole)
            .map_err(|error| DatastoreError::io("open", &self.owned.path, error))
    }

    /// Erases only the label, and only if the user named the device by identity and the device is
    /// not in use.
    fn remove(self: Box<Self>, options: &CleanupOptions) -> Result<Fate, DatastoreError> {
        let path = &*self.owned.path;
        let device = device_of(&self.node, path)?;
        let mut examination = Examination::new(&format!("block:{}", path.display()), Bytes::ZERO);
        let relatives = in_use::check(&device, path, &mut examination);
        check_identity(&device, path, options.destroy_data.as_deref(), &mut examination);
        examination.into_result()?;
        let mut file = reopen(&self.node, OFlags::RDWR | OFlags::EXCL)
            .map_err(|error| DatastoreError::from(not_opened("open", path, error)))?;
        let _claims = claim(&file, &device, &relatives, path)?;
        let now = label_in(&mut file).map_err(|error| DatastoreError::io("read", path, error))?;
        if now.as_ref() != Some(&self.label) {
            return Err(DatastoreError::from(Refusal::Changed {
                path: path.to_owned(),
                what: "the label",
                was: self.label.run_id.clone(),
                is: now.map_or_else(|| "none".to_owned(), |label| label.run_id),
            }));
        }
        erase_label(&file)
            .map_err(|error| DatastoreError::io("erase the label of", path, error))?;
        Ok(Fate::default())
    }
}
