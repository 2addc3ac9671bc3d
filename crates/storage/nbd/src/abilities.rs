use std::ops::BitOr;

/// Features and properties of an export: the transmission flags of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities(u16);

const HAS_FLAGS: u16 = 1;
const NO_FRAGMENT: u16 = 1 << 7;

impl Abilities {
    /// No feature: the export supports reads and writes only.
    pub const NONE: Self = Self(0);
    /// The export is read-only.
    pub const READ_ONLY: Self = Self(1 << 1);
    /// The server supports flushes.
    pub const FLUSH: Self = Self(1 << 2);
    /// The server supports writes with FUA: durable before the reply.
    pub const FUA: Self = Self(1 << 3);
    /// The disk is a rotating disk.
    pub const ROTATIONAL: Self = Self(1 << 4);
    /// The server supports trims.
    pub const TRIM: Self = Self(1 << 5);
    /// The server can zero ranges without a payload.
    pub const WRITE_ZEROES: Self = Self(1 << 6);
    /// A flush on one connection covers writes answered on every connection.
    pub const MULTI_CONN: Self = Self(1 << 8);
    /// The server supports requests to prefetch a range.
    pub const CACHE: Self = Self(1 << 10);
    /// The server can refuse to zero a range where zeroing would be slow.
    pub const FAST_ZERO: Self = Self(1 << 11);

    /// Returns true if all flags of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags as sent. With structured replies, the server also promises not to fragment
    /// reads on request.
    pub(crate) const fn to_wire(self, is_structured: bool) -> u16 {
        self.0 | HAS_FLAGS | if is_structured { NO_FRAGMENT } else { 0 }
    }

    /// Returns the known flags among a server's flags. Unknown flags are ignored, as the
    /// specification requires of clients.
    pub(crate) const fn from_wire(flags: u16) -> Self {
        Self(flags & 0b1101_0111_1110)
    }
}

impl BitOr for Abilities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
