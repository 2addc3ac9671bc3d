use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::plan::{Measure, Scale};

/// A configuration that needs real storage: a directory, told when the study is run. Without
/// one it is left out, and claims about it are not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RealConfiguration {
    /// Unique in the study; formulas use it.
    pub name: String,
    /// One line a person reads in tables.
    pub title: String,
    /// Its tile, if not the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// How many tiles (default 1).
    #[serde(default = "one")]
    pub tiles: u32,
    /// How slow the kernel makes the storage while it is measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// Whether I/O goes through the page cache (default no).
    #[serde(default, skip_serializing_if = "is_default")]
    pub buffered: bool,
    /// Threads that make the load (default 1). CPU steps that burn share them.
    #[serde(default = "one")]
    pub workers: u32,
    /// How it is measured, where not as the study says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measure: Measure,
    /// How its tile is scaled, where not as the study says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: Scale,
    /// What is different in its workloads, by their name, as in other configurations.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "IndexMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub workload: IndexMap<String, toml::Table>,
}

/// What a process may do to a block device each second; what is absent is not limited.
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
    /// Whether anything is limited.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// In words: `500 reads/s and 20 MiB written/s`.
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
