use state_machine::Operation;

use super::config::{Config, ConfigError};
use super::copies::Copies;
use super::counters::Counters;
use super::share::{Cache, Share};
use super::step::{Access, Data, Entry, HostId, Step, StepDevice, Steps, VmId, Wait};
use super::vm::{Vm, VmSettings};
use crate::page::{PageId, Slot};

/// Number of pages that are prefetched together. It is larger than the number of loads that a
/// processor has in flight. It is small enough that the memory read for the first page is still in
/// the processor's cache when it is used.
const AHEAD: usize = 64;

/// Acceleration tier: maps each access to the I/Os that it causes on tier and backing store.
///
/// It is a calculation, not a [`state_machine::Machine`]: it has no timers of its own and one
/// access has one answer, so a driver or a device model calls it directly. State changes when the
/// access is made. The caller carries out the steps; steps on overlapping bytes must be done in the
/// order given.
///
/// - A page is valid as a whole. A write to a missing page is placed in the tier at once only if it
///   covers the whole page. Otherwise the write goes to the backing store, and the page, if
///   admitted, is filled from there in the background, clean.
/// - A read that misses is answered by the backing store; the fill happens in the background.
/// - A dirty page is destaged before it is evicted, and a write that needs its place waits for
///   that. The whole page is destaged, unless peers have copies; then only the copied range is.
///
/// In addition, over several hosts:
///
/// - A read looks in the share of the VM's host, then in other hosts' shares, then in the backing
///   store. Data from elsewhere is filled into the share of the VM's host. So a VM that has moved
///   builds its footprint anew, and reads the old one from its former host.
/// - A write in a write-back mode goes to the share of the VM's host and to the logs of as many
///   peers as requested. If too few peers exist or have room, or the host has no share, the write
///   goes through. A write invalidates all other hosts' copies of its pages.
/// - When hosts fail, their dirty pages are destaged at once from the copies on other hosts, and so
///   are dirty pages that have lost a copy. An answered write is lost only if a host and all peers
///   with its copies fail together.
///
/// Modelled on the descriptions of FVP at frankdenneman.nl (remote reads after a migration, copies
/// on neighbours, the automatic change to write-through). Our choices: the page-wise validity, the
/// log of fixed size, the order of peers (round-robin after the own host), destaging at once
/// instead of copying again.
///
/// Memory grows with the pages that are touched, not with the capacity. It is at most 119 bytes for
/// each page of the largest number that was ever resident, and 58 for each page that admission
/// counts (with LRU, and as lists grow by halves; measured in `tests/memory.rs`).
#[derive(Debug, Clone)]
pub struct Tier {
    pub(super) config: Config,
    pub(super) shares: Vec<Share>,
    pub(super) copies: Copies,
    pub(super) vms: Vec<Vm>,
}

/// Part of an access that lies in one page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) vm: VmId,
    /// Host of the VM.
    pub(super) host: HostId,
    pub(super) page: PageId,
    /// Offset of the first byte on the backing store.
    pub(super) offset: u64,
    pub(super) length: u32,
    /// True if the piece belongs to a sequential run that is longer than
    /// [`Config::sequential_bytes`].
    pub(super) is_scan: bool,
    pub(super) entry: Entry,
}

impl Tier {
    /// Creates an empty tier with all hosts up.
    ///
    /// # Errors
    /// If a value of the configuration is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let hosts = 0..config.shares_bytes.len();
        let shares = hosts.map(|host| Share::new(&config, host)).collect();
        Ok(Self { shares, copies: Copies::new(), vms: Vec::new(), config })
    }

    /// Adds a VM, moves it to another host, or changes its settings for later accesses. Resident
    /// pages stay, and dirty pages stay where they are until they are destaged.
    ///
    /// # Errors
    /// If there is no such host, or if more than two copies are requested.
    pub fn set(&mut self, vm: VmId, settings: VmSettings) -> Result<(), ConfigError> {
        self.config.check_vm(&settings)?;
        self.vm(vm).settings = settings;
        Ok(())
    }

    /// Returns the settings of a VM.
    pub fn settings_of(&self, vm: VmId) -> VmSettings {
        self.vms.get(usize::from(vm.0)).map_or(self.config.vms, |vm| vm.settings)
    }

    /// Handles one access and appends the steps that it causes to `steps`, which the caller empties
    /// and reuses.
    pub fn access(&mut self, access: &Access, steps: &mut Vec<Step>) {
        self.access_while(access, Entry::Filtered, steps);
    }

    /// Handles one access like [`Tier::access`]; `entry` limits the pages that it may admit.
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

    /// Makes all answered writes durable. The fast device is durable, so writes that it has
    /// answered are safe. Writes that the backing store has answered since the last flush are not
    /// durable yet: partial pages, pages that were not admitted, and pages with too few peers.
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

    /// Prefetches the memory that accesses to these offsets will read, all at once. For a few dozen
    /// accesses the gain exceeds the cost. Changes nothing. Over several hosts nothing is
    /// prefetched, because an offset does not tell which share has the page.
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

    /// Begins the measured time: sets all counters to zero, and marks dirty pages beyond the low
    /// mark as clean, in the order in which clean-up would destage them. Resident pages and their
    /// order stay, as does the state of admission and scan detection.
    ///
    /// The other dirty pages stay dirty, as in a tier under load: evicted pages must be written
    /// back, which takes time on the backing disks.
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

    /// Returns the configuration of the tier.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Iterates over all hosts, with a share or without, up or not.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        let hosts = u16::try_from(self.shares.len()).expect("1024 hosts at most");
        (0..hosts).map(HostId)
    }

    /// Returns the size of all dirty pages in bytes: the destage backlog, in whole pages.
    pub fn dirty_bytes(&self) -> u64 {
        self.hosts().map(|host| self.dirty_bytes_of(host)).sum()
    }

    /// Returns the size of the dirty pages in one host's share, in bytes.
    pub fn dirty_bytes_of(&self, host: HostId) -> u64 {
        self.cache(host).map_or(0, Cache::dirty) as u64 * self.page_bytes()
    }

    /// Returns the size of the resident pages in bytes, without copies of dirty pages.
    pub fn resident_bytes(&self) -> u64 {
        self.hosts().map(|host| self.resident_bytes_of(host)).sum()
    }

    /// Returns the size of the resident pages in one host's share, in bytes; 0 for an unknown host.
    pub fn resident_bytes_of(&self, host: HostId) -> u64 {
        self.cache(host).map_or(0, |cache| cache.policy.len()) as u64 * self.page_bytes()
    }

    /// Returns the size of one VM's resident pages, in bytes.
    pub fn footprint_bytes(&self, vm: VmId) -> u64 {
        let caches = self.shares.iter().filter_map(|share| share.cache.as_ref());
        caches.map(|cache| cache.owned_by(vm) as u64).sum::<u64>() * self.page_bytes()
    }

    /// Returns the counters of one VM. Evictions, destages and losses count for the VM whose access
    /// admitted the page.
    pub fn counters_of(&self, vm: VmId) -> Counters {
        self.vms.get(usize::from(vm.0)).map_or_else(Counters::default, |vm| vm.counters)
    }

    /// Returns the sums of the counters of all VMs.
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

    /// Returns the counters of a VM that has made an access before.
    pub(super) fn count(&mut self, vm: VmId) -> &mut Counters {
        &mut self.vms[usize::from(vm.0)].counters
    }

    pub(super) fn cache(&self, host: HostId) -> Option<&Cache> {
        self.shares.get(usize::from(host.0))?.cache.as_ref()
    }

    pub(super) fn cache_mut(&mut self, host: HostId) -> Option<&mut Cache> {
        self.shares.get_mut(usize::from(host.0))?.cache.as_mut()
    }

    /// Returns the cache of a host in which a page was found.
    pub(super) fn own(&mut self, host: HostId) -> &mut Cache {
        self.cache_mut(host).expect("a page is found where there is a share")
    }

    /// Iterates over the other hosts, starting after this one and wrapping around.
    pub(super) fn others(&self, host: HostId) -> impl Iterator<Item = HostId> + use<> {
        let hosts = self.shares.len();
        (1..hosts).map(move |further| {
            let other = (usize::from(host.0) + further) % hosts;
            HostId(u16::try_from(other).expect("1024 hosts at most"))
        })
    }

    /// Returns the host and the number of the place in which the slot's page lies.
    pub(super) fn place(&self, host: HostId, slot: Slot) -> (HostId, u32) {
        let cache = self.cache(host).expect("a page is found where there is a share");
        (host, cache.place(slot))
    }

    /// Returns a step on a place in a host's share.
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

    /// Extends a piece to its whole page.
    pub(super) fn whole(&self, piece: Piece) -> Piece {
        Piece { offset: piece.page.0 * self.page_bytes(), length: self.config.page_bytes, ..piece }
    }
}

impl Piece {
    /// Returns a step on the backing store for this piece.
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
