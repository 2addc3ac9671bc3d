use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::TileList;
use crate::over::OverSetting;
use crate::plan::{Measure, Scale};

/// Configuration that needs real storage: a directory that is given when the study is run. Without
/// a directory, the configuration is left out, and claims about it are not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RealConfiguration {
    /// Name, unique in the study, for formulas.
    pub name: String,
    /// Title in tables, one line.
    pub title: String,
    /// Tile of the configuration; if absent, the study's tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// Numbers of tiles (default 1): `4`, `"1..5"` or `[1, 2, 4]`.
    #[serde(default)]
    pub tiles: TileList,
    /// Storage protocol on this computer through which the disks are reached, as with `run --over`
    /// (`iscsi`, `"iscsi,mtu=9000"`); if absent, the disks are local files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<OverSetting>,
    /// Limits that the kernel imposes on the storage during the measurement.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// True if I/O goes through the page cache (default no).
    #[serde(default, skip_serializing_if = "is_default")]
    pub buffered: bool,
    /// Number of threads that generate the load (default 1). They also execute CPU steps in `burn`
    /// mode.
    #[serde(default = "one")]
    pub workers: u32,
    /// Measurement of its steps. Absent values default to the study's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measure: Measure,
    /// Scaling of the tile. Absent values default to the study's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: Scale,
    /// Changes to the workloads, keyed by workload name, as in other configurations.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "IndexMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub workload: IndexMap<String, toml::Table>,
}

/// Limits of a process on a block device. Absent values mean no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Reads per second, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u32>,
    /// Writes per second, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<u32>,
    /// Bytes read per second, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_rate: Option<Bytes>,
    /// Bytes written per second, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_rate: Option<Bytes>,
}

impl Limits {
    /// Returns true if any value is limited.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Describes the limits in words: `500 reads/s and 20 MiB written/s`.
    pub fn describe(&self) -> String {
        let words = [
            self.read_iops.map(|limit| format!("{limit} reads/s")),
            self.write_iops.map(|limit| format!("{limit} writes/s")),
            self.read_rate.map(|limit| format!("{limit} read/s")),
            self.write_rate.map(|limit| format!("{limit} written/s")),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if words.is_empty() { "no limit".to_owned() } else { words.join(" and ") }
    }
}

const fn one() -> u32 {
    1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_said_in_words() {
        let limits = Limits {
            read_iops: Some(500),
            write_rate: Some(Bytes::new(20 << 20)),
            ..Limits::default()
        };
        assert_eq!(limits.describe(), "500 reads/s and 20 MiB written/s");
        assert_eq!(Limits::default().describe(), "no limit");
        assert!(limits.is_any() && !Limits::default().is_any());
    }
}
