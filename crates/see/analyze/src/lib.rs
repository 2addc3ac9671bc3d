//! What observed I/O means: block sizes, latency over time, working sets, findings in words.
//!
//! What it does: folds a [`trace::Source`] into views (histograms per VM, direction and block-size
//! class over time), answers how much cache would hold the working set, and says in a few
//! sentences where the latency came from; adds up what several hosts folded for themselves
//! ([`analyse_hosts`]), as far as sums can be added.
//!
//! What it refuses: measuring; a sentence from fewer than 30 I/Os; an average of percentiles.
//!
//! Invariants: memory does not grow with the number of records, only with time, VMs and classes;
//! the same records give the same result in whatever batches they come.
#![forbid(unsafe_code)]

mod cause;
mod classes;
mod document;
mod findings;
mod fold;
mod hosts;
mod material;
mod shape;
mod tables;
mod text;
mod views;
mod working_set;

pub use cause::{Band, Cause, Waits, sizes};
pub use classes::{
    ENOUGH, Figures, Part, ROWS_NS, SLOTS, USUAL_LIMIT, USUAL_LIMIT_SOURCE, Whole, first_over,
    ratio, slot,
};
pub use document::{
    AlignmentRow, Analysis, BesideRow, BreakRow, BurstRow, FilterFacts, Finding, FindingKind,
    HistogramRow, KneeRow, LatencyCell, Limit, MissRatioRow, OutstandingCell, OverviewRow, Remark,
    SCHEMA, SizeRow, SourceFacts, TierRow, TimeRow, WorkingSetRow, json_schema,
};
pub use fold::{Buckets, DEPTHS as OUTSTANDING, Filter, Fold, Of, Settings, Sums, Unknown};
pub use hosts::{
    HOSTS_SCHEMA, HostAnalysis, HostPart, HostsAnalysis, MachineRow, analyse_hosts,
    hosts_json_schema,
};
pub use material::{COARSE, Subject, View};
pub use shape::Shape;
pub use tables::{Table, TableError};
pub use text::{hosts_text, text, vscsi_stats};
pub use views::{Options, analyse};
pub use working_set::Curve;
