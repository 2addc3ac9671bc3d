//! Quantities with their units: bytes, time, rates and shares.
//!
//! It has one newtype for each quantity, with one parser and one formatter, so that `"4k"` means
//! 4096 bytes in a plan, on the command line and in a result. It also has one table for text.
//!
//! It knows nothing about storage, workloads or runs. It never guesses a unit: a number without a
//! unit is an error wherever a unit is possible.
//!
//! Invariants:
//! - A value that parses prints as text that parses to the same value.
//! - Arithmetic that can overflow is checked or saturates, and says which in its name.
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
