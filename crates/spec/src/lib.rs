//! The TOML language: workloads, tiles and plans.
//!
//! What it does: types that mirror the files one to one, their JSON Schema, a loader whose
//! errors point into the file, and the definitions shipped in `tiles/`.
//!
//! What it refuses: running anything, opening a datastore, choosing defaults that depend
//! on a machine.
//!
//! Invariants: an unknown key is an error that names the nearest known one; a definition
//! that loads has passed every check in [`check`](mod@check), so later layers do not
//! re-validate; a loaded definition serialises to TOML that loads to an equal one.
#![forbid(unsafe_code)]

mod forms;
pub mod plan;
pub mod tile;
pub mod workload;
