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

mod app;
mod assets;
mod crowd;
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
pub use metrics_alone::answer_metrics;
pub use problem::Problem;
pub use provider::{Current, Held, Provider, ProviderError};
pub use report::{ReportError, report};
pub use server::{Left, Server};
