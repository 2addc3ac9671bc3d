//! The TOML language: workloads, tiles, plans, arrays and studies.
//!
//! What it does: types that mirror the files one to one, their JSON Schema, a loader whose errors
//! point into the file, and the definitions shipped in `data/tiles/` and `data/arrays/`.
//!
//! What it refuses: to run anything, to open a datastore, and to choose defaults that depend on a
//! host.
//!
//! Invariants: an unknown key is an error that names the nearest known key. A definition that loads
//! has passed every check in [`check`](mod@check), so later layers do not validate again. A loaded
//! definition serialises to TOML that loads to an equal definition.
#![forbid(unsafe_code)]

mod application;
pub mod array;
pub mod check;
pub mod demand;
mod endpoint;
mod error;
pub mod events;
pub mod expect;
mod expected;
mod explain;
mod forms;
mod ladder;
mod load;
mod locate;
pub mod meter;
pub mod named;
mod nearest;
mod operation;
pub mod over;
mod placement;
pub mod plan;
pub mod replay;
mod report;
mod resolve;
mod schema;
pub mod shipped;
mod steps;
pub mod study;
pub mod tile;
mod words;
pub mod workload;

pub use endpoint::{Answering, ServiceModel, ServiceModelError};
pub use error::{Invalid, Problem, SpecError};
pub use ladder::{LadderError, LadderSpec};
pub use load::{
    load_array, load_form, load_plan, load_study, load_tile, load_workload, read_array, read_plan,
    read_tile, read_workload,
};
pub use nearest::{did_you_mean, nearest};
pub use placement::{Placement, PlacementError};
pub use resolve::{array_text, resolve_array_with, resolve_tile, with_operations};
pub use schema::{Kind, schema};
pub use steps::disk_asked;
pub use tile::ResolvedTile;
