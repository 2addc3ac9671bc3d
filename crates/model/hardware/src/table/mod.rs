//! A disk of which only its answers are known.

mod part;
mod side;

pub use part::{Table, TableParameters};
pub use side::TableLoop;
