//! Behaviour of what a run leaves behind.

mod env;
mod run_json;
mod rundir;
mod sample;
mod series;
