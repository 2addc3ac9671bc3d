//! How the models behave, driven by `sim` and held against closed forms and data sheets.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod chains;
mod classes;
mod closed_forms;
mod cpu;
mod cpu_any;
mod cpu_shares;
mod cpu_threads;
mod disks;
mod flash;
mod hyper_converged;
mod hypervisor;
mod limits;
mod links;
mod networks;
mod oracles;
mod raids;
mod replicas;
mod servers;
mod ssd_buffers;
mod support;
mod suspended;
mod tables;
mod watts;
