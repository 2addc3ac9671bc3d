use super::config::ClusterConfig;
use crate::places::Places;
use crate::policy::{Evicted, Outcome, PageId, Policy, Slot};
use crate::slab::make_room;

/// One host's part of the cluster: a cache for its virtual machines, and room for copies of
/// other hosts' writes.
#[derive(Debug, Clone)]
pub(super) struct Share {
    /// Nothing if the host has no share, or has failed.
    cache: Option<Cache>,
    /// Places for copies, by number, behind those of the cache.
    log: Places,
}

#[derive(Debug, Clone)]
struct Cache {
    policy: Box<dyn Policy>,
    /// Place of each page's bytes, by slot.
    places: Vec<u32>,
    free: Places,
}

/// A page that came in, and the one that left for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct BroughtIn {
    pub place: u32,
    pub evicted: Option<(PageId, u32)>,
}

impl Share {
    pub(super) fn new(config: &ClusterConfig, host: usize) -> Self {
        let (pages, log) = config.pages(host);
        if pages == 0 {
            return Self::none();
        }
        let policy = config.policy.build(pages);
        let count = |pages: usize| u32::try_from(pages).expect("a share has 2^28 pages at most");
        let cache = Cache { places: Vec::new(), free: Places::new(0, count(pages)), policy };
        Self { cache: Some(cache), log: Places::new(count(pages), count(pages + log)) }
    }

    pub(super) const fn none() -> Self {
        Self { cache: None, log: Places::new(0, 0) }
    }

    pub(super) const fn is_usable(&self) -> bool {
        self.cache.is_some()
    }

    pub(super) fn pages(&self) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.policy.len())
    }

    /// Place of a resident page; does not count as a reference.
    pub(super) fn find(&self, page: PageId) -> Option<u32> {
        let cache = self.cache.as_ref()?;
        cache.policy.find(page).map(|slot| cache.places[slot.position()])
    }

    /// One reference to a page that is resident.
    pub(super) fn touch(&mut self, page: PageId) {
        if let Some(cache) = &mut self.cache {
            cache.policy.reference(page);
        }
    }

    /// Brings a page in that is not resident; nothing without a cache.
    pub(super) fn bring_in(&mut self, page: PageId) -> Option<BroughtIn> {
        let cache = self.cache.as_mut()?;
        let outcome = cache.policy.reference(page);
        let left = match outcome {
            Outcome::Miss { evicted, .. } => evicted,
            Outcome::Hit { .. } => None,
        };
        let evicted = left.map(|Evicted { page, slot }| (page, cache.leave(slot)));
        let place = cache.free.take().expect("a place is free when a page comes in");
        let slot = outcome.slot().position();
        if slot >= cache.places.len() {
            make_room(&mut cache.places, cache.policy.slots());
            cache.places.resize(slot + 1, 0);
        }
        cache.places[slot] = place;
        Some(BroughtIn { place, evicted })
    }

    /// Makes a page leave that has become invalid; nothing if it is not resident.
    pub(super) fn drop_page(&mut self, page: PageId) {
        if let Some(cache) = &mut self.cache
            && let Some(slot) = cache.policy.remove(page)
        {
            cache.leave(slot);
        }
    }

    /// Takes a place for a copy.
    pub(super) fn take_log(&mut self) -> Option<u32> {
        self.log.take()
    }

    pub(super) fn has_log(&self) -> bool {
        self.log.has_any()
    }

    pub(super) fn give_log(&mut self, place: u32) {
        self.log.give(place);
    }
}

impl Cache {
    fn leave(&mut self, slot: Slot) -> u32 {
        let place = self.places[slot.position()];
        self.free.give(place);
        place
    }
}
