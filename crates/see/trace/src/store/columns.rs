use std::ops::BitOr;

/// Columns of a record that a consumer needs; the others are returned as unknown.
///
/// The time of issue is always read. Fewer columns are fewer bytes to read and decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns(u16);

impl Columns {
    /// The time of issue alone.
    pub const ISSUE: Self = Self(0);
    /// Waiting before the device got it.
    pub const QUEUE: Self = Self(1);
    /// Time in the device.
    pub const DEVICE_TIME: Self = Self(1 << 1);
    /// Both parts of [`crate::IoRecord::latency`].
    pub const LATENCY: Self = Self(Self::QUEUE.0 | Self::DEVICE_TIME.0);
    /// Sender; 0 if left out.
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
    /// Flag of I/Os that continue the one before.
    pub const SEQUENTIAL: Self = Self(1 << 8);
    /// Every flag, [`Columns::SEQUENTIAL`] too.
    pub const FLAGS: Self = Self(Self::SEQUENTIAL.0 | 1 << 9);
    /// All of the columns.
    pub const ALL: Self = Self((1 << 10) - 1);

    /// True if all of `other` are wanted.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Columns with those of `other` added.
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
