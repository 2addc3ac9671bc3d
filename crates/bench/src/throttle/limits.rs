use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

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

    /// Version 1: which file takes which line (Documentation/admin-guide/cgroup-v1/
    /// blkio-controller.rst, "Throttling/Upper limit policy files").
    pub(super) fn lines_v1(&self, device: &str) -> Vec<(&'static str, String)> {
        let line = |value: u64| format!("{device} {value}");
        let files = [
            ("blkio.throttle.read_iops_device", self.read_iops.map(u64::from)),
            ("blkio.throttle.write_iops_device", self.write_iops.map(u64::from)),
            ("blkio.throttle.read_bps_device", self.read_rate.map(Bytes::get)),
            ("blkio.throttle.write_bps_device", self.write_rate.map(Bytes::get)),
        ];
        files.into_iter().filter_map(|(file, value)| Some((file, line(value?)))).collect()
    }

    /// Version 2: the line of `io.max` (Documentation/admin-guide/cgroup-v2.rst, "IO").
    pub(super) fn line_v2(&self, device: &str) -> String {
        let keys = [
            ("riops", self.read_iops.map(u64::from)),
            ("wiops", self.write_iops.map(u64::from)),
            ("rbps", self.read_rate.map(Bytes::get)),
            ("wbps", self.write_rate.map(Bytes::get)),
        ];
        let parts = keys.into_iter().filter_map(|(key, value)| Some(format!(" {key}={}", value?)));
        parts.fold(device.to_owned(), |line, part| line + &part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        read_iops: Some(500),
        write_iops: None,
        read_rate: None,
        write_rate: Some(Bytes::new(20 << 20)),
    };

    #[test]
    fn each_version_gets_its_own_lines() {
        let lines = LIMITS.lines_v1("8:16");
        let expected = [
            ("blkio.throttle.read_iops_device", "8:16 500".to_owned()),
            ("blkio.throttle.write_bps_device", "8:16 20971520".to_owned()),
        ];
        assert_eq!(lines, expected);
        assert_eq!(LIMITS.line_v2("8:16"), "8:16 riops=500 wbps=20971520");
    }

    #[test]
    fn limits_are_said_in_words() {
        assert_eq!(LIMITS.describe(), "500 reads/s and 20 MiB written/s");
        assert_eq!(Limits::default().describe(), "no limit");
        assert!(LIMITS.is_any() && !Limits::default().is_any());
    }
}
