//! A recorded load in place of users: a trace, which part of it, and how it is paced.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The one action that a replay has: playing the trace from its first I/O to its last answer.
pub const ACTION: &str = "replay";

/// The kinds of I/O that a replay has, for limits and metrics.
pub const KINDS: [&str; 3] = ["read", "write", "flush"];

/// A trace that is played back instead of users and actions.
///
/// Every disk of the workload plays the device at the same place among the trace's devices (or
/// among `devices`, if given). What a disk is too small for is folded into it: its offset is
/// taken modulo the disk's size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Replay {
    /// The trace: a file, or a directory of a stored trace, relative to this file.
    pub trace: String,
    /// Its format, as `tilemark replay --from` takes it; found out if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Only I/O of this VM (or process, or control group) of the trace; everybody's, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// Only I/O of these devices of the trace, in the order of the workload's disks; all of
    /// them in the trace's own order, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<Vec<String>>,
    /// How fast (default `"1x"`).
    #[serde(default)]
    pub speed: Speed,
    /// What an I/O waits for (default `"open"`).
    #[serde(default)]
    pub pace: Pace,
}

/// How fast a trace is played: `"1x"`, `"2x"`, `"0.5x"`, or `"max"`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Speed {
    /// Times between I/Os are divided by this, 0.001 to 1000.
    Times(f64),
    /// No pauses: an I/O waits only for what it waited for when it was recorded.
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

/// Why a text is no speed.
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

/// What an I/O of a replay waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// The clock: every I/O is due at its time in the trace, whatever the storage does.
    #[default]
    Open,
    /// An answer: the last one that its VM had when it sent the I/O, and then the pause that it
    /// made in the trace.
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
