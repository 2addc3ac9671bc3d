//! Serves runs, stored or live, over HTTP: the page, the interface and the metrics.
//!
//! It answers `GET` with documents of `view`, sends live states as server-sent events, serves the
//! page built into the program, and exports the last metrics to Prometheus.
//!
//! It refuses changes of any kind; methods other than `GET` and `HEAD`; requests for a host that it
//! does not listen for; requests without the token to addresses other than this computer's; and
//! paths that are not ids. A run never waits for a visitor.
//!
//! Invariants: every answer is a document of `view` or a problem document (RFC 9457); names from a
//! request are parsed to ids before they become part of a path; a slow client is dropped.
#![forbid(unsafe_code)]

mod app;
mod assets;
mod crowd;
mod exposition;
mod felt;
mod figures;
mod guard;
mod library;
mod listen;
mod live;
mod live_run;
mod metrics;
mod metrics_alone;
pub mod openapi;
pub mod otlp;
mod patient;
mod problem;
mod provider;
mod report;
mod routes;
mod server;
mod token;

pub use assets::has_page;
pub use felt::{Felt, FeltAction, FeltLimit, FeltStep};
pub use library::{Library, Shelf};
pub use listen::{Access, Door, Listen, ListenError, PORT};
pub use live_run::{Feed, LiveRun, Recording, Second, ServedSecond, Serving, Subject, TraceFeed};
pub use metrics_alone::{answer_families, answer_metrics};
pub use problem::Problem;
pub use provider::{Current, Provider, ProviderError, StepFigures};
pub use report::{ReportError, report};
pub use server::{Left, Server};
