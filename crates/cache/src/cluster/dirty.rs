use std::collections::BTreeMap;

use super::step::HostId;
use crate::policy::PageId;

/// A page of which the backing store has not the newest bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dirty {
    /// Whose share holds the newest page.
    pub(super) owner: HostId,
    /// Which virtual machine wrote it, by position.
    pub(super) vm: usize,
    /// Bytes of the page that the store lacks: `from..to`.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Copies of these bytes: host and place.
    pub(super) copies: [Option<(HostId, u32)>; 2],
    number: u64,
}

impl Dirty {
    pub(super) fn new(owner: HostId, vm: usize, (from, to): (u32, u32)) -> Self {
        Self { owner, vm, from, to, copies: [None; 2], number: 0 }
    }

    pub(super) fn copies(&self) -> impl Iterator<Item = (HostId, u32)> + use<> {
        self.copies.into_iter().flatten()
    }
}

/// All dirty pages, and of each host those that became dirty first.
#[derive(Debug, Clone, Default)]
pub(super) struct DirtyPages {
    pages: BTreeMap<PageId, Dirty>,
    order: BTreeMap<(HostId, u64), PageId>,
    next: u64,
    /// Pages by owner.
    counts: Vec<usize>,
}

impl DirtyPages {
    pub(super) fn get(&self, page: PageId) -> Option<&Dirty> {
        self.pages.get(&page)
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// How many pages are dirty in a host's share.
    pub(super) fn count_of(&self, host: HostId) -> usize {
        self.counts.get(usize::from(host.0)).copied().unwrap_or(0)
    }

    /// Pages whose newest bytes only this host's share has.
    pub(super) fn of_host(&self, host: HostId) -> impl Iterator<Item = PageId> {
        self.order.range((host, 0)..=(host, u64::MAX)).map(|(_, page)| *page)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (PageId, &Dirty)> {
        self.pages.iter().map(|(page, dirty)| (*page, dirty))
    }

    /// Adds a page that is clean.
    pub(super) fn insert(&mut self, page: PageId, dirty: Dirty) {
        let number = self.next;
        self.next += 1;
        let owner = usize::from(dirty.owner.0);
        if owner >= self.counts.len() {
            self.counts.resize(owner + 1, 0);
        }
        self.counts[owner] += 1;
        self.order.insert((dirty.owner, number), page);
        let before = self.pages.insert(page, Dirty { number, ..dirty });
        debug_assert!(before.is_none(), "page {} was dirty already", page.0);
    }

    /// More bytes of a dirty page are the store's to learn.
    pub(super) fn widen(&mut self, page: PageId, (from, to): (u32, u32)) {
        if let Some(dirty) = self.pages.get_mut(&page) {
            (dirty.from, dirty.to) = (dirty.from.min(from), dirty.to.max(to));
        }
    }

    pub(super) fn remove(&mut self, page: PageId) -> Option<Dirty> {
        let dirty = self.pages.remove(&page)?;
        self.order.remove(&(dirty.owner, dirty.number));
        self.counts[usize::from(dirty.owner.0)] -= 1;
        Some(dirty)
    }
}
