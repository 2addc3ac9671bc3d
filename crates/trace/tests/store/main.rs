//! What the store of traces promises, seen from outside.

mod round_trip;
mod trouble;
