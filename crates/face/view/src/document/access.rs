use analyze::{AlignmentRow, BesideRow, KneeRow, MissRatioRow, Remark, TierRow, WorkingSetRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `access`: which bytes of the storage are used, how much cache would hold them, and what lies
/// across pages or beside large I/O. Of the whole trace, whatever the lens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AccessPage {
    /// A sentence: what is touched, or why nobody knows.
    pub sentence: String,
    /// What matters in it, most important first.
    pub findings: Vec<String>,
    /// What these I/Os cannot answer, and why.
    pub cannot_say: Vec<Remark>,
    /// Different bytes over windows of time; everybody together first.
    pub working_set: Vec<WorkingSetRow>,
    /// Miss ratios of an LRU cache over its size.
    pub miss_ratio: Vec<MissRatioRow>,
    /// Where more cache begins to bring less.
    pub knees: Vec<KneeRow>,
    /// What an acceleration tier would serve.
    pub tiers: Vec<TierRow>,
    /// Where I/Os begin within 4 KiB.
    pub alignment: Vec<AlignmentRow>,
    /// Small I/Os with and without a large one in flight on the device.
    pub beside_large: Vec<BesideRow>,
}
