use analyze::{AlignmentRow, BesideRow, KneeRow, MissRatioRow, Remark, TierRow, WorkingSetRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `access`: bytes of the storage in use, the cache size that would hold them, and I/Os across
/// pages or beside large I/O. It covers the whole trace, whatever the lens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AccessPage {
    /// Summary of the touched data, or the reason why it is unknown.
    pub sentence: String,
    /// Findings, most important first.
    pub findings: Vec<String>,
    /// Questions that this I/O cannot answer, with reasons.
    pub cannot_say: Vec<Remark>,
    /// Distinct bytes over windows of time, with the sum of all initiators first.
    pub working_set: Vec<WorkingSetRow>,
    /// Miss ratios of an LRU cache, by its size.
    pub miss_ratio: Vec<MissRatioRow>,
    /// Cache sizes above which more cache brings less.
    pub knees: Vec<KneeRow>,
    /// Requests that an acceleration tier would serve, by the tier's size.
    pub tiers: Vec<TierRow>,
    /// Offsets of I/Os from a 4 KiB boundary.
    pub alignment: Vec<AlignmentRow>,
    /// Small I/Os with and without a large I/O in flight on the device.
    pub beside_large: Vec<BesideRow>,
}
