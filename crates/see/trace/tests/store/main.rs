//! What the store of traces promises, seen from outside.

mod document;
mod round_trip;
mod trouble;
