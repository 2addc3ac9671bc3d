use cache::{Outcome, Policy, PolicyKind};

use super::slot::PageKey;

/// Division of the pages under one policy.
#[derive(Debug, Clone)]
pub(super) struct PolicyPart {
    kind: PolicyKind,
    policy: Box<dyn Policy>,
    /// Slot of each resident page, by the policy's slot.
    places: Vec<u32>,
}

impl PolicyPart {
    pub(super) fn new(kind: PolicyKind, capacity: usize) -> Self {
        let policy = kind.build(capacity);
        Self { kind, places: vec![0; policy.slots()], policy }
    }

    /// Returns the policy, and the maximum number of pages.
    pub(super) fn shape(&self) -> (PolicyKind, usize) {
        (self.kind, self.capacity())
    }

    pub(super) fn capacity(&self) -> usize {
        self.policy.capacity()
    }

    pub(super) fn len(&self) -> usize {
        self.policy.len()
    }

    /// Returns the slot of a page, without counting a reference.
    pub(super) fn find(&self, key: PageKey) -> Option<u32> {
        self.policy.find(key.id()).map(|place| self.places[place.position()])
    }

    /// Counts a reference to a page. Returns its slot, or `None` if it is not resident.
    pub(super) fn touch(&mut self, key: PageKey) -> Option<u32> {
        self.policy.touch(key.id()).map(|place| self.places[place.position()])
    }

    /// Counts a reference to a page that is not resident, which admits it into this slot. Returns
    /// the evicted page and its slot, if any.
    pub(super) fn enter(&mut self, key: PageKey, slot: u32) -> Option<(u32, PageKey)> {
        let Outcome::Miss { slot: place, evicted } = self.policy.reference(key.id()) else {
            unreachable!("the page was not resident")
        };
        let of = |at: cache::Slot| self.places[at.position()];
        let lost = evicted.map(|evicted| (of(evicted.slot), PageKey::of(evicted.page)));
        self.places[place.position()] = slot;
        lost
    }

    /// Removes a page, if it is resident. Returns its slot.
    pub(super) fn remove(&mut self, key: PageKey) -> Option<u32> {
        self.policy.remove(key.id()).map(|place| self.places[place.position()])
    }
}
