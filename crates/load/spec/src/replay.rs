//! A recorded load in place of users: a trace, the part of it to replay, and its pace.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The only action of a replay: the trace from its first submission to its last completion.
pub const ACTION: &str = "replay";

/// Kinds of I/O of a replay, for limits and metrics.
pub const KINDS: [&str; 3] = ["read", "write", "flush"];

/// A trace that is replayed in place of users and actions.
///
/// Every disk of the workload replays the device at the same position among the trace's devices (or
/// among `devices`, if given). Offsets beyond the end of a smaller disk are folded into it: they
/// are taken modulo the disk's size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Replay {
    /// Path of the trace, a file or the directory of a stored trace, relative to this file.
    pub trace: String,
    /// Format of the trace, as `tilemark replay --from` takes it; detected if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Name of the only VM (or process, or control group) of the trace whose I/O is replayed. If
    /// absent, all I/O is replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// Devices of the trace whose I/O is replayed, in the order of the workload's disks. If absent,
    /// all devices are replayed, in the trace's own order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<Vec<String>>,
    /// Speed of the replay (default `"1x"`).
    #[serde(default)]
    pub speed: Speed,
    /// Condition for the start of an I/O (default `"open"`).
    #[serde(default)]
    pub pace: Pace,
}

/// Speed of a replay: `"1x"`, `"2x"`, `"0.5x"`, or `"max"`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Speed {
    /// Factor of the speed: the times between I/Os are divided by it, 0.001 to 1000.
    Times(f64),
    /// No pauses: an I/O only waits for the I/Os that it waited for in the recording.
    Max,
}

impl Default for Speed {
    fn default() -> Self {
        Self::Times(1.0)
    }
}

impl Speed {
    const SLOWEST: f64 = 0.001;
    const FASTEST: f64 = 1000.0;
}

/// Reason why a text is not a speed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "speed \"{text}\" is neither max nor a number from 0.001 to 1000 followed by x, such as 2x"
)]
pub struct SpeedError {
    text: String,
}

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, SpeedError> {
        if text == "max" {
            return Ok(Self::Max);
        }
        let number = text.strip_suffix('x').and_then(|number| number.parse::<f64>().ok());
        let allowed = number.filter(|times| (Self::SLOWEST..=Self::FASTEST).contains(times));
        allowed.map(Self::Times).ok_or_else(|| SpeedError { text: text.to_owned() })
    }
}

impl TryFrom<String> for Speed {
    type Error = SpeedError;

    fn try_from(text: String) -> Result<Self, SpeedError> {
        text.parse()
    }
}

impl From<Speed> for String {
    fn from(speed: Speed) -> Self {
        speed.to_string()
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => write!(f, "{times}x"),
            Self::Max => f.write_str("max"),
        }
    }
}

/// Condition for the start of a replayed I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Time: every I/O is due at its time in the trace, regardless of the speed of the storage.
    #[default]
    Open,
    /// Completion: an I/O starts after the last completion that its VM saw before it in the trace,
    /// plus the pause in the trace.
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_reads_back_as_it_was_written() {
        for text in ["1x", "2x", "0.5x", "max", "1000x"] {
            assert_eq!(text.parse::<Speed>().expect(text).to_string(), text);
        }
        for text in ["", "x", "2", "0x", "-1x", "1e9x", "nanx", "infx", "fast"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
    }
}
