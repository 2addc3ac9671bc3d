//! Working sets of VMs: the data that each VM used of its disks in the last hour, day and week.

mod file;
mod row;
pub(crate) mod state;
mod table;
mod watch;

pub(crate) use file::{days, forget_in, is_unfinished, newest, over, put, read, thinned};
pub use row::{SetRow, SetSpan};
pub(crate) use table::write as write_parquet;
pub use watch::Sets;
