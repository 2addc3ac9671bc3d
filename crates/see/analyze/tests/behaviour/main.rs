//! What the analysis says of traces, made up and real.
#![allow(clippy::unwrap_used)]

mod facts;
mod findings;
mod merge;
#[path = "../../../trace/tests/import/shared.rs"]
mod shared;
mod support;
mod text;
