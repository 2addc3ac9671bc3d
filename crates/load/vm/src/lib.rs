//! Infrastructure operations on real virtual machines: deployed, moved, saved and removed, with a
//! time for each phase and a check after each.
//!
//! What it does: a [`VmOperations`] is one implementation of the operations, each in a file or
//! folder. `qemu` starts its own virtual machines on given disks and controls them over QMP. Its
//! guests know the expected content of their memory and disk ([`guest`]), and check it on request.
//!
//! `named` carries operations out on the user's virtual machines, through their platform.
//!
//! What it refuses: to trust a reported completion without a check; to touch a virtual machine that
//! it neither started nor was given by its exact name; to move a running guest where QEMU is known
//! to corrupt it; sockets that others may open; to kill a process by its name.
//!
//! Invariants: an operation ends with a report, or with a failure that names operation, phase and
//! reason. After a move that fails before its switch-over, the VM runs in its old place, or is
//! reported as lost. Everything that is started has a mark that was recorded first, so that
//! [`home::sweep`] finds it after `kill -9`. Nothing is written outside of a disk's range.
#![forbid(unsafe_code)]

mod error;
pub mod guest;
pub mod home;
mod image;
pub mod named;
mod operation;
pub mod qemu;
mod qmp;
mod service;

pub use error::VmError;
pub use image::{Image, ImageError};
pub use operation::{After, DeployKind, Failure, Operation, Phase, Report, VmOperations, Watch};
pub use qmp::Qmp;
pub use service::{Asked, Service};
