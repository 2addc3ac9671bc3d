//! An estate: the virtual machines that somebody has, as their platform lists them, sorted into classes and
//! written as one tile of load.
//!
//! What it does: reads inventories and measured loads of other tools (`read`, a file each), puts them together
//! machine by machine, sorts machines into classes by rules that are data (`classes.toml`), completes what
//! was not measured with the class's assumptions, and writes a tile that is a stated fraction of the whole: its
//! capacity, rates and bytes, times the number of tiles, are the estate's.
//!
//! What it refuses: formulas (their stored value is read and nothing is evaluated), workbooks that unpack to more
//! than a gibibyte, a row that cannot be told (counted and located, never guessed), an assumption that
//! is not marked as one.
//!
//! Invariants: the same files and options give the same tile; a machine has one class; every class with
//! machines is in the tile; what was measured is kept as a sum, whatever was assumed beside it.
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
pub use mix::{Estate, Wanted, estate};
pub use place::{BadRows, Place};
pub use row::LeftOut;
pub use vm::{Load, Vm};
