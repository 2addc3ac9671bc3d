use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `machine`: what else the machine did while load was on, and when it was in the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachinePage {
    /// A sentence about it.
    pub sentence: String,
    /// Begin of each point on the run's axis, nanoseconds.
    pub at_ns: Vec<u64>,
    /// Length of each point.
    pub width_ns: Vec<u64>,
    /// What was not near zero all the time.
    pub gauges: Vec<MachineGauge>,
    /// Titles of what was near zero all the time.
    pub idle: Vec<String>,
    /// Steps in which others were in the way.
    pub disturbed: Vec<DisturbedSpan>,
}

/// One number of the machine over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineGauge {
    /// Its name in `gauges.parquet`: `cpu.others`.
    pub name: String,
    /// What a person reads beside it.
    pub title: String,
    /// `host`, or a device.
    pub scope: String,
    /// `share`, `bytes_per_s`, `watts` or `count`.
    pub unit: String,
    /// Mean of each point; none where it was not read.
    pub mean: Vec<Option<f64>>,
    /// Most of each point.
    pub max: Vec<Option<f64>>,
}

/// A stretch of the run's axis in which somebody else's work was in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedSpan {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Its begin on the axis, nanoseconds.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Whose work, and how much.
    pub text: String,
}
