//! Explains observed I/O: block sizes, latency over time, working sets, findings in words.
//!
//! It folds a [`trace::Source`] into views (histograms per VM, direction and block-size class over
//! time), estimates the size of a cache for the working set, and describes the causes of latency in
//! a few sentences. It merges the sums of several hosts ([`analyse_hosts`]), as far as they can be
//! added.
//!
//! It refuses to measure, to make a sentence from fewer than 30 I/Os, and to average percentiles.
//!
//! Invariants: memory does not grow with the number of records, only with time, VMs and classes;
//! the same records give the same result in batches of any size.
#![forbid(unsafe_code)]

mod cause;
mod classes;
mod document;
mod findings;
mod fold;
mod hosts;
mod interval;
mod material;
mod shape;
mod tables;
mod text;
mod views;
mod working_set;

pub use cause::{Band, Cause, Waits, sizes};
pub use classes::{
    ClassShare, ENOUGH, Figures, ROWS_NS, SLOTS, USUAL_LIMIT, USUAL_LIMIT_SOURCE, Whole,
    first_over, ratio, slot,
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
pub use interval::{Blocks, ShareInterval};
pub use material::{COARSE, Subject, View};
pub use shape::Shape;
pub use tables::{Table, TableError};
pub use text::{hosts_text, text, vscsi_stats};
pub use views::{Options, analyse};
pub use working_set::Curve;
