//! The answer for people: sentences, tables and bars of text.

mod grid;
mod plain;

pub use plain::text;
