//! A run at the resolution of looking at it: histograms by bucket of time that stay mergeable,
//! few enough to hold in memory however long the run was. `docs/formats/rollup.md` lists what
//! is stored of it.

mod buckets;
mod file;
mod folded;
mod gauges;
mod head;
mod intern;
mod line;
mod merge;
mod of_run;
mod rows;
mod slot;

pub use folded::Rollup;
pub use of_run::ObservedRow;
pub use rows::{
    ActionName, ActionRow, CallName, CallRow, Entity, GaugeOf, GaugeRow, Group, IoRow, Level,
    RateRow, SliceRow, Span, TierName, TierRow,
};

/// Most buckets over a run in which workloads are told apart, unless the run has more spans.
pub const WIDE_BUCKETS: usize = 2048;

/// Most buckets over a run in which the workloads of every tile are told apart, unless the run
/// has more spans.
pub const NARROW_BUCKETS: usize = 128;

/// Most rows of the wide level, unless one bucket a span has more: a recorded trace can have
/// thousands of VMs.
pub const WIDE_ROWS: usize = 200_000;

/// Most rows of the narrow level, unless one bucket a span has more: 100 tiles of eight
/// workloads would fill some hundred megabytes with 128 buckets.
pub const NARROW_ROWS: usize = 100_000;

/// Most workloads whose least and largest rates are kept: the first ones.
pub const RATE_ENTITIES: u32 = 64;

/// Version of `rollup.parquet`, stored in it under the key `tilemark.rollup`. A minor version
/// only adds columns and tables. Files of version 1 are read too.
pub const ROLLUP_VERSION: &str = "2.1";
