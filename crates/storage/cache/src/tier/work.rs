use state_machine::Operation;

use super::config::{Config, ConfigError};
use super::copies::Copies;
use super::counters::Counters;
use super::share::{Cache, Share};
use super::step::{Access, Data, Entry, HostId, Step, StepDevice, Steps, VmId, Wait};
use super::vm::{Vm, VmSettings};
use crate::page::{PageId, Slot};

/// Pages looked ahead for at once: more than a processor has loads under way, and few enough
/// that what was read for the first is still near when it is needed.
const AHEAD: usize = 64;

/// An acceleration tier: maps each access to the I/Os it causes on tier and backing store.
///
/// It is a calculation, not a [`state_machine::Machine`]: it has no timers of its own and one access has
/// one answer, so a driver or a device model calls it directly. State changes when the access is
/// made; the caller carries the steps out, those on overlapping bytes in the order given.
///
/// - A page is valid as a whole. A write to a missing page is placed in the tier at once only if
///   it covers the page; a page it covers in part is written to the backing store and, if
///   admitted, filled from there in the background, clean.
/// - A read that misses is answered by the backing store; the fill happens in the background.
/// - A dirty page that must leave is destaged first; a write waiting for its place waits for that.
///   It is destaged whole, unless peers have copies: then the one span of bytes that they have.
///
/// Over several hosts beside that:
///
/// - A read looks in the share of the virtual machine's host, then in other hosts' shares, then
///   in the store. What came from elsewhere is filled into the own share: a machine that has
///   moved builds its footprint anew and reads the old one from where it was.
/// - A write that is kept goes to the own share and to as many peers' logs as asked for; when too
///   few peers are there or have room, or the host has no share, it goes through. A write makes
///   all other hosts' copies of its pages invalid.
/// - When hosts fail, what their dirty pages have as copies elsewhere reaches the store from
///   there at once, and so does what has lost a copy: an answered write is lost only when a host
///   and all peers with its copies fail together.
///
/// After the descriptions of FVP at frankdenneman.nl (remote reads after a migration, copies on
/// neighbours, the automatic change to write-through). Ours: the page-wise validity, the log of
/// fixed size, peers in turn after the own host, destaging at once instead of copying again.
///
/// State takes memory with the pages that are touched, not with the capacity: at most 119 bytes
/// for each page that was ever in at the same time, and 58 for each that admission counts
/// (with LRU, and as lists grow by halves; measured in `tests/memory.rs`).
#[derive(Debug, Clone)]
pub struct Tier {
    pub(super) config: Config,
    pub(super) shares: Vec<Share>,
    pub(super) copies: Copies,
    pub(super) vms: Vec<Vm>,
}

/// The part of an access that lies in one page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) vm: VmId,
    /// Host of the VM.
    pub(super) host: HostId,
    pub(super) page: PageId,
    /// First byte on the backing store.
    pub(super) offset: u64,
    pub(super) length: u32,
    /// True if the piece belongs to a sequential run that is longer than the cut-off.
    pub(super) is_scan: bool,
    pub(super) entry: Entry,
}

impl Tier {
    /// An empty tier, all hosts up.
    ///
    /// # Errors
    /// When a value of the configuration is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let hosts = 0..config.shares_bytes.len();
        let shares = hosts.map(|host| Share::new(&config, host)).collect();
        Ok(Self { shares, copies: Copies::new(), vms: Vec::new(), config })
    }

    /// Places a virtual machine, or moves it, or changes what happens to its accesses from now
    /// on. Pages that are in stay, and what is dirty stays where it is until it is destaged.
    ///
    /// # Errors
    /// When there is no such host, or more than two copies are asked for.
    pub fn set(&mut self, vm: VmId, settings: VmSettings) -> Result<(), ConfigError> {
        self.config.check_vm(&settings)?;
        self.vm(vm).settings = settings;
        Ok(())
    }

    /// Settings of a VM.
    pub fn settings_of(&self, vm: VmId) -> VmSettings {
        self.vms.get(usize::from(vm.0)).map_or(self.config.vms, |vm| vm.settings)
    }

    /// Takes one access and appends what it causes to `steps`, which the caller empties and
    /// reuses.
    pub fn access(&mut self, access: &Access, steps: &mut Vec<Step>) {
        self.access_while(access, Entry::Filtered, steps);
    }

    /// Like [`Tier::access`], with a say in what comes in this time.
    pub fn access_while(&mut self, access: &Access, entry: Entry, steps: &mut Vec<Step>) {
        if access.operation == Operation::Flush {
            return self.flush(access.vm, steps);
        }
        let is_write = access.operation == Operation::Write;
        let cut_off = self.config.sequential_bytes;
        let vm = self.vm(access.vm);
        let host = vm.settings.host;
        let run = vm.scan.observe(access.offset, access.length);
        let is_scan = cut_off.is_some_and(|most| run > most);
        let from = steps.len();
        let mut steps = Steps::new(steps);
        let page_bytes = self.page_bytes();
        let end = access.offset.saturating_add(u64::from(access.length));
        let mut offset = access.offset;
        let (mut hit_bytes, mut remote_bytes, mut has_fallen_back) = (0, 0, false);
        while offset < end {
            let page = PageId(offset / page_bytes);
            let until = ((page.0 + 1) * page_bytes).min(end);
            let length = u32::try_from(until - offset).expect("at most a page");
            let piece = Piece { vm: access.vm, host, page, offset, length, is_scan, entry };
            let hit = self.shares[usize::from(host.0)].touch(page);
            if hit.is_some() {
                hit_bytes += u64::from(length);
            }
            if is_write {
                has_fallen_back |= self.write(piece, hit, &mut steps);
            } else if self.read(piece, hit, &mut steps) {
                remote_bytes += u64::from(length);
            }
            offset = until;
        }
        if has_fallen_back {
            self.count(access.vm).writes_fallen_back += 1;
        }
        self.count_access(access, (hit_bytes, remote_bytes), &steps.list[from..]);
    }

    pub(super) fn count_access(
        &mut self,
        access: &Access,
        (hit, remote): (u64, u64),
        steps: &[Step],
    ) {
        let bytes = u64::from(access.length);
        let (mut is_absorbed, mut written) = (true, 0);
        for step in steps {
            match step.place {
                StepDevice::Backing => is_absorbed &= step.wait == Wait::Background,
                StepDevice::Share(_) if step.operation == Operation::Write => {
                    written += u64::from(step.length);
                }
                StepDevice::Share(_) => {}
            }
        }
        let counters = self.count(access.vm);
        counters.tier_written_bytes += written;
        if access.operation == Operation::Write {
            counters.writes += 1;
            counters.write_hits += u64::from(hit == bytes);
            counters.write_bytes += bytes;
            counters.write_hit_bytes += hit;
            counters.writes_absorbed += u64::from(is_absorbed);
        } else {
            let is_hit = hit + remote == bytes;
            counters.reads += 1;
            counters.read_hits += u64::from(is_hit);
            counters.remote_hits += u64::from(is_hit && remote > 0);
            counters.read_bytes += bytes;
            counters.read_hit_bytes += hit + remote;
            counters.remote_hit_bytes += remote;
        }
    }

    /// Makes durable what was answered. The fast device is durable: where it takes writes, what
    /// it has answered is safe in it. What the backing store has answered since the last flush
    /// is not: partial pages, what was not admitted, and what had too few peers.
    fn flush(&mut self, vm: VmId, steps: &mut Vec<Step>) {
        let own = self.vm(vm);
        let is_owed = std::mem::take(&mut own.owes_flush);
        let VmSettings { host: by, write_mode, .. } = own.settings;
        let is_kept = write_mode.keeps_writes() && self.shares[usize::from(by.0)].cache.is_some();
        let (operation, data, wait) = (Operation::Flush, Data::Request, Wait::Request);
        let flush =
            |place| Step { place, by, operation, offset: 0, address: 0, length: 0, data, wait };
        steps.extend(is_kept.then(|| flush(StepDevice::Share(by))));
        steps.extend((!is_kept || is_owed).then(|| flush(StepDevice::Backing)));
    }

    /// Reads from memory what accesses at these offsets will need, all at once: a few dozen
    /// accesses looked ahead for together are faster by more than that costs. Changes nothing.
    /// Over several hosts nothing is read: the offset alone does not say in which share.
    pub fn look_ahead(&self, offsets: &[u64]) {
        let [Share { cache: Some(cache), .. }] = &self.shares[..] else { return };
        let page_bytes = self.page_bytes();
        let mut pages = [PageId(0); AHEAD];
        let mut slots = Vec::with_capacity(AHEAD);
        for offsets in offsets.chunks(AHEAD) {
            let pages = &mut pages[..offsets.len()];
            pages.iter_mut().zip(offsets).for_each(|(page, at)| *page = PageId(at / page_bytes));
            slots.clear();
            cache.look_ahead(pages, &mut slots);
        }
    }

    /// Begins measured time: counters are zero, and what is dirty beyond the low mark is clean,
    /// that which became dirty first, as clean-up would have it. What is resident, its order
    /// and what admission and scan detection remember stay.
    ///
    /// The rest stays dirty, because that is what a tier under load is like: pages that leave
    /// have to be written back, which disks behind it must find time for.
    pub fn settle(&mut self) {
        let low = self.config.dirty_low_percent;
        for host in self.hosts() {
            while let Some(cache) = self.cache_mut(host) {
                cache.is_cleaning = false;
                match cache.oldest_dirty() {
                    Some(slot) if cache.dirty() > cache.pages_of(low) => self.discard(host, slot),
                    _ => break,
                }
            }
        }
        self.vms.iter_mut().for_each(|vm| vm.counters = Counters::default());
    }

    /// Configuration of the tier.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Hosts, with a share or without, up or not.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        let hosts = u16::try_from(self.shares.len()).expect("1024 hosts at most");
        (0..hosts).map(HostId)
    }

    /// Bytes that only the tier has: the destage backlog, in whole pages.
    pub fn dirty_bytes(&self) -> u64 {
        self.hosts().map(|host| self.dirty_bytes_of(host)).sum()
    }

    /// Dirty bytes in one host's share.
    pub fn dirty_bytes_of(&self, host: HostId) -> u64 {
        self.cache(host).map_or(0, Cache::dirty) as u64 * self.page_bytes()
    }

    /// Bytes of resident pages, without copies of dirty ones.
    pub fn resident_bytes(&self) -> u64 {
        self.hosts().map(|host| self.resident_bytes_of(host)).sum()
    }

    /// Resident bytes in one host's share; 0 for an unknown host.
    pub fn resident_bytes_of(&self, host: HostId) -> u64 {
        self.cache(host).map_or(0, |cache| cache.policy.len()) as u64 * self.page_bytes()
    }

    /// Bytes of the tier that one VM's pages take.
    pub fn footprint_bytes(&self, vm: VmId) -> u64 {
        let caches = self.shares.iter().filter_map(|share| share.cache.as_ref());
        caches.map(|cache| cache.owned_by(vm) as u64).sum::<u64>() * self.page_bytes()
    }

    /// Counters of one VM. Evictions, destages and losses count for the VM that brought the page
    /// in.
    pub fn counters_of(&self, vm: VmId) -> Counters {
        self.vms.get(usize::from(vm.0)).map_or_else(Counters::default, |vm| vm.counters)
    }

    /// Counters of all VMs.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.vms.iter().for_each(|vm| sum.add(&vm.counters));
        sum
    }

    pub(super) fn page_bytes(&self) -> u64 {
        u64::from(self.config.page_bytes)
    }

    pub(super) fn vm(&mut self, vm: VmId) -> &mut Vm {
        let at = usize::from(vm.0);
        if self.vms.len() <= at {
            self.vms.resize_with(at + 1, || Vm::new(self.config.vms));
        }
        &mut self.vms[at]
    }

    /// The counters of a virtual machine that has asked before.
    pub(super) fn count(&mut self, vm: VmId) -> &mut Counters {
        &mut self.vms[usize::from(vm.0)].counters
    }

    pub(super) fn cache(&self, host: HostId) -> Option<&Cache> {
        self.shares.get(usize::from(host.0))?.cache.as_ref()
    }

    pub(super) fn cache_mut(&mut self, host: HostId) -> Option<&mut Cache> {
        self.shares.get_mut(usize::from(host.0))?.cache.as_mut()
    }

    /// The share of a host in which a page was found.
    pub(super) fn own(&mut self, host: HostId) -> &mut Cache {
        self.cache_mut(host).expect("a page is found where there is a share")
    }

    /// Hosts after this one, in turn.
    pub(super) fn others(&self, host: HostId) -> impl Iterator<Item = HostId> + use<> {
        let hosts = self.shares.len();
        (1..hosts).map(move |further| {
            let other = (usize::from(host.0) + further) % hosts;
            HostId(u16::try_from(other).expect("1024 hosts at most"))
        })
    }

    /// Host and number of the place in which the slot's page lies.
    pub(super) fn place(&self, host: HostId, slot: Slot) -> (HostId, u32) {
        let cache = self.cache(host).expect("a page is found where there is a share");
        (host, cache.place(slot))
    }

    /// A step on a place of a share.
    pub(super) fn on_share(
        &self,
        piece: Piece,
        (host, place): (HostId, u32),
        operation: Operation,
        data: Data,
    ) -> Step {
        let page_bytes = self.page_bytes();
        let offset = u64::from(place) * page_bytes + piece.offset % page_bytes;
        Step { place: StepDevice::Share(host), offset, ..piece.on_backing(operation, data) }
    }

    /// The whole page of a piece.
    pub(super) fn whole(&self, piece: Piece) -> Piece {
        Piece { offset: piece.page.0 * self.page_bytes(), length: self.config.page_bytes, ..piece }
    }
}

impl Piece {
    /// A step on the backing store.
    pub(super) fn on_backing(&self, operation: Operation, data: Data) -> Step {
        Step {
            place: StepDevice::Backing,
            by: self.host,
            operation,
            offset: self.offset,
            address: self.offset,
            length: self.length,
            data,
            wait: Wait::Request,
        }
    }
}
