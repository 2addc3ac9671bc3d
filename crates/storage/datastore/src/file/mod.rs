//! File as datastore, divided between the virtual disks.

mod examine;
mod found;
mod located;
mod marker;
mod store;

use std::path::Path;

use crate::store::{Facts, Located, RunLeftover, Store};
use crate::{DatastoreError, Options, Refusal};

/// Target that divides one file between the virtual disks.
#[derive(Debug)]
pub struct SingleFile;

impl Store for SingleFile {
    fn facts(&self) -> &'static Facts {
        &Facts {
            word: "file",
            noun: "file",
            rule: ("the target is a file, or can become one", "a regular file, or none yet"),
            is_path: true,
            remembers_disks: false,
            is_file_per_disk: false,
            has_content: true,
        }
    }

    fn locate(&self, address: &Path, options: &Options) -> Result<Box<dyn Located>, Refusal> {
        Ok(Box::new(examine::Examined::from(located::locate(address, options)?)))
    }

    fn find(&self, address: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError> {
        Ok(found::find(address)?.into_iter().collect())
    }
}
