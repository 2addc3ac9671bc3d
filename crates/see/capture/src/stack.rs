//! Tells which I/O of a disk is part of an I/O of a disk above.
//!
//! Device mapper, md and bcache send each I/O on to the disks that they are made of, and all of
//! these have events of it. That a disk lies below another is not enough to tell such an I/O: a host
//! may have found a volume group inside of a VM's disk, and then the VM's own I/O does not pass that
//! group's disks. So an I/O is a part of one above if its sender has one under way there. Threads of
//! the kernel work for others (dm-crypt, md, thin pools), so for them any sender's will do.

use std::ops::Range;

use rustc_hash::FxHashMap;
use trace::VmIndex;

use crate::devices::Disk;
use crate::owner::Sender;

/// I/Os begun on a disk without the end of any, after which its ends are taken to have no events.
/// More than any disk has in flight. Without this limit, no I/O through such a disk would count: it
/// makes no record, and what it becomes on the disks below would be taken for its parts.
const UNENDED_MAX: u32 = 4096;

/// I/Os under way on disks that are made of others.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    parts: Vec<Part>,
    /// By the position of the disk.
    disks: Vec<Links>,
    /// Number of times that everything under way was forgotten.
    epoch: u32,
}

/// Part of a disk that other watched disks are made of.
#[derive(Debug)]
struct Part {
    sectors: Range<u64>,
    /// I/Os under way above, by sender.
    senders: FxHashMap<VmIndex, u32>,
    /// All of them.
    all: u32,
}

#[derive(Debug, Default)]
struct Links {
    /// Parts of this disk that others are made of.
    held: Vec<usize>,
    /// Parts of other disks that this one is made of.
    below: Vec<usize>,
    /// I/Os begun since the last end.
    unended: u32,
}

/// I/O under way on a disk that is made of others, for [`Stack::end`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnderWay {
    epoch: u32,
}

impl Stack {
    /// Links of these disks.
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

    /// True if an I/O that begins now is part of one above. `sector` is `None` for a flush, which
    /// names no sector.
    pub fn is_part(&self, disk: u16, sector: Option<u64>, sender: &Sender) -> bool {
        let Some(links) = self.disks.get(usize::from(disk)) else { return false };
        let mut held = links.held.iter().map(|own| &self.parts[*own]);
        held.any(|part| {
            sector.is_none_or(|sector| part.sectors.contains(&sector))
                && part.all > 0
                && (sender.is_kernel || part.senders.contains_key(&sender.vm))
        })
    }

    /// Begins an I/O; `None` if its disk is made of no others.
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

    /// Ends an I/O, or forgets one whose end was not seen.
    pub fn end(&mut self, disk: u16, sender: VmIndex, own: Option<UnderWay>) {
        // What was forgotten meanwhile is in no count any more.
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

    /// Notes that ends of a disk are seen.
    pub fn see_end(&mut self, disk: u16) {
        if let Some(links) = self.disks.get_mut(usize::from(disk)) {
            links.unended = 0;
        }
    }

    /// Forgets everything under way.
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
