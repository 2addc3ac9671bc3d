use super::copies::Copied;
use super::destage::Owed;
use super::share::Share;
use super::step::{HostId, Step, Wait};
use super::work::Tier;
use crate::page::Slot;

/// Dirty page that is lost, or has lost a copy, because hosts failed.
struct Hurt {
    owed: Owed,
    host: HostId,
    slot: Slot,
    copies: Option<u32>,
}

/// Failures of hosts. The promise of the copies: nothing is lost while one copy is left.
impl Tier {
    /// Makes these hosts fail at the same time, with all data in their shares. Dirty pages that
    /// have lost their owner or a copy are written to the store from the remaining copies, by the
    /// steps that are appended. Dirty pages without a remaining copy are lost, and counted. The
    /// caller must move the VMs of failed hosts. Until then these VMs read from other hosts' shares
    /// and write through.
    pub fn fail(&mut self, hosts: &[HostId], steps: &mut Vec<Step>) {
        let hurt = self.hurt_by(hosts);
        for host in hosts {
            if let Some(share) = self.shares.get_mut(usize::from(host.0)) {
                *share = Share::failed();
            }
        }
        for own in hurt {
            if self.is_up(own.host) {
                self.destage(own.host, own.slot, Wait::Background, steps);
            } else {
                self.rescue(&own, steps);
            }
        }
    }

    /// Restores a failed host with an empty share. Does nothing if the host is up.
    pub fn restore(&mut self, host: HostId) {
        let at = usize::from(host.0);
        if self.shares.get(at).is_some_and(|share| !share.is_up) {
            self.shares[at] = Share::new(&self.config, at);
        }
    }

    fn is_up(&self, host: HostId) -> bool {
        self.shares[usize::from(host.0)].is_up
    }

    /// Returns the dirty pages that these hosts own or have a copy of, sorted by page.
    fn hurt_by(&self, hosts: &[HostId]) -> Vec<Hurt> {
        let mut hurt = Vec::new();
        for host in self.hosts() {
            let Some(cache) = self.cache(host) else { continue };
            for slot in cache.dirty_slots() {
                let has_copy = |copied: &Copied| copied.places().any(|(at, _)| hosts.contains(&at));
                if hosts.contains(&host) || self.copied(host, slot).is_some_and(has_copy) {
                    let (owed, copies) = (self.owed(host, slot), cache.copies(slot));
                    hurt.push(Hurt { owed, host, slot, copies });
                }
            }
        }
        hurt.sort_unstable_by_key(|own| own.owed.page);
        hurt
    }

    /// Saves a dirty page whose own host has failed.
    fn rescue(&mut self, hurt: &Hurt, steps: &mut Vec<Step>) {
        let copied = hurt.copies.map(|number| *self.copies.get(number));
        let copies = copied.iter().flat_map(Copied::places);
        let left = copies.into_iter().find(|(host, _)| self.is_up(*host));
        // A page that another host has read in the meantime is as good.
        let left = left.or_else(|| {
            self.others(hurt.host).find_map(|host| {
                let slot = self.shares[usize::from(host.0)].find(hurt.owed.page)?;
                Some(self.place(host, slot))
            })
        });
        if let Some(number) = hurt.copies {
            self.give_up(number);
        }
        match left {
            Some(at) => self.move_to_store(hurt.owed, at, Wait::Background, steps),
            None => {
                let lost = u64::from(hurt.owed.to - hurt.owed.from);
                self.count(hurt.owed.vm).lost_bytes += lost;
            }
        }
    }
}
