use cache::{Outcome, Policy, PolicyKind};

use super::slot::PageKey;

/// Pages of which one policy decides which leaves.
#[derive(Debug, Clone)]
pub(super) struct Part {
    kind: PolicyKind,
    policy: Box<dyn Policy>,
    /// The slot of a resident page, by the policy's own.
    places: Vec<u32>,
}

impl Part {
    pub(super) fn new(kind: PolicyKind, capacity: usize) -> Self {
        let policy = kind.build(capacity);
        Self { kind, places: vec![0; policy.slots()], policy }
    }

    /// Its policy, and the most pages that it may have.
    pub(super) fn shape(&self) -> (PolicyKind, usize) {
        (self.kind, self.capacity())
    }

    pub(super) fn capacity(&self) -> usize {
        self.policy.capacity()
    }

    pub(super) fn len(&self) -> usize {
        self.policy.len()
    }

    /// Where a page is. No reference.
    pub(super) fn find(&self, key: PageKey) -> Option<u32> {
        self.policy.find(key.id()).map(|place| self.places[place.position()])
    }

    /// A reference to a page, and where it is; nothing if it is not in.
    pub(super) fn touch(&mut self, key: PageKey) -> Option<u32> {
        self.policy.touch(key.id()).map(|place| self.places[place.position()])
    }

    /// A reference to a page that is not in brings it into this slot. Says which page had to leave for it, and where
    /// that was.
    pub(super) fn enter(&mut self, key: PageKey, slot: u32) -> Option<(u32, PageKey)> {
        let Outcome::Miss { slot: place, evicted } = self.policy.reference(key.id()) else {
            unreachable!("it was not in")
        };
        let of = |at: cache::Slot| self.places[at.position()];
        let lost = evicted.map(|evicted| (of(evicted.slot), PageKey::of(evicted.page)));
        self.places[place.position()] = slot;
        lost
    }

    /// Takes a page out, if it is in, and says where it was.
    pub(super) fn remove(&mut self, key: PageKey) -> Option<u32> {
        self.policy.remove(key.id()).map(|place| self.places[place.position()])
    }
}
