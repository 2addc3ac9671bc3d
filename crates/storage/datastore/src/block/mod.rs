//! Block device as datastore, the only kind of target where a mistake destroys a disk.

mod content;
mod examine;
mod found;
mod middle;
mod node;
mod store;

use std::path::Path;

use crate::store::{Facts, Located, RunLeftover, Store};
use crate::{DatastoreError, Options, Refusal};

/// Target that divides a block device between the virtual disks.
#[derive(Debug)]
pub struct BlockDevice;

impl Store for BlockDevice {
    fn facts(&self) -> &'static Facts {
        &Facts {
            word: "block",
            noun: "block device",
            rule: ("the target is a block device", "an existing block device"),
            is_path: true,
            remembers_disks: false,
            is_file_per_disk: false,
            has_content: true,
        }
    }

    fn locate(&self, address: &Path, _: &Options) -> Result<Box<dyn Located>, Refusal> {
        Ok(Box::new(examine::Examined::find(address)?))
    }

    fn find(&self, address: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError> {
        Ok(found::find(address)?.into_iter().collect())
    }
}
