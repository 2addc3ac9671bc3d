//! Datastores and virtual disks: what may be created, opened and destroyed, and what is
//! refused.
//!
//! What it does: turns a target (directory, file, block device) and a list of virtual disks
//! into open file handles; checks everything that can be checked before a byte is written;
//! leaves a marker on all it owns, and removes exactly that.
//!
//! What it refuses: existing files, mounted or used devices (no override exists), devices
//! with any content but its own label, devices not named by identity, space it should not
//! fill, making load.
//!
//! Invariants: no byte is written to a target before its preflight passed; a file is only
//! ever created (`O_CREAT|O_EXCL`) or recognised by its marker; a block device is held
//! `O_EXCL` for as long as its disks are open.

mod target;

pub use target::{Target, VirtualDisk};
