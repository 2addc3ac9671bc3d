use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::TileList;
use crate::over::OverProtocol;
use crate::plan::{Measure, Scale};

/// A configuration that needs real storage: a directory that is given when the study is run.
/// Without it, the configuration is left out, and claims about it are not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RealConfiguration {
    /// Name, unique in the study, for formulas.
    pub name: String,
    /// Title in tables, one line.
    pub title: String,
    /// Tile of the configuration; if absent, that of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// Numbers of tiles (default 1): `4`, `"1..5"` or `[1, 2, 4]`.
    #[serde(default)]
    pub tiles: TileList,
    /// Storage protocol of this computer, by which the disks are reached as with `run --over`; if
    /// absent, they are local files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<OverProtocol>,
    /// Limits by which the kernel slows the storage down while it is measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// True if I/O goes through the page cache (default no).
    #[serde(default, skip_serializing_if = "is_default")]
    pub buffered: bool,
    /// Number of threads that make the load (default 1). CPU steps that burn share them.
    #[serde(default = "one")]
    pub workers: u32,
    /// Measuring of its step; absent values are those of the study.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measure: Measure,
    /// Scaling of the tile; absent values are those of the study.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: Scale,
    /// Changes of the workloads, by their name, as in other configurations.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "IndexMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub workload: IndexMap<String, toml::Table>,
}

/// Limits of a process on a block device per second; absent values are not limited.
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
    /// True if anything is limited.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Limits in words: `500 reads/s and 20 MiB written/s`.
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
