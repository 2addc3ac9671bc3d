use serde::{Deserialize, Serialize};
use units::Nanos;

/// Position of a device in [`crate::TraceInfo::devices`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct DeviceIndex(pub u16);

/// Position in [`crate::TraceInfo::vms`] of the initiator of an I/O: a VM, process or control
/// group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VmIndex(pub u16);

/// Operation of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Transfers data from the device.
    Read,
    /// Transfers data to the device.
    Write,
    /// Flush, which makes acknowledged writes durable. It has no address and length.
    Flush,
    /// Discard of a range that is no longer needed; its length does not count as transferred data.
    Discard,
}

impl Operation {
    /// Returns true if the operation transfers data. Only reads and writes do.
    pub const fn moves_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Returns the name of the operation in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }
}

/// Properties of an I/O in addition to its operation, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// No property.
    pub const NONE: Self = Self(0);
    /// Must be durable before it is acknowledged (force unit access).
    pub const FUA: Self = Self(1);
    /// Preceded by a flush of the device's volatile cache.
    pub const PREFLUSH: Self = Self(1 << 1);
    /// Synchronous: a process waits for it (`REQ_SYNC`).
    pub const SYNC: Self = Self(1 << 2);
    /// Read ahead of demand.
    pub const READAHEAD: Self = Self(1 << 3);
    /// Metadata of a file system.
    pub const META: Self = Self(1 << 4);
    /// Completed with an error.
    pub const ERROR: Self = Self(1 << 5);
    /// Began where the previous I/O of the same direction on the same device ended.
    pub const SEQUENTIAL: Self = Self(1 << 6);
    /// Part of an I/O on an upper disk, which is made of this device (LVM, md) and is also in the
    /// trace. Sums over devices leave such I/O out.
    pub const BELOW: Self = Self(1 << 7);

    /// Returns the bits as they are stored.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Makes flags of stored bits; all eight bits have a meaning.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns true if all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns these flags together with the flags of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns these flags without the flags of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// An observed I/O: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoRecord {
    /// Time at which the initiator issued the I/O, from the start of the trace.
    pub issue: Nanos,
    /// Waiting time before the device got the I/O; `None` if the source does not have it.
    pub queue: Option<Nanos>,
    /// Time from when the device got the I/O to its completion. If `queue` is `None`, the time from
    /// issue to completion. `None` if the source has no latencies.
    pub device_time: Option<Nanos>,
    /// Offset on the device, in bytes.
    pub offset: u64,
    /// Length of the I/O, in bytes.
    pub length: u32,
    /// Number of other I/Os of the same device that were issued but not completed when this I/O was
    /// issued. vscsiStats also counts the I/O itself, so its number is one more. Saturates at
    /// 65,535; `None` if completion times are unknown.
    pub outstanding: Option<u16>,
    /// Initiator of the I/O.
    pub vm: VmIndex,
    /// Device of the I/O.
    pub device: DeviceIndex,
    /// Operation of the I/O.
    pub operation: Operation,
    /// Further properties of the I/O.
    pub flags: Flags,
}

impl IoRecord {
    /// Makes a record without optional fields.
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

    /// Returns the time from issue to completion that the initiator observes: waiting and device
    /// time.
    pub fn latency(&self) -> Option<Nanos> {
        let device_time = self.device_time?;
        Some(Nanos(device_time.0.saturating_add(self.queue.map_or(0, |queue| queue.0))))
    }

    /// Returns the offset of the first byte after the I/O.
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
    fn latency_is_queue_and_device_time_or_unknown() {
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
