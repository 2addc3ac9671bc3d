//! Infrastructure operations on real virtual machines: deployed, moved, saved and removed, with a time
//! for each phase and a check after each.
//!
//! What it does: a [`VmOperations`] is one implementation of the operations, each in a file or
//! folder. `qemu` starts virtual machines of its own on disks that it is given, drives them over
//! QMP, and asks a guest that knows the expected content of its memory and disk ([`guest`]) for a
//! check.
//!
//! `named` carries operations out on the user's virtual machines, through their platform.
//!
//! What it refuses: to trust "completed"; to touch a virtual machine that it neither started nor
//! was given by its exact name; to move a running guest where QEMU is known to corrupt it; sockets
//! that others may open; to end a process by its name.
//!
//! Invariants: an operation ends as a report or as a failure that names operation, phase and reason.
//! A move that fails before its switch-over leaves its VM running where it was, or says that it
//! was lost. What is started carries a mark that was written down first, so that [`home::sweep`] finds it
//! after `kill -9`. Nothing of a disk is written outside of its range.
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
