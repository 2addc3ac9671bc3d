//! Datastores and virtual disks, and the rules on creating, opening and destroying them.
//!
//! Function: turns a target (directory, file, block device) and a list of virtual disks into open
//! file handles. Checks everything that can be checked before a byte is written. Leaves a marker on
//! all objects it owns, and removes only these. A kind of target is one implementation of
//! [`Store`]. Set-up around a target is a [`Session`].
//!
//! Refused: existing files, mounted or used devices (no override exists), devices with any content
//! except our own label, devices not named by identity, more space than the limits allow. The crate
//! makes no load.
//!
//! Invariants: no byte is written to a target before its preflight passed. A file is only ever
//! created (`O_CREAT|O_EXCL`) or recognised by a marker of Tilemark. A block device is held
//! `O_EXCL` for as long as its disks are open. Every kind of target implements every rule.

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
