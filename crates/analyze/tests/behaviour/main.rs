//! What the analysis says of traces, made up and real.
#![allow(clippy::unwrap_used)]

mod facts;
mod findings;
mod fit;
mod merge;
mod support;
mod text;
