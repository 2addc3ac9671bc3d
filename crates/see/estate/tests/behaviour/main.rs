//! Behaviour of an import: real columns, damaged files, and that a tile is the estate divided.

mod book;
mod estates;
mod formats;
mod meaning;
mod refusals;
