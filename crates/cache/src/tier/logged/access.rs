use machine::Operation;

use crate::page::{PageId, Slot};
use crate::tier::Tier;
use crate::tier::log::{BLOCK, Logged, blocks_of, log_bytes};
use crate::tier::step::{Access, Data, Entry, HostId, Place, Step, Wait};
use crate::tier::work::Piece;

/// The one host.
const HOST: HostId = HostId(0);

/// Where blocks of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Backing,
    /// On the fast device, at this place of the share.
    Share(u64),
}

impl Tier {
    /// Takes a read or a write.
    pub(in crate::tier) fn logged_access(
        &mut self,
        access: &Access,
        entry: Entry,
        steps: &mut Vec<Step>,
    ) {
        let is_write = access.operation == Operation::Write;
        let cut_off = self.config.sequential_bytes;
        let run = self.vm(access.vm).scan.observe(access.offset, access.length);
        let is_scan = cut_off.is_some_and(|most| run > most);
        let from = steps.len();
        let keeps = self.vm(access.vm).settings.write_mode.keeps_writes();
        let pages = self.reference(access, (entry, is_scan), steps);
        let hit = match (is_write, keeps) {
            (false, _) => self.logged_read(access, steps),
            (true, true) => {
                self.logged_write(access, steps);
                pages
            }
            (true, false) => {
                self.write_behind(access, steps);
                pages
            }
        };
        self.count_access(access, (hit, 0), &steps[from..]);
    }

    /// The log of a tier that has one.
    pub(in crate::tier) fn logged(&mut self) -> &mut Logged {
        self.logged.as_mut().expect("only a tier with a log is asked")
    }

    /// One reference for each page of a request, which may bring it in; bytes of those that were in.
    fn reference(
        &mut self,
        access: &Access,
        (entry, is_scan): (Entry, bool),
        steps: &mut Vec<Step>,
    ) -> u64 {
        let is_write = access.operation == Operation::Write;
        let page_bytes = self.page_bytes();
        let end = access.offset + u64::from(access.length);
        let (mut offset, mut hit) = (access.offset, 0);
        while offset < end {
            let page = PageId(offset / page_bytes);
            let until = ((page.0 + 1) * page_bytes).min(end);
            let length = u32::try_from(until - offset).expect("at most a page");
            let piece = Piece { vm: access.vm, host: HOST, page, offset, length, is_scan, entry };
            if self.shares[0].touch(page).is_some() {
                hit += u64::from(length);
            } else if self.admits(piece, is_write) {
                let slot = self.bring_in(piece, Wait::Background, steps);
                self.logged().set_valid(slot, 0);
            }
            offset = until;
        }
        hit
    }

    /// Reads what is asked for from where it is, and fills the blocks that were not there. Bytes
    /// that were.
    fn logged_read(&mut self, access: &Access, steps: &mut Vec<Step>) -> u64 {
        let mut missing = 0;
        let mut whole = Vec::new();
        let first = steps.len();
        for (block, from, to) in blocks_of(access.offset, access.length) {
            let base = self.base(block);
            for (from, to, layer) in self.logged().overlay.runs(block, from, to) {
                let source = match layer {
                    Some(layer) => Source::Share(self.logged().place(layer.at)),
                    None => base,
                };
                let (offset, length) =
                    (block * BLOCK + u64::from(from) * 512, u32::from(to - from) * 512);
                if source == Source::Backing {
                    missing += u64::from(length);
                    whole.extend((length == 4096).then_some(block));
                }
                join(steps, first, read(source, offset, length));
            }
        }
        self.fill_pages(access, &whole, Data::Moved, steps);
        u64::from(access.length).saturating_sub(missing)
    }

    /// Where a block is, if nothing of the log lies over it.
    fn base(&mut self, block: u64) -> Source {
        match self.slot_of(block) {
            Some((slot, bit)) if self.logged().valid(slot) & bit != 0 => {
                Source::Share(self.block_place(slot, block))
            }
            _ => Source::Backing,
        }
    }

    /// The slot of a block's page, if it is in, and the block's bit.
    pub(super) fn slot_of(&self, block: u64) -> Option<(Slot, u16)> {
        let per = self.page_bytes() / BLOCK;
        let slot = self.shares[0].find(PageId(block / per))?;
        Some((slot, 1 << (block % per)))
    }

    fn block_place(&self, slot: Slot, block: u64) -> u64 {
        let (_, place) = self.place(HOST, slot);
        let per = self.page_bytes() / BLOCK;
        u64::from(place) * self.page_bytes() + block % per * BLOCK
    }

    /// Writes whole blocks into their pages, as far as those are in; nobody waits for that.
    fn fill_pages(&mut self, access: &Access, blocks: &[u64], data: Data, steps: &mut Vec<Step>) {
        if !self.settings_of(access.vm).lets_in(access.operation == Operation::Write) {
            return;
        }
        let bytes = self.fill_steps(blocks, data, steps);
        for block in blocks {
            if let Some((slot, bit)) = self.slot_of(*block) {
                let valid = self.logged().valid(slot) | bit;
                self.logged().set_valid(slot, valid);
            }
        }
        let counters = self.count(access.vm);
        match data {
            Data::Moved => counters.filled_bytes += bytes,
            Data::Request => counters.placed_bytes += bytes,
        }
    }

    /// The writes of whole blocks into their pages, as far as those are in; how many bytes.
    pub(super) fn fill_steps(&self, blocks: &[u64], data: Data, steps: &mut Vec<Step>) -> u64 {
        let (first, mut bytes) = (steps.len(), 0);
        for block in blocks {
            let Some((slot, _)) = self.slot_of(*block) else { continue };
            let place = Place::Share(HOST);
            let (offset, address) = (self.block_place(slot, *block), block * BLOCK);
            let operation = Operation::Write;
            let wait = Wait::Background;
            let step =
                Step { place, by: HOST, operation, offset, address, length: 4096, data, wait };
            join(steps, first, step);
            bytes += BLOCK;
        }
        bytes
    }

    /// A write that is kept: to the log.
    fn logged_write(&mut self, access: &Access, steps: &mut Vec<Step>) {
        let Access { vm, offset, length, .. } = *access;
        // Below the pages, which know nothing of it: what comes out of the log fills them.
        self.make_room(log_bytes(offset, length), steps);
        self.order += 1;
        let order = self.order;
        let logged = self.logged();
        let (start, bytes) = logged.write(vm, offset, length, order);
        // Around the end of the log it is two writes.
        let before_end = bytes.min(logged.room - start);
        let parts = [(start, before_end), (0, bytes - before_end)];
        let base = logged.base;
        for (start, bytes) in parts.into_iter().filter(|(_, bytes)| *bytes > 0) {
            steps.push(Step {
                place: Place::Share(HOST),
                by: HOST,
                operation: Operation::Write,
                offset: base + start,
                address: offset,
                length: u32::try_from(bytes).expect("a write is of 32 bits"),
                data: Data::Request,
                wait: Wait::Request,
            });
        }
    }

    /// A write that the backing store answers; whole blocks go into their pages behind it.
    fn write_behind(&mut self, access: &Access, steps: &mut Vec<Step>) {
        let Access { vm, offset, length, .. } = *access;
        self.vm(vm).owes_flush = true;
        let (operation, wait) = (Operation::Write, Wait::Request);
        let (place, data) = (Place::Backing, Data::Request);
        steps.push(Step {
            place,
            by: HOST,
            operation,
            offset,
            address: offset,
            length,
            data,
            wait,
        });
        let mut whole = Vec::new();
        for (block, from, to) in blocks_of(offset, length) {
            whole.extend(((from, to) == (0, 8)).then_some(block));
            if let Some((slot, bit)) = self.slot_of(block) {
                let valid = self.logged().valid(slot) & !bit;
                self.logged().set_valid(slot, valid);
            }
        }
        self.fill_pages(access, &whole, Data::Request, steps);
    }
}

/// A read of blocks that a request waits for. The fast device is read in whole blocks, for their sums.
fn read(source: Source, address: u64, length: u32) -> Step {
    let (place, offset, length) = match source {
        Source::Backing => (Place::Backing, address, length),
        Source::Share(at) => (Place::Share(HOST), at, 4096),
    };
    let (operation, data, wait) = (Operation::Read, Data::Request, Wait::Request);
    Step { place, by: HOST, operation, offset, address, length, data, wait }
}

/// Adds a step to the last one since `first` if it goes on there.
fn join(steps: &mut Vec<Step>, first: usize, step: Step) {
    let last = steps.len().checked_sub(1).filter(|last| *last >= first);
    if let Some(last) = last.map(|last| &mut steps[last])
        && (last.place, last.operation) == (step.place, step.operation)
        && last.offset + u64::from(last.length) == step.offset
        && last.address + u64::from(last.length) == step.address
    {
        last.length += step.length;
        return;
    }
    steps.push(step);
}
