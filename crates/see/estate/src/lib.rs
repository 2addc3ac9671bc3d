//! Makes one tile of load from an estate: the virtual machines of a site, as its platform lists
//! them.
//!
//! It reads inventories and measured loads of other tools (`read`, a file each), joins them by VM,
//! and sorts VMs into classes by rules in `classes.toml`. It completes missing values with the
//! class's assumptions, and writes a tile that is a stated fraction of the estate: the tile's
//! capacity, rates and bytes, times the number of tiles, equal the estate's.
//!
//! It evaluates no formulas (only their stored value is read). It refuses workbooks that unpack to
//! more than 2 GiB. It never guesses an unreadable row, but counts and locates it. It marks
//! every assumption.
//!
//! Invariants: the same files and options give the same tile; a VM has one class; every class with
//! VMs is in the tile; measured sums stay unchanged, whatever is assumed for other VMs.
#![forbid(unsafe_code)]

mod class;
mod class_rule;
mod collect;
mod document;
mod error;
mod example;
mod mix;
mod place;
pub mod read;
mod row;
mod series;
mod vm;
mod workload;

pub use class::{CLASSES, Class, Rule};
pub use class_rule::{ClassRule, ClassRuleError};
pub use collect::{Inventory, collect};
pub use document::{
    ClassRow, ESTATE_SCHEMA, EstateSheet, Totals, VmRow, estate_json_schema, sheet,
};
pub use error::{EstateError, ReadError};
pub use example::example;
pub use mix::{Estate, EstateOptions, estate};
pub use place::{BadRows, RowLocation};
pub use row::LeftOut;
pub use vm::{Load, Vm};
