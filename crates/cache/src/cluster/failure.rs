use super::dirty::Dirty;
use super::share::Share;
use super::step::{ClusterStep, HostId};
use super::work::{Cluster, Steps};
use crate::policy::PageId;
use crate::tier::Wait;

impl Cluster {
    /// These hosts fail at the same time, with all their shares hold. Dirty pages that have lost
    /// their owner or a copy reach the store from what is left, by the steps appended; those of
    /// which nothing is left are lost, and counted. Virtual machines on failed hosts are the
    /// caller's to move; until then they read what others hold and write through.
    pub fn fail(&mut self, hosts: &[HostId], steps: &mut Vec<ClusterStep>) {
        for host in hosts {
            if let Some(is_up) = self.is_up.get_mut(usize::from(host.0)) {
                *is_up = false;
                *self.share(*host) = Share::none();
            }
        }
        let is_hurt = |dirty: &Dirty| {
            !self.is_up(dirty.owner) || dirty.copies().any(|(host, _)| !self.is_up(host))
        };
        let hurt = self.dirty.all().filter(|(_, dirty)| is_hurt(dirty)).map(|(page, _)| page);
        let hurt: Vec<PageId> = hurt.collect();
        let mut steps = Steps::new(steps);
        hurt.into_iter().for_each(|page| self.rescue(page, &mut steps));
    }

    /// A failed host is back, with an empty share. Does nothing for one that is up.
    pub fn restore(&mut self, host: HostId) {
        let at = usize::from(host.0);
        if self.is_up.get(at) == Some(&false) {
            self.is_up[at] = true;
            self.shares[at] = Share::new(&self.config, at);
        }
    }

    fn is_up(&self, host: HostId) -> bool {
        self.is_up[usize::from(host.0)]
    }

    /// Saves a dirty page that has lost its owner or a copy.
    fn rescue(&mut self, page: PageId, steps: &mut Steps) {
        let Some(dirty) = self.dirty.get(page).copied() else { return };
        if self.is_up(dirty.owner) {
            return self.settle(page, Wait::Background, steps);
        }
        let copy = dirty.copies().find(|(host, _)| self.is_up(*host));
        // A page that another host has read in the meantime is as good.
        let copy = copy.or_else(|| {
            let mut others = self.others(dirty.owner);
            others.find_map(|host| self.find(host, page).map(|place| (host, place)))
        });
        self.discard(page);
        match copy {
            Some(copy) => self.move_to_store(page, &dirty, copy, Wait::Background, steps),
            None => self.count(dirty.vm).lost_bytes += u64::from(dirty.to - dirty.from),
        }
    }
}
