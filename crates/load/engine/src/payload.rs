//! Content of a write, made from a [`Pattern`] with a few stores.
//!
//! Layout. Every 512 B sector of a write has the same three parts, so a compressor gets the
//! requested share from any block of whole sectors:
//!
//! ```text
//! byte 0        8                    cut                   512
//!      +--------+--------------------+---------------------+
//!      | stamp  | noise              | zeros               |    cut = 512 * (100 - c) / 100,
//!      +--------+--------------------+---------------------+          at least 8
//! ```
//!
//! The noise depends only on the position in the buffer. It stays in the buffer slot from write to
//! write ([`Resident`]). The stamp is `mix(mix(seed) ^ sector of the write)`, a bijection of the
//! seed. So two seeds never give the same sector at the same position, and equal seeds give equal
//! payloads in every slot.
//!
//! Cost ([`Freshness::Stamped`]): one 8-byte store per 512 B. CPU time on a 2-core cloud VM:
//! 25 ns for 4 KiB, 42 ns for 8 KiB, 14 us for 1 MiB (16 slots in turn). The first use of a slot,
//! a longer write, and a change of the compressible share fill the slot again, at the cost of
//! [`Freshness::Whole`]: 0.37 us for 4 KiB, 97 us for 1 MiB.
//!
//! Effect on an array. Deduplication in any unit of whole sectors finds exactly the repeated seeds,
//! at any alignment to the write's own start. Compression within one write gets the requested share
//! (98 % at most, because the stamps remain). A compressor whose window spans several writes (a
//! 128 KiB record made of 4 KiB writes) also finds the noise that two writes have in common, so it
//! saves more than requested. [`Freshness::Whole`] avoids that for about a hundred nanoseconds per
//! KiB. Verified writes carry an address and a version in every sector. Then nothing deduplicates,
//! and headers, which resemble each other, raise the compressible share by 4 to 7 points.

use state_machine::{Pattern, mix};

/// Unit of the layout, in bytes.
pub const SECTOR: usize = 512;

/// Bytes of each sector that depend on the seed with [`Freshness::Stamped`].
pub const STAMP: usize = 8;

/// Part of a buffer that is generated anew for each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    /// Eight new bytes per sector. The noise in the slot is reused.
    #[default]
    Stamped,
    /// New noise throughout, so that compressors find nothing across writes either.
    Whole,
}

/// Record of the content of a buffer slot; keep one for each slot.
///
/// A slot that is used for reads loses its noise. Either keep separate slots for writes (then
/// [`make`] is a few stores), or call [`Resident::forget`] after each read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resident {
    filled: usize,
    compressible_percent: u8,
}

impl Resident {
    /// Record of a slot with unknown content.
    pub const EMPTY: Self = Self { filled: 0, compressible_percent: 0 };

    /// Returns the record for only the first `bytes` bytes of the slot.
    #[must_use]
    pub fn within(self, bytes: usize) -> Self {
        Self { filled: self.filled.min(bytes), ..self }
    }

    /// Marks the content as unknown, because the slot was used for something else.
    pub fn forget(&mut self) {
        *self = Self::EMPTY;
    }
}

/// Fills `buffer` with the payload of `pattern`. The length must be a multiple of 512 B; shares
/// above 100 % count as 100 %.
#[inline]
pub fn make(buffer: &mut [u8], resident: &mut Resident, pattern: Pattern, freshness: Freshness) {
    debug_assert!(buffer.len().is_multiple_of(SECTOR), "a payload is whole sectors");
    match freshness {
        Freshness::Stamped => {
            if resident.filled < buffer.len()
                || resident.compressible_percent != pattern.compressible_percent
            {
                settle(buffer, resident, pattern.compressible_percent);
            }
            stamp(buffer, pattern.seed);
        }
        Freshness::Whole => {
            resident.forget();
            fill(buffer, mix(pattern.seed), pattern.compressible_percent);
        }
    }
}

/// Overwrites the first eight bytes of every sector.
#[inline]
fn stamp(buffer: &mut [u8], seed: u64) {
    let key = mix(seed);
    for (index, sector) in (0_u64..).zip(buffer.chunks_exact_mut(SECTOR)) {
        sector[..STAMP].copy_from_slice(&mix(key ^ index).to_le_bytes());
    }
}

/// Fills the slot with noise, unless it already holds noise for this compressible share and this
/// length.
#[cold]
fn settle(buffer: &mut [u8], resident: &mut Resident, compressible_percent: u8) {
    fill(buffer, NOISE, compressible_percent);
    *resident = Resident { filled: buffer.len(), compressible_percent };
}

/// Key of the noise that all slots share. Its value is arbitrary.
const NOISE: u64 = 0x7469_6c65_6d61_726b;

/// Fills a whole buffer with noise and zeros. With the same key, a short buffer equals the start of
/// a longer one.
fn fill(buffer: &mut [u8], key: u64, compressible_percent: u8) {
    let cut = noise_bytes(compressible_percent);
    let mut noise = Noise::new(key);
    for sector in buffer.chunks_exact_mut(SECTOR) {
        let (random, zeros) = sector.split_at_mut(cut);
        noise.fill(random);
        zeros.fill(0);
    }
}

/// Returns the end of the noise in a sector, in bytes: `cut` in the layout.
fn noise_bytes(compressible_percent: u8) -> usize {
    let kept = 100 - usize::from(compressible_percent.min(100));
    (SECTOR * kept / 100).max(STAMP)
}

/// Eight interleaved xorshift64 generators (Marsaglia 2003, triple 13, 7, 17). They use only shifts
/// and exclusive ors, which compilers vectorise. SplitMix64 in this place took three times as long.
/// The output only has to resist compressors, not to pass statistical tests.
struct Noise([u64; LANES]);

const LANES: usize = 8;

impl Noise {
    fn new(key: u64) -> Self {
        let mut lane_key = key;
        Self([0; LANES].map(|_: u64| {
            lane_key = mix(lane_key);
            // The generator needs a state other than zero.
            lane_key | 1
        }))
    }

    #[inline]
    fn step(&mut self) -> [u8; LANES * 8] {
        let mut out = [0; LANES * 8];
        for (lane, word) in self.0.iter_mut().zip(out.chunks_exact_mut(8)) {
            *lane ^= *lane << 13;
            *lane ^= *lane >> 7;
            *lane ^= *lane << 17;
            word.copy_from_slice(&lane.to_le_bytes());
        }
        out
    }

    #[inline]
    fn fill(&mut self, bytes: &mut [u8]) {
        let mut pieces = bytes.chunks_exact_mut(LANES * 8);
        for piece in &mut pieces {
            piece.copy_from_slice(&self.step());
        }
        let rest = pieces.into_remainder();
        if !rest.is_empty() {
            let random = self.step();
            rest.copy_from_slice(&random[..rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const ALL: [Freshness; 2] = [Freshness::Stamped, Freshness::Whole];

    fn payload(length: usize, seed: u64, percent: u8, freshness: Freshness) -> Vec<u8> {
        let mut buffer = vec![0xAA; length];
        let pattern = Pattern { seed, compressible_percent: percent, ..Pattern::default() };
        make(&mut buffer, &mut Resident::default(), pattern, freshness);
        buffer
    }

    fn compressed_share(data: &[u8]) -> f64 {
        let small = zstd::bulk::compress(data, 3).expect("compression into memory").len();
        100.0 - 100.0 * small as f64 / data.len() as f64
    }

    #[test]
    fn a_compressor_gets_the_asked_share_of_small_and_large_blocks() {
        for freshness in ALL {
            for percent in [0, 10, 25, 50, 66, 75, 90, 100] {
                for length in [4096, 8192, 65_536, 1 << 20] {
                    let got = compressed_share(&payload(length, 7, percent, freshness));
                    let asked = f64::from(percent);
                    assert!((got - asked).abs() < 4.0, "{length} B: {got:.1} % for {asked} %");
                }
            }
        }
    }

    #[test]
    fn a_compressor_across_writes_gains_only_when_stamped() {
        let record = |freshness| -> Vec<u8> {
            (0..32).flat_map(|seed| payload(4096, seed, 0, freshness)).collect()
        };
        assert!(compressed_share(&record(Freshness::Whole)) < 1.0);
        assert!(compressed_share(&record(Freshness::Stamped)) > 50.0);
    }

    #[test]
    fn every_sector_of_many_writes_is_different() {
        let mut seen = HashSet::new();
        for seed in 0..64 {
            for sector in payload(65_536, seed, 100, Freshness::Stamped).chunks(SECTOR) {
                assert!(seen.insert(sector.to_vec()), "seed {seed} repeats a sector");
            }
        }
    }

    proptest! {
        #[test]
        fn a_payload_depends_on_its_pattern_and_not_on_the_slots_past(
            past in proptest::collection::vec((1_usize..40, any::<u64>(), 0_u8..=100), 0..6),
            sectors in 1_usize..40, seed: u64, percent in 0_u8..=100,
        ) {
            let mut slot = vec![0x55; 40 * SECTOR];
            let mut resident = Resident::EMPTY;
            for (sectors, seed, compressible_percent) in past {
                let pattern = Pattern { seed, compressible_percent, ..Pattern::default() };
                make(&mut slot[..sectors * SECTOR], &mut resident, pattern, Freshness::Stamped);
            }
            let pattern = Pattern { seed, compressible_percent: percent, ..Pattern::default() };
            let length = sectors * SECTOR;
            make(&mut slot[..length], &mut resident, pattern, Freshness::Stamped);
            prop_assert_eq!(&slot[..length], &payload(length, seed, percent, Freshness::Stamped)[..]);
        }
    }
}
