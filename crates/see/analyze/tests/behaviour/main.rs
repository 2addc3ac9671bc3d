//! Analysis of synthetic and real traces.
#![allow(clippy::unwrap_used)]

mod facts;
mod findings;
mod merge;
#[path = "../../../trace/tests/import/shared.rs"]
mod shared;
mod support;
mod text;
