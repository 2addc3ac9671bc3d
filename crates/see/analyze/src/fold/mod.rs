//! Folds records into sums whose size does not grow with the number of records, and merges such
//! sums.

mod buckets;
mod bursts;
mod carried;
mod flight;
mod pages;
mod slices;
mod slim;
mod store;
mod stream;
mod sums;
mod vm;
mod work;

pub use buckets::Buckets;
pub(crate) use pages::{PAGE, Pages, Reference, SMALL};
pub(crate) use slices::Row;
pub(crate) use slim::Slim;
pub use stream::Of;
pub(crate) use stream::Stream;
pub use sums::{Sums, Unknown};
pub use vm::DEPTHS;
pub(crate) use vm::{Class, Vm};
pub use work::{Filter, Fold, Settings};
