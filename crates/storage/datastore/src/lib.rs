//! Datastores and virtual disks: what may be created, opened and destroyed, and what is
//! refused.
//!
//! What it does: turns a target (directory, file, block device) and a list of virtual disks
//! into open file handles; checks everything that can be checked before a byte is written;
//! leaves a marker on all it owns, and removes exactly that. A kind of target is one
//! implementation of [`Store`]; what must be set up around one is a [`Session`].
//!
//! What it refuses: existing files, mounted or used devices (no override exists), devices
//! with any content but its own label, devices not named by identity, space it should not
//! fill, making load.
//!
//! Invariants: no byte is written to a target before its preflight passed; a file is only
//! ever created (`O_CREAT|O_EXCL`) or recognised by a marker of ours; a block device is held
//! `O_EXCL` for as long as its disks are open; no kind of target is without an answer to a rule.

#![deny(unsafe_code)]

mod adopt_problem;
mod aligned;
mod backing;
mod behind;
mod block;
mod change_mark;
mod claim;
mod cleanup;
mod datastore;
mod device_number;
mod direct;
mod directory;
mod disk;
mod disk_name;
mod error;
mod file;
mod file_system;
mod graph;
mod held;
mod identity;
mod in_use;
#[expect(unsafe_code, reason = "questions to the kernel that have no safe wrapper")]
mod kernel;
mod kinds;
mod label;
mod layout;
mod leftover;
mod made;
mod mark;
mod mounts;
mod object;
mod openers;
mod options;
mod owned;
mod owner;
mod place;
mod preflight;
mod proxmox;
mod refusal;
mod removed;
mod reserve;
mod session;
mod signature;
mod storage_identity;
mod store;
mod sysfs;
mod target;
mod unused;

pub use adopt_problem::AdoptProblem;
pub use aligned::AlignedBuffer;
pub use behind::{WholeDevice, device_behind};
pub use block::BlockDevice;
pub use change_mark::{ChangeMark, change_mark};
pub use cleanup::{Cleaned, KeptObject, cleanup, find_owned};
pub use datastore::{Datastore, examine, preflight};
pub use directory::Directory;
pub use disk::{DiskRequest, Fill, VirtualDisk};
pub use error::DatastoreError;
pub use file::SingleFile;
pub use held::HeldDir;
pub use kinds::{TargetError, register};
pub use leftover::{DiskList, KeptRun, Leftover, find_kept, open_leftovers};
pub use made::OwnDir;
pub use mark::Mark;
pub use options::{CleanupOptions, Options};
pub use owner::{Marker, Owned, OwnerState};
pub use preflight::{
    Check, DeviceFacts, Examination, FileSystemFacts, PREFLIGHT_SCHEMA, Preflight, Warning,
};
pub use proxmox::ProxmoxError;
pub use refusal::{End, FsConcern, Refusal};
pub use removed::Removed;
pub use session::{Around, Session};
pub use storage_identity::{StorageIdentity, storage_identity};
pub use store::{
    Claim, Claimed, Facts, Fate, Left, Lent, Located, Remembers, RunLeftover, Step, Store,
};
pub use target::Target;
pub use unused::check_unused;
