use serde::{Deserialize, Serialize};
use units::Nanos;

/// The position of a device in [`crate::TraceInfo::devices`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct DeviceIndex(pub u16);

/// The position of a VM (or process, or control group: whoever sent the I/O) in
/// [`crate::TraceInfo::vms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VmIndex(pub u16);

/// What an I/O did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Moved bytes from the device.
    Read,
    /// Moved bytes to the device.
    Write,
    /// Made what was acknowledged durable; no address, no length.
    Flush,
    /// Told the device that a range is not needed any more; its length is not data moved.
    Discard,
}

impl Operation {
    /// Whether data moved: only reads and writes have a size that counts as traffic.
    pub const fn moves_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }
}

/// Properties of an I/O beside its operation, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// Durable before it is acknowledged (force unit access).
    pub const FUA: Self = Self(1);
    /// Preceded by a flush of the device's volatile cache.
    pub const PREFLUSH: Self = Self(1 << 1);
    /// Somebody waits for it (`REQ_SYNC`).
    pub const SYNC: Self = Self(1 << 2);
    /// Read ahead of need.
    pub const READAHEAD: Self = Self(1 << 3);
    /// Metadata of a file system.
    pub const META: Self = Self(1 << 4);
    /// Ended with an error.
    pub const ERROR: Self = Self(1 << 5);
    /// Began where the previous I/O of the same direction on the same device ended.
    pub const SEQUENTIAL: Self = Self(1 << 6);

    /// The bits as they are stored.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Flags of stored bits.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether all of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These but not `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// One I/O as it was seen: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoRecord {
    /// When it was issued by whoever sent it, from the start of the trace.
    pub issue: Nanos,
    /// Waiting before the device got it; none where the source does not tell.
    pub queue: Option<Nanos>,
    /// From the device getting it to its end, or from issue to end where `queue` is none; none
    /// where the source has no latencies.
    pub device_time: Option<Nanos>,
    /// First byte on the device.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// I/Os of the same device that were issued and not ended when this one came, itself not
    /// counted (vscsiStats counts it too, so its figure is one more); saturates at 65,535; none where
    /// ends are unknown.
    pub outstanding: Option<u16>,
    /// Who sent it.
    pub vm: VmIndex,
    /// Where it went.
    pub device: DeviceIndex,
    /// What it did.
    pub operation: Operation,
    /// What else is known of it.
    pub flags: Flags,
}

impl IoRecord {
    /// A record of which nothing optional is known.
    pub const fn new(issue: Nanos, operation: Operation, offset: u64, length: u32) -> Self {
        Self {
            issue,
            queue: None,
            device_time: None,
            offset,
            length,
            outstanding: None,
            vm: VmIndex(0),
            device: DeviceIndex(0),
            operation,
            flags: Flags::NONE,
        }
    }

    /// From issue to end as the sender felt it: waiting and device time.
    pub fn latency(&self) -> Option<Nanos> {
        let device_time = self.device_time?;
        Some(Nanos(device_time.0.saturating_add(self.queue.map_or(0, |queue| queue.0))))
    }

    /// The first byte after it.
    pub const fn end_offset(&self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_cache_line() {
        assert_eq!(size_of::<IoRecord>(), 64);
    }

    #[test]
    fn latency_is_waiting_and_device_time_and_unknown_without_the_latter() {
        let mut record = IoRecord::new(Nanos(5), Operation::Read, 0, 4096);
        assert_eq!(record.latency(), None);
        record.queue = Some(Nanos(10));
        assert_eq!(record.latency(), None, "waiting alone is not a latency");
        record.device_time = Some(Nanos(100));
        assert_eq!(record.latency(), Some(Nanos(110)));
    }

    #[test]
    fn flags_are_kept_apart() {
        let flags = Flags::FUA.with(Flags::SYNC);
        assert!(flags.has(Flags::FUA) && flags.has(Flags::SYNC) && !flags.has(Flags::META));
        assert_eq!(Flags::from_bits(flags.bits()), flags);
    }
}
