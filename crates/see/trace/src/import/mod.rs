//! Reads other tools' traces: detection, decompression, parsing, sorting by issue.

mod compression;
mod detect;
mod fields;
mod foreign;
mod format;
mod formats;
mod importer;
mod input;
mod kind;
mod lines;
mod names;
mod open;
mod per_cpu;
mod records;
mod sink;
mod stream;
mod table;

pub(crate) use compression::unpack;
pub use format::Format;
pub use open::open;
pub use stream::{OpenOptions, open_stream};
