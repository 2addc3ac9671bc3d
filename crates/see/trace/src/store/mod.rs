//! Stores Tilemark's own traces: a directory `NAME.tmt` of Parquet files (zstd), split by time.
//!
//! `docs/formats/trace.md` describes every file and column. A trace is named `NAME.tmt.partial`
//! until [`Writer::finish`]; nothing is ever overwritten.

mod columns;
mod decode;
mod encode;
mod gauges;
mod json_schema;
mod manifest;
mod names;
mod part;
mod reader;
mod schema;
mod write;

pub use columns::Columns;
pub use gauges::{GAUGES_FILE, TraceGauges, gauges};
pub use json_schema::json_schema;
pub use manifest::{Machine, PartOf, SUMS_FILE, TRACE_FILE};
pub use reader::{Reader, Store, StorePart, is_store, open};
pub use schema::SCHEMA;
pub use write::{Options, Writer, Written, save, save_while};

/// Name of this format in [`crate::TraceInfo::format`].
pub const FORMAT: &str = "tilemark";
