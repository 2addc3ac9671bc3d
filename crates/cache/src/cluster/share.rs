use super::config::ClusterConfig;
use crate::policy::{Evicted, Outcome, PageId, Policy, Slot};

/// One host's part of the cluster: a cache for its virtual machines, and room for copies of
/// other hosts' writes.
#[derive(Debug)]
pub(super) struct Share {
    /// Nothing if the host has no share, or has failed.
    cache: Option<Cache>,
    /// Places for copies that hold nothing, by number, behind those of the cache.
    log_free: Vec<u32>,
}

#[derive(Debug)]
struct Cache {
    policy: Box<dyn Policy>,
    /// Place of each page's bytes, by slot.
    places: Vec<u32>,
    free: Vec<u32>,
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
        let cache = Cache {
            places: vec![0; policy.slots()],
            free: (0..count(pages)).rev().collect(),
            policy,
        };
        let log_free = (count(pages)..count(pages + log)).rev().collect();
        Self { cache: Some(cache), log_free }
    }

    pub(super) const fn none() -> Self {
        Self { cache: None, log_free: Vec::new() }
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
        let place = cache.free.pop().expect("a place is free when a page comes in");
        cache.places[outcome.slot().position()] = place;
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
        self.log_free.pop()
    }

    pub(super) fn has_log(&self) -> bool {
        !self.log_free.is_empty()
    }

    pub(super) fn give_log(&mut self, place: u32) {
        self.log_free.push(place);
    }
}

impl Cache {
    fn leave(&mut self, slot: Slot) -> u32 {
        let place = self.places[slot.position()];
        self.free.push(place);
        place
    }
}
