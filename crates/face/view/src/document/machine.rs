use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `machine`: other work of the host during the load, and the times at which it disturbed the
/// load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachinePage {
    /// Summary in one sentence.
    pub sentence: String,
    /// Begin of each point on the run's axis, nanoseconds.
    pub at_ns: Vec<u64>,
    /// Length of each point, nanoseconds.
    pub width_ns: Vec<u64>,
    /// Gauges that were not near zero all the time.
    pub gauges: Vec<MachineGauge>,
    /// Titles of the gauges that were near zero all the time.
    pub idle: Vec<String>,
    /// Steps that other work disturbed.
    pub disturbed: Vec<DisturbedSpan>,
}

/// A gauge of the host over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineGauge {
    /// Name in `gauges.parquet`: `cpu.others`.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// Subject of the gauge: `host`, or a device.
    pub scope: String,
    /// Unit: `share`, `bytes_per_s`, `watts` or `count`.
    pub unit: String,
    /// Mean of each point; none where the gauge was not read.
    pub mean: Vec<Option<f64>>,
    /// Maximum of each point; none where the gauge was not read.
    pub max: Vec<Option<f64>>,
}

/// Time span on the run's axis in which other work disturbed the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedSpan {
    /// Number of the step in the ladder, from 1.
    pub step: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Begin on the run's axis, nanoseconds.
    pub from_ns: u64,
    /// End on the run's axis, nanoseconds.
    pub to_ns: u64,
    /// Source and amount of the disturbance.
    pub text: String,
}
