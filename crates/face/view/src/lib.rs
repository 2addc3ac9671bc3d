//! Views of runs: every view as data, every sentence, every number with its unit.
//!
//! What it does: answers a [`Request`] (a view and a [`Lens`]) from a run's rollup and its
//! `run.json`, so that the page, the report and the HTTP interface show the same numbers.
//!
//! What it refuses: to draw, to measure, to judge again, to average percentiles, and to show a
//! latency without the number of I/Os behind it.
//!
//! Invariants: an answer depends only on the run's files and the request. Percentiles come from
//! merged histograms. Every series is decimated to the requested number of points. A request has
//! one canonical text, which is the key of a stored answer.
#![forbid(unsafe_code)]

mod answer;
mod compare;
pub mod document;
mod facts;
pub mod observed;
mod offline;
mod parts;
pub mod pipeline;
pub mod plain;
mod request;
pub mod sample;
mod scope;
mod source;
mod study;
mod trend;
mod views;
mod warnings;
mod words;

pub use crate::compare::compare;
pub use answer::{Document, answer, refused};
pub use offline::{OFFLINE_BYTES_MAX, every_request, offline};
pub use parts::{Role, interval, parts};
pub use request::{Breakdown, Lens, Measure, Request, RequestError, View};
pub use source::{OpenError, Source, TraceFacts};
pub use study::{studies, study};
pub use trend::trend;
pub use views::{disturbed, list, row_of};
pub use warnings::warnings;
