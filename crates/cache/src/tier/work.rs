use machine::Operation;

use super::config::{Config, ConfigError, WriteMode};
use super::counters::Counters;
use super::promotion::Promotion;
use super::step::{Access, Entry, Place, Step, VmId, Wait};
use super::store::Store;
use super::vm::{Population, Vm, VmLimits};
use crate::policy::{Outcome, PageId, Policy, Slot};

/// Pages looked ahead for at once: more than a processor has loads under way, and few enough
/// that what was read for the first is still near when it is needed.
const AHEAD: usize = 64;

/// An acceleration tier: maps each access to the I/Os it causes on tier and backing store.
///
/// It is a calculation, not a [`machine::Machine`]: it has no timers of its own and one access has
/// one answer, so a driver or a device model calls it directly. State changes when the access is
/// made; the caller carries the steps out, those on overlapping bytes in the order given.
///
/// - A page is valid as a whole. A write to a missing page is placed in the tier at once only if
///   it covers the page; a page it covers in part is written to the backing store and, if
///   admitted, filled from there in the background, clean.
/// - A read that misses is answered by the backing store; the fill happens in the background.
/// - A dirty page that must leave is destaged first; a write waiting for its place waits for that.
///
/// State takes memory with the pages that are touched, not with the capacity: at most 119 bytes
/// for each page that was ever in at the same time, and 58 for each that admission counts
/// (with LRU, and as lists grow by halves; measured in `tests/memory.rs`).
#[derive(Debug, Clone)]
pub struct Tier {
    config: Config,
    policy: Box<dyn Policy>,
    store: Store,
    promotion: Promotion,
    vms: Vec<Vm>,
    is_cleaning: bool,
}

/// The part of an access that lies in one page.
#[derive(Clone, Copy)]
struct Piece {
    vm: VmId,
    page: PageId,
    /// First byte on the backing store.
    offset: u64,
    length: u32,
}

impl Tier {
    /// An empty tier.
    ///
    /// # Errors
    /// When a value of the configuration is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let pages = config.pages()?;
        let policy = config.policy.build(pages);
        Ok(Self {
            store: Store::new(policy.slots(), pages),
            promotion: Promotion::new(config.admission, pages),
            vms: Vec::new(),
            is_cleaning: false,
            policy,
            config,
        })
    }

    /// Changes what a VM may do from now on; pages that are in stay.
    pub fn limit(&mut self, vm: VmId, limits: VmLimits) {
        self.vm(vm).limits = limits;
    }

    /// Takes one access and appends what it causes to `steps`, which the caller empties and
    /// reuses.
    pub fn access(&mut self, access: &Access, steps: &mut Vec<Step>) {
        self.access_while(access, Entry::Filtered, steps);
    }

    /// Like [`Tier::access`], with a say in what comes in this time.
    pub fn access_while(&mut self, access: &Access, entry: Entry, steps: &mut Vec<Step>) {
        if access.operation == Operation::Flush {
            self.flush(access.vm, steps);
            return;
        }
        let is_write = access.operation == Operation::Write;
        let run = self.vm(access.vm).scan.observe(access.offset, access.length);
        let is_scan = self.config.sequential_bytes.is_some_and(|most| run > most);
        let from = steps.len();
        let page_bytes = u64::from(self.config.page_bytes);
        let end = access.offset.saturating_add(u64::from(access.length));
        let mut offset = access.offset;
        let mut hit_bytes = 0;
        let mut open = None;
        while offset < end {
            let page = offset / page_bytes;
            let until = ((page + 1) * page_bytes).min(end);
            let length = u32::try_from(until - offset).expect("at most a page");
            let piece = Piece { vm: access.vm, page: PageId(page), offset, length };
            if let Some(slot) = self.policy.touch(piece.page) {
                hit_bytes += u64::from(length);
                self.hit(slot, piece, is_write, steps);
            } else {
                self.miss(piece, is_write, (is_scan, entry), steps, &mut open);
            }
            offset = until;
        }
        let is_absorbed = !steps[from..]
            .iter()
            .any(|step| step.place == Place::Backing && step.wait == Wait::Request);
        self.count(access, hit_bytes, is_absorbed);
    }

    /// Reads from memory what accesses at these offsets will need, all at once: a few dozen
    /// accesses looked ahead for together are faster by more than that costs. Changes nothing.
    pub fn look_ahead(&self, offsets: &[u64]) {
        let page_bytes = u64::from(self.config.page_bytes);
        let mut pages = [PageId(0); AHEAD];
        let mut slots = Vec::with_capacity(AHEAD);
        for offsets in offsets.chunks(AHEAD) {
            let pages = &mut pages[..offsets.len()];
            pages.iter_mut().zip(offsets).for_each(|(page, at)| *page = PageId(at / page_bytes));
            slots.clear();
            self.policy.look_ahead(pages, &mut slots);
            self.store.look_ahead(&slots);
        }
    }

    /// Whether clean-up should run: from when more pages than the high mark are dirty until no
    /// more than the low mark are.
    pub fn wants_cleaning(&mut self) -> bool {
        let limit = if self.is_cleaning {
            self.config.dirty_low_percent
        } else {
            self.config.dirty_high_percent
        };
        self.is_cleaning = self.store.dirty() > self.pages_of(limit);
        self.is_cleaning
    }

    fn pages_of(&self, percent: u8) -> usize {
        self.policy.capacity() * usize::from(percent) / 100
    }

    /// Destages up to `pages` dirty pages, whichever became dirty first, and returns how many.
    /// They stay resident, clean. Watermarks are the caller's to ask ([`Tier::wants_cleaning`]),
    /// so that it may also clean when the backing store is idle, or everything at the end.
    ///
    /// A page rewritten while it waits keeps its place in the order.
    pub fn clean(&mut self, pages: usize, steps: &mut Vec<Step>) -> usize {
        for done in 0..pages {
            let Some(slot) = self.store.oldest_dirty() else { return done };
            self.destage(slot, Wait::Background, steps);
        }
        pages
    }

    /// Begins measured time: counters are zero, and what is dirty beyond the low mark is clean,
    /// that which became dirty first, as clean-up would have it. What is resident, its order
    /// and what admission and scan detection remember stay.
    ///
    /// The rest stays dirty, because that is what a tier under load is like: pages that leave
    /// have to be written back, which disks behind it must find time for.
    pub fn settle(&mut self) {
        let low = self.pages_of(self.config.dirty_low_percent);
        while self.store.dirty() > low {
            let Some(slot) = self.store.oldest_dirty() else { break };
            self.store.clean(slot);
        }
        self.is_cleaning = false;
        self.vms.iter_mut().for_each(|vm| vm.counters = Counters::default());
    }

    /// What it was made of.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes that only the tier has: the destage backlog, in whole pages.
    pub fn dirty_bytes(&self) -> u64 {
        self.store.dirty() as u64 * u64::from(self.config.page_bytes)
    }

    /// Bytes of resident pages.
    pub fn resident_bytes(&self) -> u64 {
        self.policy.len() as u64 * u64::from(self.config.page_bytes)
    }

    /// Bytes of the tier that one VM's pages take.
    pub fn footprint_bytes(&self, vm: VmId) -> u64 {
        let pages = self.vms.get(usize::from(vm.0)).map_or(0, |vm| vm.pages.len());
        pages as u64 * u64::from(self.config.page_bytes)
    }

    /// What the tier did for one VM. Evictions and destages count for the page's owner.
    pub fn counters_of(&self, vm: VmId) -> Counters {
        self.vms.get(usize::from(vm.0)).map_or_else(Counters::default, |vm| vm.counters)
    }

    /// What the tier did for all VMs.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.vms.iter().for_each(|vm| sum.add(&vm.counters));
        sum
    }

    fn vm(&mut self, vm: VmId) -> &mut Vm {
        let at = usize::from(vm.0);
        if self.vms.len() <= at {
            self.vms.resize_with(at + 1, Vm::default);
        }
        &mut self.vms[at]
    }

    fn keeps_writes(&self) -> bool {
        matches!(self.config.write_mode, WriteMode::Back | WriteMode::Only)
    }

    /// The tier is durable: where it keeps writes, what it has answered is safe in it. What the
    /// backing store has answered since the last flush is not: partial pages, and what was not
    /// admitted.
    fn flush(&mut self, vm: VmId, steps: &mut Vec<Step>) {
        let is_owed = std::mem::take(&mut self.vm(vm).owes_flush);
        let keeps_writes = self.keeps_writes();
        let flush = |place| Step {
            place,
            operation: Operation::Flush,
            offset: 0,
            address: 0,
            length: 0,
            wait: Wait::Request,
        };
        steps.extend(keeps_writes.then(|| flush(Place::Tier)));
        steps.extend((!keeps_writes || is_owed).then(|| flush(Place::Backing)));
    }

    fn count(&mut self, access: &Access, hit_bytes: u64, is_absorbed: bool) {
        let bytes = u64::from(access.length);
        let is_hit = u64::from(hit_bytes == bytes);
        let counters = &mut self.vm(access.vm).counters;
        if access.operation == Operation::Write {
            counters.writes += 1;
            counters.write_hits += is_hit;
            counters.write_bytes += bytes;
            counters.write_hit_bytes += hit_bytes;
            counters.writes_absorbed += u64::from(is_absorbed);
        } else {
            counters.reads += 1;
            counters.read_hits += is_hit;
            counters.read_bytes += bytes;
            counters.read_hit_bytes += hit_bytes;
        }
    }

    fn hit(&mut self, slot: Slot, piece: Piece, is_write: bool, steps: &mut Vec<Step>) {
        if !is_write {
            steps.push(self.on_tier(slot, piece, Operation::Read, Wait::Request));
            return;
        }
        self.write_tier(slot, piece, Wait::Request, steps);
        if self.keeps_writes() {
            self.store.soil(slot);
        } else {
            steps.push(on_backing(piece, Operation::Write, Wait::Request));
        }
    }

    fn miss(
        &mut self,
        piece: Piece,
        is_write: bool,
        (is_scan, entry): (bool, Entry),
        steps: &mut Vec<Step>,
        open: &mut Option<usize>,
    ) {
        let is_admitted = self.is_admitted(piece, is_write, (is_scan, entry));
        let is_whole = piece.length == self.config.page_bytes;
        if is_admitted && is_write && is_whole && self.keeps_writes() {
            let slot = self.bring_in(piece, Wait::Request, steps);
            self.write_tier(slot, piece, Wait::Request, steps);
            self.store.soil(slot);
            self.vm(piece.vm).counters.placed_bytes += u64::from(piece.length);
            return;
        }
        let operation = if is_write { Operation::Write } else { Operation::Read };
        join(on_backing(piece, operation, Wait::Request), steps, open);
        self.vm(piece.vm).owes_flush |= is_write;
        if is_admitted {
            self.fill(piece, is_write, steps);
        }
    }

    /// Brings a page in behind a request that the backing store answers.
    fn fill(&mut self, piece: Piece, is_write: bool, steps: &mut Vec<Step>) {
        let page_bytes = self.config.page_bytes;
        let offset = piece.page.0 * u64::from(page_bytes);
        let whole = Piece { offset, length: page_bytes, ..piece };
        let slot = self.bring_in(piece, Wait::Background, steps);
        if piece.length != page_bytes {
            steps.push(on_backing(whole, Operation::Read, Wait::Background));
        }
        self.write_tier(slot, whole, Wait::Background, steps);
        let is_placed = is_write && piece.length == page_bytes;
        let counters = &mut self.vm(piece.vm).counters;
        let sum = if is_placed { &mut counters.placed_bytes } else { &mut counters.filled_bytes };
        *sum += u64::from(page_bytes);
    }

    fn is_admitted(
        &mut self,
        piece: Piece,
        is_write: bool,
        (is_scan, entry): (bool, Entry),
    ) -> bool {
        let bytes = u64::from(piece.length);
        let mode = self.config.write_mode;
        let resident = self.policy.len();
        let share = self.share_pages(piece.vm);
        let vm = self.vm(piece.vm);
        if is_scan {
            vm.counters.sequential_bytes += bytes;
            return false;
        }
        let is_open = match vm.limits.population {
            Population::Both => true,
            Population::WritesOnly => is_write,
            Population::ReadsOnly => !is_write,
            Population::Suspended => false,
        };
        let is_wanted = match mode {
            WriteMode::Through | WriteMode::Back => true,
            WriteMode::Around => !is_write,
            WriteMode::Only => is_write,
        };
        let is_open = is_open && is_wanted && share > 0;
        let is_in = match entry {
            Entry::Filtered => is_open && self.promotion.admits(piece.page.0, resident),
            Entry::Unfiltered => is_open,
            Entry::Closed => false,
        };
        if is_in {
            return true;
        }
        self.vm(piece.vm).counters.refused_bytes += bytes;
        false
    }

    fn share_pages(&mut self, vm: VmId) -> usize {
        let percent = usize::from(self.vm(vm).limits.share_max_percent.min(100));
        (self.policy.capacity() * percent).div_ceil(100)
    }

    fn bring_in(&mut self, piece: Piece, wait: Wait, steps: &mut Vec<Step>) -> Slot {
        let share = self.share_pages(piece.vm);
        let vm = &self.vms[usize::from(piece.vm.0)];
        // A VM that may have everything competes under the policy alone.
        if share < self.policy.capacity()
            && vm.pages.len() >= share
            && let Some(oldest) = self.store.oldest_of(vm)
            && let Some(slot) = self.policy.remove(oldest)
        {
            self.evict(slot, wait, steps);
        }
        let outcome = self.policy.reference(piece.page);
        if let Outcome::Miss { evicted: Some(evicted), .. } = outcome {
            self.evict(evicted.slot, wait, steps);
        }
        let vm = &mut self.vms[usize::from(piece.vm.0)];
        self.store.enter(outcome.slot(), piece.page, piece.vm.0, vm);
        outcome.slot()
    }

    /// The policy has let go of a page; its bytes must be safe before its place is used again.
    fn evict(&mut self, slot: Slot, wait: Wait, steps: &mut Vec<Step>) {
        let bytes = u64::from(self.config.page_bytes);
        let is_dirty = self.store.is_dirty(slot);
        if is_dirty {
            self.destage(slot, wait, steps);
        }
        let owner = self.store.owner(slot);
        let vm = &mut self.vms[owner];
        vm.counters.evicted_bytes += bytes;
        vm.counters.evicted_dirty_bytes += if is_dirty { bytes } else { 0 };
        self.store.leave(slot, vm);
    }

    fn destage(&mut self, slot: Slot, wait: Wait, steps: &mut Vec<Step>) {
        let page_bytes = self.config.page_bytes;
        let owner = self.store.owner(slot);
        let page = self.store.page(slot);
        let offset = page.0 * u64::from(page_bytes);
        let vm = VmId(u16::try_from(owner).expect("it was a VM's id"));
        let piece = Piece { vm, page, offset, length: page_bytes };
        steps.push(self.on_tier(slot, piece, Operation::Read, wait));
        steps.push(on_backing(piece, Operation::Write, wait));
        self.store.clean(slot);
        self.vms[owner].counters.destaged_bytes += u64::from(page_bytes);
    }

    fn write_tier(&mut self, slot: Slot, piece: Piece, wait: Wait, steps: &mut Vec<Step>) {
        steps.push(self.on_tier(slot, piece, Operation::Write, wait));
        self.vm(piece.vm).counters.tier_written_bytes += u64::from(piece.length);
    }

    fn on_tier(&self, slot: Slot, piece: Piece, operation: Operation, wait: Wait) -> Step {
        let page_bytes = u64::from(self.config.page_bytes);
        let offset = self.store.place(slot) * page_bytes + piece.offset % page_bytes;
        Step {
            place: Place::Tier,
            operation,
            offset,
            address: piece.offset,
            length: piece.length,
            wait,
        }
    }
}

fn on_backing(piece: Piece, operation: Operation, wait: Wait) -> Step {
    Step {
        place: Place::Backing,
        operation,
        offset: piece.offset,
        address: piece.offset,
        length: piece.length,
        wait,
    }
}

/// Adds a piece that the backing store answers to the access's last such piece, at `open`, if
/// they adjoin, so that a request over several missing pages stays one request. Never across a
/// destage: that may be of the very page, and must reach the backing store first.
fn join(step: Step, steps: &mut Vec<Step>, open: &mut Option<usize>) {
    let is_write = |step: &Step| (step.place, step.operation) == (Place::Backing, Operation::Write);
    if let Some(at) = *open
        && steps[at].offset + u64::from(steps[at].length) == step.offset
        && !steps[at + 1..].iter().any(is_write)
    {
        steps[at].length += step.length;
        return;
    }
    *open = Some(steps.len());
    steps.push(step);
}
