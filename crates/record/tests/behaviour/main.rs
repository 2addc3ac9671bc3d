//! Behaviour of what a run leaves behind.

mod run_json;
mod rundir;
mod sample;
mod series;
