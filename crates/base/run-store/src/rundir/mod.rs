//! Run directories: one directory per run, named `*.partial` until the run is complete.

mod base;
mod checksum;
mod error;
mod event;
mod id;
mod keep;
mod list;
mod remove;
mod stored;
mod write;

pub use base::{SameDevice, default_base, refuse_device_under_test};
pub use checksum::{ChecksumProblem, sha256_hex};
pub use error::RunDirError;
pub use event::{Event, EventKind, EventLog};
pub use id::RunId;
pub use keep::{is_kept, keep};
pub use list::{LATEST, list, open, steps_back};
pub use remove::remove;
pub use stored::{State, StoredRun};
pub use write::RunDir;

pub use crate::device_number::device_of;
pub use crate::files;
