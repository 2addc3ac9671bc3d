//! Quantities with their units: bytes, time, rates and shares.
//!
//! It has one newtype for each quantity, with one parser and one formatter, so that `"4k"` means
//! 4096 bytes in a plan, on the command line and in a result; and one table of text.
//!
//! It knows nothing about storage, workloads or runs, and never guesses a unit: a bare number is an
//! error wherever a unit could be meant.
//!
//! Invariants: a value that parses prints as text that parses to the same value;
//! arithmetic that can overflow is checked or saturates, and says which in its name.
#![forbid(unsafe_code)]

mod bytes;
mod error;
pub mod fit;
pub mod print;
mod rate;
mod ratio;
mod table;
mod text;
mod time;

pub use bytes::{BlockSize, Bytes, decimal_and_binary};
pub use error::ParseError;
pub use rate::Rate;
pub use ratio::Ratio;
pub use table::Table;
pub use time::Nanos;
