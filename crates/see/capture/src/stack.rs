//! Finds I/O that is a part of an I/O on an upper disk.
//!
//! Device mapper, md and bcache send each I/O on to the disks that they are made of, and all these
//! disks have events for it. It is not enough to know that one disk lies below another: a host may
//! have found a volume group inside a VM's disk, and then the VM's own I/O does not pass that
//! group's disks. So an I/O counts as a part if its initiator has an I/O in progress on the upper
//! disk. Kernel threads work for others (dm-crypt, md, thin pools), so for them an I/O of any
//! initiator is enough.

use std::ops::Range;

use rustc_hash::FxHashMap;
use trace::VmIndex;

use crate::devices::Disk;
use crate::owner::Sender;

/// Number of I/Os begun on a disk without any completion after which the disk's completions are
/// taken to have no events. It is more than any disk has in flight. Without this limit, no I/O
/// through such a disk would count: the I/O makes no record itself, and its I/Os on lower disks
/// would be taken for its parts.
const UNENDED_MAX: u32 = 4096;

/// I/Os in progress on disks that are made of others.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    parts: Vec<Part>,
    /// Links of each disk, by the disk's position.
    disks: Vec<Links>,
    /// Number of times that all I/Os in progress were forgotten.
    epoch: u32,
}

/// Part of a disk that other watched disks are made of.
#[derive(Debug)]
struct Part {
    sectors: Range<u64>,
    /// Number of I/Os in progress on upper disks, by initiator.
    senders: FxHashMap<VmIndex, u32>,
    /// Number of I/Os in progress on upper disks, of all initiators.
    all: u32,
}

#[derive(Debug, Default)]
struct Links {
    /// Indices of parts of this disk that others are made of.
    held: Vec<usize>,
    /// Indices of parts of other disks that this disk is made of.
    below: Vec<usize>,
    /// Number of I/Os begun since the last completion.
    unended: u32,
}

/// I/O in progress on a disk that is made of others; it is passed to [`Stack::end`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnderWay {
    epoch: u32,
}

impl Stack {
    /// Builds the links between these disks.
    pub fn new(disks: &[Disk]) -> Self {
        let mut links: Vec<Links> = disks.iter().map(|_| Links::default()).collect();
        let mut parts = Vec::new();
        for (place, disk) in disks.iter().enumerate() {
            for held in &disk.held {
                let is_above = |(_, own): &(usize, &Disk)| held.above.contains(&own.name);
                let above: Vec<usize> =
                    disks.iter().enumerate().filter(is_above).map(|(place, _)| place).collect();
                if above.is_empty() {
                    continue;
                }
                links[place].held.push(parts.len());
                above.iter().for_each(|own| links[*own].below.push(parts.len()));
                let sectors = held.sectors.clone();
                parts.push(Part { sectors, senders: FxHashMap::default(), all: 0 });
            }
        }
        Self { parts, disks: links, epoch: 0 }
    }

    /// Returns true if an I/O that begins now is a part of an I/O on an upper disk. `sector` is
    /// `None` for a flush, which has no sector.
    pub fn is_part(&self, disk: u16, sector: Option<u64>, sender: &Sender) -> bool {
        let Some(links) = self.disks.get(usize::from(disk)) else { return false };
        let mut held = links.held.iter().map(|own| &self.parts[*own]);
        held.any(|part| {
            sector.is_none_or(|sector| part.sectors.contains(&sector))
                && part.all > 0
                && (sender.is_kernel || part.senders.contains_key(&sender.vm))
        })
    }

    /// Begins an I/O; returns `None` if the I/O's disk is not made of others.
    pub fn begin(&mut self, disk: u16, sender: VmIndex) -> Option<UnderWay> {
        let links = self.disks.get_mut(usize::from(disk)).filter(|own| !own.below.is_empty())?;
        links.unended = links.unended.saturating_add(1);
        match links.unended {
            UNENDED_MAX => {
                self.clear();
                return None;
            }
            own if own > UNENDED_MAX => return None,
            _ => {}
        }
        for part in &links.below {
            let part = &mut self.parts[*part];
            part.all += 1;
            *part.senders.entry(sender).or_default() += 1;
        }
        Some(UnderWay { epoch: self.epoch })
    }

    /// Ends an I/O, or forgets an I/O whose completion was not seen.
    pub fn end(&mut self, disk: u16, sender: VmIndex, own: Option<UnderWay>) {
        // An I/O of an earlier epoch was already removed from all counts.
        if own.is_none_or(|own| own.epoch != self.epoch) {
            return;
        }
        let Some(links) = self.disks.get(usize::from(disk)) else { return };
        for part in &links.below {
            let part = &mut self.parts[*part];
            part.all = part.all.saturating_sub(1);
            if let Some(count) = part.senders.get_mut(&sender) {
                *count -= 1;
                if *count == 0 {
                    part.senders.remove(&sender);
                }
            }
        }
    }

    /// Records that the disk has completion events.
    pub fn see_end(&mut self, disk: u16) {
        if let Some(links) = self.disks.get_mut(usize::from(disk)) {
            links.unended = 0;
        }
    }

    /// Forgets all I/Os in progress.
    pub fn clear(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        for part in &mut self.parts {
            part.all = 0;
            part.senders.clear();
        }
    }
}

#[cfg(test)]
mod tests;
