use std::fmt;

/// Number of a device (`dev_t`). It is compared instead of names, which can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl DeviceNumber {
    /// Decodes the packed form of `stat`.
    pub fn from_packed(packed: u64) -> Self {
        Self { major: rustix::fs::major(packed), minor: rustix::fs::minor(packed) }
    }

    /// Parses the text of sysfs, such as `254:0`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}
