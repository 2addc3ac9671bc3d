use std::ops::BitOr;

/// What an export can do and what it is like: the transmission flags of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities(u16);

const HAS_FLAGS: u16 = 1;
const NO_FRAGMENT: u16 = 1 << 7;

impl Abilities {
    /// Reading and writing, and nothing beside.
    pub const NONE: Self = Self(0);
    /// Nothing may be written.
    pub const READ_ONLY: Self = Self(1 << 1);
    /// Completed writes can be made durable.
    pub const FLUSH: Self = Self(1 << 2);
    /// A write can be durable before it is answered.
    pub const FUA: Self = Self(1 << 3);
    /// It is a rotating disk.
    pub const ROTATIONAL: Self = Self(1 << 4);
    /// Ranges can be given up.
    pub const TRIM: Self = Self(1 << 5);
    /// Ranges can be zeroed without sending zeroes.
    pub const WRITE_ZEROES: Self = Self(1 << 6);
    /// A flush on one connection covers what was answered on the others.
    pub const MULTI_CONN: Self = Self(1 << 8);
    /// Ranges can be announced.
    pub const CACHE: Self = Self(1 << 10);
    /// Zeroing can be asked for on the condition that it is fast.
    pub const FAST_ZERO: Self = Self(1 << 11);

    /// Whether all of these are among them.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// As sent; a read need not be cut in pieces where replies can be.
    pub(crate) const fn to_wire(self, is_structured: bool) -> u16 {
        self.0 | HAS_FLAGS | if is_structured { NO_FRAGMENT } else { 0 }
    }

    /// Those of a server; unknown ones are ignored, as a client should.
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
