//! Arithmetic of the versions that a sector may hold.

/// Range of accepted versions: the low halves of the last acknowledged and the last submitted
/// version.
///
/// Versions have 64 bits in sectors and 32 bits here, so comparisons wrap. A stale block goes
/// unnoticed if it is older by exactly a multiple of 2^32 writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// Low half of the last acknowledged version; zero if there is none.
    pub acknowledged: u32,
    /// Low half of the last submitted version; zero if there is none.
    pub issued: u32,
}

impl Window {
    /// Decodes a cell of the state file.
    pub fn unpack(cell: u64) -> Self {
        Self { acknowledged: low(cell >> 32), issued: low(cell) }
    }

    /// Encodes a cell of the state file.
    pub fn pack(self) -> u64 {
        u64::from(self.acknowledged) << 32 | u64::from(self.issued)
    }

    /// Returns true if a sector may hold this version.
    #[inline]
    pub fn admits(self, version: u64) -> bool {
        low(version).wrapping_sub(self.acknowledged) <= self.issued.wrapping_sub(self.acknowledged)
    }
}

/// Returns the low 32 bits of a version.
#[inline]
pub const fn low(version: u64) -> u32 {
    (version & 0xffff_ffff) as u32
}

/// Returns the largest version with these low bits that is at most `newest`.
pub const fn widen(bits: u32, newest: u64) -> u64 {
    newest.saturating_sub(low(newest).wrapping_sub(bits) as u64)
}
