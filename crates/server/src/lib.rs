//! Runs, stored or live, over HTTP for people to look at: the page, its interface, the metrics.
//!
//! What it does: answers `GET` with documents of `view`, tells live runs over server-sent events,
//! serves the page that is built into the program, and shows the last figures to Prometheus.
//!
//! What it refuses: starting, changing or deleting anything; other methods than `GET` and `HEAD`;
//! requests for a host it does not listen for; other addresses than this machine's without the
//! token; paths that are not ids. It never makes a run wait for somebody who looks at it.
//!
//! Invariants: every answer is a document of `view` or a problem document (RFC 9457); names from a
//! request are parsed to ids before they touch a path; a client that is slow is dropped.
#![forbid(unsafe_code)]

pub mod openapi;
mod problem;

pub use problem::Problem;
