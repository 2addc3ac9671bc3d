//! Models a disk of which only the measured latencies are known.

mod part;
mod side;

pub use part::{Table, TableParameters};
pub use side::TableLoop;
