//! First write of every virtual disk, before anything is measured.
//!
//! The first write to thin, fallocated or trimmed storage costs more than every later one, and
//! reads of blocks that were never written cost nothing. So a run first writes everything, and
//! reports the speed of this first write separately from the speed of a rewrite.
//!
//! Each disk is written sequentially, in writes of 1 MiB with several outstanding, a few disks at
//! once, by threads with plain positioned writes. At this size the cost of a system call per write
//! is no bottleneck (1.58 GB/s on a disk whose own limit is about 1.5 GB/s, see the cost section of
//! `docs/formats/verification.md`).

mod error;
mod fill;
mod plan;

pub use error::PrefillError;
pub use fill::run;
pub use plan::{Options, Plan, PrefillReport, Progress, RateStats};
