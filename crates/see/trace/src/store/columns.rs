use std::ops::BitOr;

/// Columns of a record that a consumer needs; other columns are returned as unknown.
///
/// The time of issue is always read. With fewer columns, fewer bytes are read and decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns(u16);

impl Columns {
    /// Time of issue alone.
    pub const ISSUE: Self = Self(0);
    /// Waiting time before the device got the I/O.
    pub const QUEUE: Self = Self(1);
    /// Time of the I/O in the device.
    pub const DEVICE_TIME: Self = Self(1 << 1);
    /// Both parts of [`crate::IoRecord::latency`].
    pub const LATENCY: Self = Self(Self::QUEUE.0 | Self::DEVICE_TIME.0);
    /// Initiator; 0 if left out.
    pub const VM: Self = Self(1 << 2);
    /// Device; 0 if left out.
    pub const DEVICE: Self = Self(1 << 3);
    /// Operation; a read if left out.
    pub const OPERATION: Self = Self(1 << 4);
    /// Offset; 0 if left out.
    pub const OFFSET: Self = Self(1 << 5);
    /// Length; 0 if left out.
    pub const LENGTH: Self = Self(1 << 6);
    /// Number of outstanding I/Os.
    pub const OUTSTANDING: Self = Self(1 << 7);
    /// Flag of I/Os that continue the previous one.
    pub const SEQUENTIAL: Self = Self(1 << 8);
    /// Every flag, including [`Columns::SEQUENTIAL`].
    pub const FLAGS: Self = Self(Self::SEQUENTIAL.0 | 1 << 9);
    /// All of the columns.
    pub const ALL: Self = Self((1 << 10) - 1);

    /// Returns true if all columns of `other` are included.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns these columns together with the columns of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Columns {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}
