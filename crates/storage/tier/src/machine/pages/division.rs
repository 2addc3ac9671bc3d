//! Divisions of the pages among policies.
//!
//! A disk with its own policy has a *division* of the pages: the number of pages of its share, used
//! or not. All other disks share the common division, which has the remaining pages. A policy of
//! `cache` has a fixed capacity and evicts a page only when it is full, so a division cannot lend
//! pages. The advantage: a disk has the hits that `cache` predicts for its policy and that number
//! of pages, independent of the other disks.
//!
//! When a division changes its size or its policy, the most recently used pages that fit stay.
//! Surplus pages are evicted first, some at a time. Until they are gone the divisions stay as they
//! were, resident pages are served, and no page is admitted. Then the divisions are rebuilt. A new
//! policy gets its pages in the order of their last uses, because the former policy's order of
//! eviction could be found out only by evicting.

use cache::PolicyKind;

use super::PageIndex;
use super::part::PolicyPart;
use super::slot::PageKey;

impl PageIndex {
    /// Sets another policy for the common division.
    pub(crate) fn set_policy(&mut self, kind: PolicyKind) {
        self.kind = kind;
        self.divide();
    }

    /// Gives a disk a division with this policy, or removes its division for `None`.
    pub(crate) fn set_own_policy(&mut self, disk: u16, kind: Option<PolicyKind>) {
        self.own(disk).policy = kind;
        self.divide();
    }

    /// Returns the share of all pages, in percent, that disks other than `but` have as divisions.
    pub(crate) fn parted_percent(&self, but: u16) -> u32 {
        let others =
            (0..).zip(&self.owned).filter(|(disk, own)| *disk != but && own.policy.is_some());
        others.map(|(_, own)| u32::from(own.share)).sum()
    }

    /// Returns true if surplus pages are being evicted for new divisions.
    pub(crate) fn is_dividing(&self) -> bool {
        !self.surplus.is_empty()
    }

    /// Returns the requested policy and number of pages of a disk's own division, if it is to have
    /// one.
    fn wished(&self, disk: usize) -> Option<(PolicyKind, usize)> {
        let own = self.owned.get(disk)?;
        Some((own.policy?, (self.capacity * usize::from(own.share) / 100).max(1)))
    }

    /// Returns the requested policy and number of pages of the common division.
    fn wished_of_common(&self) -> (PolicyKind, usize) {
        let parted = (0..self.owned.len()).filter_map(|disk| self.wished(disk));
        let parted: usize = parted.map(|(_, pages)| pages).sum();
        (self.kind, self.capacity.saturating_sub(parted).max(1))
    }

    /// Starts to change the divisions to their requested policies and sizes.
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

    /// Evicts up to `most` surplus pages, the least recently used first. After the last one,
    /// rebuilds the divisions. Returns the slots and pages to unmap.
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

    /// Rebuilds the changed divisions from the resident pages, which all fit.
    fn remake(&mut self) {
        let (kind, pages) = self.wished_of_common();
        self.common = PolicyPart::new(kind, pages);
        let mut is_new = Vec::new();
        for disk in 0..self.owned.len() {
            let (wished, own) = (self.wished(disk), &mut self.owned[disk]);
            is_new.push(wished.is_none() || own.shape() != wished);
            if is_new[disk] {
                own.part = wished.map(|(kind, pages)| PolicyPart::new(kind, pages));
            }
        }
        for slot in self.by_use() {
            let Some(key) = self.slots[slot as usize].key() else { continue };
            if is_new[usize::from(key.disk)] {
                let lost = self.part_mut(key.disk).enter(key, slot);
                assert!(lost.is_none(), "pages beyond the part's size were evicted before");
            }
        }
    }

    /// Returns the slots that hold pages, the least recently used first.
    fn by_use(&self) -> Vec<u32> {
        let resident = (0..).zip(&self.slots).filter(|(_, state)| state.key().is_some());
        let mut order: Vec<(u32, u32)> = resident.map(|(slot, state)| (state.used, slot)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, slot)| slot).collect()
    }
}
