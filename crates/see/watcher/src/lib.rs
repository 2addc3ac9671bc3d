//! Watches the block I/O and the VMs of this host, and returns the data slice by slice.
//!
//! It reads the kernel's block events ([`capture`]), folds them at once ([`watch::Fold`]), and adds
//! gauges of the host, its disks, and each VM's CPU time. Disks that the host's kernel does not see
//! (librbd, libnfs, libiscsi) come from QEMU's own counters. Disks and VMs may come and go. A
//! canary may add a few I/Os of its own.
//!
//! It refuses to slow the watched I/O: it polls the kernel's buffers and never blocks, and events
//! that find a buffer full are lost and counted.
//!
//! Invariants: every slice contains for how long it was watched; memory does not grow with time; a
//! clock that steps ends a slice but loses nothing.
#![forbid(unsafe_code)]

mod canary;
mod identity;
mod libvirt;
mod network_files;
mod probes;
mod qemu;
mod watcher;

pub use canary::CanaryError;
pub use libvirt::ask_libvirt;
pub use probes::Probes;
pub use watcher::{Watcher, WatcherOptions};
