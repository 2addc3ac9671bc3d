//! Which policy decides on which pages.
//!
//! A disk with a policy of its own has a *part* of the pages to itself: as many as its share says, whether it fills them or
//! not. All others are in the common part, which is what is left. A policy of `cache` has a fixed capacity and gives a
//! page up only when it is full, so a part cannot lend pages; in return a disk hits what `cache` says of its policy and
//! that many pages, whatever the others do.
//!
//! When a part changes its size or its policy, the pages that fit and were used last stay. Those beyond leave first, some
//! at a time: until they have, the parts are as they were, what is in is served, and nothing comes in. Then parts are made
//! anew. A policy learns its pages in the order of their last uses: in which order the one before would have
//! given them up is known only by giving them up.

use cache::PolicyKind;

use super::PageIndex;
use super::part::Part;
use super::slot::PageKey;

impl PageIndex {
    /// Another policy decides on the common part.
    pub(crate) fn set_policy(&mut self, kind: PolicyKind) {
        self.kind = kind;
        self.divide();
    }

    /// A disk has a part of its own and this policy decides there, or it has none.
    pub(crate) fn set_own_policy(&mut self, disk: u16, kind: Option<PolicyKind>) {
        self.own(disk).policy = kind;
        self.divide();
    }

    /// Of all pages, percent that disks other than this one have to themselves.
    pub(crate) fn parted_percent(&self, but: u16) -> u32 {
        let others =
            (0..).zip(&self.owned).filter(|(disk, own)| *disk != but && own.policy.is_some());
        others.map(|(_, own)| u32::from(own.share)).sum()
    }

    /// Whether pages leave for parts that are to be made.
    pub(crate) fn is_dividing(&self) -> bool {
        !self.surplus.is_empty()
    }

    /// Policy and pages that a disk's own part is to have, if it is to have one.
    fn wished(&self, disk: usize) -> Option<(PolicyKind, usize)> {
        let own = self.owned.get(disk)?;
        Some((own.policy?, (self.capacity * usize::from(own.share) / 100).max(1)))
    }

    /// And the common one.
    fn wished_of_common(&self) -> (PolicyKind, usize) {
        let parted = (0..self.owned.len()).filter_map(|disk| self.wished(disk));
        let parted: usize = parted.map(|(_, pages)| pages).sum();
        (self.kind, self.capacity.saturating_sub(parted).max(1))
    }

    /// Sees to it that the parts become what they are to be.
    pub(super) fn divide(&mut self) {
        self.surplus.clear();
        let mut own = (0..).zip(&self.owned);
        let is_divided = own.all(|(disk, own)| own.shape() == self.wished(disk));
        if is_divided && self.common.shape() == self.wished_of_common() {
            return;
        }
        let (_, mut common) = self.wished_of_common();
        let pages = |disk| self.wished(disk).map(|(_, pages)| pages);
        let mut left: Vec<Option<usize>> = (0..self.owned.len()).map(pages).collect();
        for slot in self.by_use().into_iter().rev() {
            let Some(key) = self.slots[slot as usize].key() else { continue };
            match left[usize::from(key.disk)].as_mut().unwrap_or(&mut common) {
                0 => self.surplus.push(slot),
                left => *left -= 1,
            }
        }
        if self.surplus.is_empty() {
            self.remake();
        }
    }

    /// Up to so many of the pages leave that are beyond what parts are to have, those first that were not used for
    /// longest; after the last of them the parts are made. What is to be forgotten.
    pub(crate) fn give_up_surplus(&mut self, most: usize) -> Vec<(u32, PageKey)> {
        let mut lost = Vec::new();
        for slot in self.surplus.split_off(self.surplus.len().saturating_sub(most)) {
            let key = self.slots[slot as usize].key();
            if let Some(key) = key.filter(|key| self.part_mut(key.disk).remove(*key).is_some()) {
                lost.extend(self.leave(slot, key));
            }
        }
        if self.surplus.is_empty() {
            self.remake();
        }
        lost
    }

    /// Makes the parts that are not what they are to be, out of the pages that are in: all fit.
    fn remake(&mut self) {
        let (kind, pages) = self.wished_of_common();
        self.common = Part::new(kind, pages);
        let mut is_new = Vec::new();
        for disk in 0..self.owned.len() {
            let (wished, own) = (self.wished(disk), &mut self.owned[disk]);
            is_new.push(wished.is_none() || own.shape() != wished);
            if is_new[disk] {
                own.part = wished.map(|(kind, pages)| Part::new(kind, pages));
            }
        }
        for slot in self.by_use() {
            let Some(key) = self.slots[slot as usize].key() else { continue };
            if is_new[usize::from(key.disk)] {
                let lost = self.part_mut(key.disk).enter(key, slot);
                assert!(lost.is_none(), "what is beyond a part has left before it is made");
            }
        }
    }

    /// Slots that hold pages, that which was not used for longest first.
    fn by_use(&self) -> Vec<u32> {
        let resident = (0..).zip(&self.slots).filter(|(_, state)| state.key().is_some());
        let mut order: Vec<(u32, u32)> = resident.map(|(slot, state)| (state.used, slot)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, slot)| slot).collect()
    }
}
