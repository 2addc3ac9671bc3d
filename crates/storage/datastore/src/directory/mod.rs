//! Directory as datastore: one sub-directory per run, one file per virtual disk.

mod adopt;
mod examine;
mod filled;
mod found;
mod store;

use std::path::Path;

use crate::store::{Facts, Located, RunLeftover, Store};
use crate::{DatastoreError, Options, Refusal};

/// Target that is a directory: one file per virtual disk, as in a hypervisor's datastore.
#[derive(Debug)]
pub struct Directory;

impl Store for Directory {
    fn facts(&self) -> &'static Facts {
        &Facts {
            word: "dir",
            noun: "directory",
            rule: ("the target is a directory", "an existing directory"),
            is_path: true,
            remembers_disks: true,
            is_file_per_disk: true,
            has_content: false,
        }
    }

    fn locate(&self, address: &Path, _: &Options) -> Result<Box<dyn Located>, Refusal> {
        Ok(Box::new(examine::Examined::open(address)?))
    }

    fn find(&self, address: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError> {
        found::find(address)
    }
}
