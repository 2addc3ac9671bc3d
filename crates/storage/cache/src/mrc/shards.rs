use std::collections::BinaryHeap;

use super::curve::MissRatioCurve;
use super::histogram::DistanceHistogram;
use super::stack::ReuseStack;
use crate::page::PageId;

/// Number of hash values. Hashes are compared in 24 bits, as in the paper (section 3.1).
pub(super) const MODULUS: u32 = 1 << 24;

/// Share of the pages that is sampled: above 0, at most 1, in steps of 2^-24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRate {
    threshold: u32,
}

impl SampleRate {
    /// Rate that samples every page.
    pub const ALL: Self = Self { threshold: MODULUS };

    /// Returns the rate nearest to `share`; `None` outside 0 (excluded) to 1.
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^24")]
    #[expect(clippy::cast_sign_loss, reason = "positive")]
    pub fn new(share: f64) -> Option<Self> {
        let is_share = share > 0.0 && share <= 1.0;
        let threshold = (share * f64::from(MODULUS)).round().max(1.0) as u32;
        is_share.then_some(Self { threshold })
    }

    /// Returns the rate that samples the hashes below a threshold; `None` for 0.
    pub(super) fn of_threshold(threshold: u32) -> Option<Self> {
        (threshold > 0).then_some(Self { threshold: threshold.min(MODULUS) })
    }

    /// Returns the rate as a share, 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.threshold) / f64::from(MODULUS)
    }

    /// Returns true if the page is sampled. Either all references of a page are sampled or none.
    #[inline]
    pub fn takes(self, page: PageId) -> bool {
        sample_hash(page) < self.threshold
    }
}

/// Returns the hash that decides about sampling. It uses other bits than the page index, so that
/// samples spread over the index.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "24 bits are kept")]
pub(super) fn sample_hash(page: PageId) -> u32 {
    state_machine::mix(page.0) as u32 & (MODULUS - 1)
}

/// Approximate LRU miss-ratio curve from a sample of the pages: SHARDS (Waldspurger, Park,
/// Garthwaite and Ahmad, FAST 2015), at a fixed rate or with a fixed number of pages.
///
/// Distances are scaled up by the rate, and each sampled reference counts as `1 / rate` references.
/// This is the paper's rescaling of earlier counts when the rate falls. The sample stands for a
/// number of references that differs from the actual number. This difference is added at the
/// smallest distance (the paper's SHARDS-adj, section 3.3). Distances above 256 are kept to one
/// part in 256.
#[derive(Debug, Clone)]
pub struct Shards {
    rate: SampleRate,
    /// For a fixed size: the maximum number of sampled pages, and the sampled pages sorted by hash,
    /// largest first.
    limit: Option<(usize, BinaryHeap<(u32, PageId)>)>,
    stack: ReuseStack,
    hits: DistanceHistogram,
    /// Number of references that the sample stands for, first references included.
    sampled: f64,
    references: u64,
}

impl Shards {
    /// Samples a fixed share of the pages. Memory grows with the number of pages.
    pub fn fixed_rate(rate: SampleRate) -> Self {
        Self {
            rate,
            limit: None,
            stack: ReuseStack::new(),
            hits: DistanceHistogram::default(),
            sampled: 0.0,
            references: 0,
        }
    }

    /// Samples at most `pages` pages (at least 1) at a time. The rate begins at 1 and falls as more
    /// pages appear. The paper finds 8,192 pages enough for errors near 0.01.
    pub fn fixed_size(pages: usize) -> Self {
        let limit = Some((pages.max(1), BinaryHeap::with_capacity(pages + 2)));
        Self { limit, ..Self::fixed_rate(SampleRate::ALL) }
    }

    /// Returns the current sampling rate.
    pub fn rate(&self) -> SampleRate {
        self.rate
    }

    /// Counts a reference if the page is sampled.
    #[inline]
    pub fn reference(&mut self, page: PageId) {
        self.references += 1;
        let hash = sample_hash(page);
        if hash < self.rate.threshold {
            self.sample(page, hash);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "distances far below 2^53")]
    #[expect(clippy::cast_possible_truncation, reason = "scaled distances are far below 2^63")]
    #[expect(clippy::cast_sign_loss, reason = "positive")]
    fn sample(&mut self, page: PageId, hash: u32) {
        let weight = 1.0 / self.rate.share();
        self.sampled += weight;
        if let Some(distance) = self.stack.reference(page) {
            self.hits.add((distance as f64 * weight).round() as u64, weight);
        } else if let Some((most, by_hash)) = &mut self.limit {
            by_hash.push((hash, page));
            if by_hash.len() > *most {
                Self::shrink(&mut self.rate, by_hash, &mut self.stack);
            }
        }
    }

    /// Lowers the rate to just below the largest sampled hash, and drops the pages with that hash.
    fn shrink(
        rate: &mut SampleRate,
        by_hash: &mut BinaryHeap<(u32, PageId)>,
        stack: &mut ReuseStack,
    ) {
        let largest = by_hash.peek().map_or(0, |entry| entry.0);
        rate.threshold = largest.max(1);
        while let Some(entry) = by_hash.peek().copied().filter(|entry| entry.0 >= largest) {
            by_hash.pop();
            stack.forget(entry.1);
        }
    }

    /// Returns the curve of the references so far.
    #[expect(clippy::cast_precision_loss, reason = "ratios of counts far below 2^53")]
    pub fn curve(&self) -> MissRatioCurve {
        let references = self.references as f64;
        debug_assert!(self.hits.total() <= self.sampled * 1.000_001);
        let missing = (1, references - self.sampled);
        MissRatioCurve::from_hits(std::iter::once(missing).chain(self.hits.iter()), references)
    }
}
