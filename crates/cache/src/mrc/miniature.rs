use super::curve::{CurvePoint, MissRatioCurve};
use super::shards::SampleRate;
use crate::page::PageId;
use crate::policy::{Policy, PolicyKind};

/// Miss ratios of any policy at chosen sizes, from small caches that see a sample of the pages:
/// miniature simulation (Waldspurger, Saemundsson, Ahmad and Park, USENIX ATC 2017, section 3).
///
/// A cache of `n` pages is stood for by one of `n` times the rate, at least one page, so sizes
/// should be well above `1 / rate`. At [`SampleRate::ALL`] it is the full simulation.
#[derive(Debug)]
pub struct Miniature {
    rate: SampleRate,
    caches: Vec<Scaled>,
    references: u64,
}

#[derive(Debug)]
struct Scaled {
    pages: u64,
    policy: Box<dyn Policy>,
    misses: u64,
}

impl Miniature {
    /// Caches of these sizes in pages, each 1 or more.
    #[expect(clippy::cast_precision_loss, reason = "sizes far below 2^53")]
    #[expect(clippy::cast_possible_truncation, reason = "the policy checks its range")]
    #[expect(clippy::cast_sign_loss, reason = "positive")]
    pub fn new(kind: PolicyKind, sizes: &[u64], rate: SampleRate) -> Self {
        let scaled = |pages: &u64| {
            let size = (*pages as f64 * rate.share()).round().max(1.0) as usize;
            Scaled { pages: *pages, policy: kind.build(size), misses: 0 }
        };
        Self { rate, caches: sizes.iter().map(scaled).collect(), references: 0 }
    }

    /// One reference.
    #[inline]
    pub fn reference(&mut self, page: PageId) {
        if !self.rate.takes(page) {
            return;
        }
        self.references += 1;
        for cache in &mut self.caches {
            cache.misses += u64::from(!cache.policy.reference(page).is_hit());
        }
    }

    /// Miss ratio at each size asked for, in that order; 1 before the first sampled reference. A
    /// policy that is not a stack algorithm may miss more in a larger cache, and that shows here.
    #[expect(clippy::cast_precision_loss, reason = "ratios of counts far below 2^53")]
    pub fn points(&self) -> Vec<CurvePoint> {
        let ratio = |misses: u64| match self.references {
            0 => 1.0,
            references => misses as f64 / references as f64,
        };
        let point =
            |cache: &Scaled| CurvePoint { pages: cache.pages, miss_ratio: ratio(cache.misses) };
        self.caches.iter().map(point).collect()
    }

    /// The same as a curve that never rises, for [`MissRatioCurve::pages_for_hit_ratio`] and
    /// [`MissRatioCurve::knee`].
    pub fn curve(&self) -> MissRatioCurve {
        MissRatioCurve::new(self.points())
    }
}
