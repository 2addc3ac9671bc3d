//! Behaviour of stored runs.

mod env;
mod export;
mod rollup;
mod run_json;
mod rundir;
mod sample;
mod sentence;
mod series;
