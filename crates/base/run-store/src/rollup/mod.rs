//! Rollup: a run at the resolution of its charts. It has mergeable histograms in time buckets, few
//! enough to be kept in memory for a run of any length. `docs/formats/rollup.md` lists the stored
//! fields.

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
    RateRow, SliceRow, Span, TierName, TierRow, observed_name,
};

/// Maximum number of buckets of the wide level, unless the run has more spans.
pub const WIDE_BUCKETS: usize = 2048;

/// Maximum number of buckets of the narrow level, unless the run has more spans.
pub const NARROW_BUCKETS: usize = 128;

/// Maximum number of rows of the wide level, unless one bucket per span already has more: a
/// recorded trace can have thousands of VMs.
pub const WIDE_ROWS: usize = 200_000;

/// Maximum number of rows of the narrow level, unless one bucket per span already has more: 100
/// tiles of eight workloads would take some hundred megabytes with 128 buckets.
pub const NARROW_ROWS: usize = 100_000;

/// Maximum number of workloads with smallest and largest rates; the first workloads have them.
pub const RATE_ENTITIES: u32 = 64;

/// Version of `rollup.parquet`, stored in the file under the key `tilemark.rollup`. A minor version
/// only adds columns and tables. Files of version 1 can also be read.
pub const ROLLUP_VERSION: &str = "2.1";
