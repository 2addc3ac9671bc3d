use machine::Operation;

use super::config::{ClusterConfig, ClusterError, ClusterVm, ClusterWrites};
use super::counters::ClusterCounters;
use super::dirty::{Dirty, DirtyPages};
use super::share::Share;
use super::step::{ClusterPlace, ClusterStep, Data, HostId};
use crate::policy::PageId;
use crate::tier::{Access, Entry, Population, Scan, VmId, Wait};

/// A tier over the hosts of a cluster: maps each access of a virtual machine to the I/Os it
/// causes on shares, network and backing store. Like [`crate::Tier`] it is a calculation that a
/// driver or a device model calls; state changes when the access is made, and the caller carries
/// the steps out, those on overlapping bytes in the order given.
///
/// - A read looks in the share of the virtual machine's host, then in other hosts' shares, then
///   in the store. What came from elsewhere is filled into the own share: a machine that has
///   moved builds its footprint anew and reads the old one from where it was.
/// - A write back goes to the own share and to as many peers' logs as asked for; when too few
///   peers are there or have room, or the host has no share, it goes through. A write makes all
///   other hosts' copies of its pages invalid.
/// - A page is valid as a whole. A write to a missing page that covers it in part goes through,
///   and the page is filled behind it; 4 KiB pages make that rare. Of a page that is dirty one
///   span of bytes is kept, copied and destaged.
/// - When hosts fail, what their dirty pages have as copies elsewhere reaches the store from
///   there at once, and so does what has lost a copy: an answered write is lost only when a host
///   and all peers with its copies fail together.
///
/// After the descriptions of FVP at frankdenneman.nl (remote reads after a migration, copies on
/// neighbours, the automatic change to write-through). Ours: the page-wise validity, the log of
/// fixed size, peers in turn after the own host, destaging at once instead of copying again.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub(super) config: ClusterConfig,
    pub(super) shares: Vec<Share>,
    /// Whether a host runs, by host.
    pub(super) is_up: Vec<bool>,
    pub(super) dirty: DirtyPages,
    vms: Vec<Vm>,
}

/// What the cluster knows of a virtual machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Vm {
    pub(super) settings: ClusterVm,
    pub(super) counters: ClusterCounters,
    /// Whether the store has answered a write that no flush has made durable yet.
    pub(super) owes_flush: bool,
    scan: Scan,
}

/// The part of an access that lies in one page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Position of the virtual machine.
    pub(super) vm: usize,
    /// Its host.
    pub(super) host: HostId,
    pub(super) page: PageId,
    /// First byte on the backing store.
    pub(super) offset: u64,
    pub(super) length: u32,
    /// Whether its page may come in.
    pub(super) is_open: bool,
}

/// Where the steps of an access go, and which of them the next piece may join.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    pub(super) list: &'a mut Vec<ClusterStep>,
    open: Option<usize>,
}

impl Cluster {
    /// A cluster of empty shares, all hosts up.
    ///
    /// # Errors
    /// When a value of the configuration is out of its range.
    pub fn new(config: ClusterConfig) -> Result<Self, ClusterError> {
        config.check()?;
        let hosts = config.shares_bytes.len();
        Ok(Self {
            shares: (0..hosts).map(|host| Share::new(&config, host)).collect(),
            is_up: vec![true; hosts],
            dirty: DirtyPages::default(),
            vms: Vec::new(),
            config,
        })
    }

    /// Places a virtual machine, or moves it, or changes what happens to its accesses from now
    /// on. What is dirty stays where it is until it is destaged.
    ///
    /// # Errors
    /// When there is no such host, or more than two copies are asked for.
    pub fn set(&mut self, vm: VmId, settings: ClusterVm) -> Result<(), ClusterError> {
        let (host, hosts) = (settings.host.0, self.shares.len());
        if usize::from(host) >= hosts {
            return Err(ClusterError::NoHost { host, hosts });
        }
        if let ClusterWrites::Back { replicas } = settings.writes
            && replicas > 2
        {
            return Err(ClusterError::Replicas { replicas });
        }
        self.vm(vm).settings = settings;
        Ok(())
    }

    /// What was last said of a virtual machine.
    pub fn settings_of(&self, vm: VmId) -> ClusterVm {
        self.vms.get(usize::from(vm.0)).map_or_else(ClusterVm::default, |vm| vm.settings)
    }

    /// Takes one access and appends what it causes to `steps`, which the caller empties and
    /// reuses.
    pub fn access(&mut self, access: &Access, steps: &mut Vec<ClusterStep>) {
        self.access_while(access, Entry::Filtered, steps);
    }

    /// Like [`Cluster::access`], with a say in what comes in this time. Every access counts for
    /// nothing but itself here, so filtered and unfiltered are the same.
    pub fn access_while(&mut self, access: &Access, entry: Entry, steps: &mut Vec<ClusterStep>) {
        let host = self.vm(access.vm).settings.host;
        if access.operation == Operation::Flush {
            self.flush(access.vm, host, steps);
            return;
        }
        let run = self.vm(access.vm).scan.observe(access.offset, access.length);
        let is_scan = self.config.sequential_bytes.is_some_and(|most| run > most);
        let is_open = entry != Entry::Closed && !is_scan;
        let mut resident_bytes = 0;
        let from = steps.len();
        let mut steps = Steps::new(steps);
        let page_bytes = self.page_bytes();
        let end = access.offset.saturating_add(u64::from(access.length));
        let (mut offset, mut has_fallen_back) = (access.offset, false);
        while offset < end {
            let page = PageId(offset / page_bytes);
            let until = ((page.0 + 1) * page_bytes).min(end);
            let length = u32::try_from(until - offset).expect("at most a page");
            let vm = usize::from(access.vm.0);
            let piece = Piece { vm, host, page, offset, length, is_open };
            if access.operation == Operation::Write {
                let is_resident = self.find(host, page).is_some();
                resident_bytes += if is_resident { u64::from(length) } else { 0 };
                has_fallen_back |= self.write(piece, &mut steps);
            } else {
                self.read(piece, &mut steps);
            }
            offset = until;
        }
        let own = &steps.list[from..];
        let is_waited = |step: &&ClusterStep| step.wait == Wait::Request;
        let is_backing = own.iter().filter(is_waited).any(|s| s.place == ClusterPlace::Backing);
        let is_remote = own.iter().filter(is_waited).any(ClusterStep::is_remote);
        let is_write =
            |s: &&ClusterStep| s.operation == Operation::Write && s.place != ClusterPlace::Backing;
        let written: u64 = own.iter().filter(is_write).map(|step| u64::from(step.length)).sum();
        let counters = &mut self.vm(access.vm).counters;
        counters.share_written_bytes += written;
        if access.operation == Operation::Write {
            counters.writes += 1;
            counters.write_bytes += u64::from(access.length);
            counters.write_hits += u64::from(resident_bytes == u64::from(access.length));
            counters.write_hit_bytes += resident_bytes;
            counters.writes_absorbed += u64::from(!is_backing);
            counters.writes_fallen_back += u64::from(has_fallen_back);
        } else {
            counters.reads += 1;
            counters.reads_local += u64::from(!is_backing && !is_remote);
            counters.reads_remote += u64::from(!is_backing && is_remote);
        }
    }

    /// Destages up to `pages` dirty pages of a host, those that became dirty first, and returns
    /// how many. They stay resident, clean, and their copies are given up. The caller decides
    /// when: FVP destages as soon as the store can take it.
    pub fn destage(&mut self, host: HostId, pages: usize, steps: &mut Vec<ClusterStep>) -> usize {
        let first: Vec<PageId> = self.dirty.of_host(host).take(pages).collect();
        let mut steps = Steps::new(steps);
        for page in &first {
            self.settle(*page, Wait::Background, &mut steps);
        }
        first.len()
    }

    /// Destages all that is dirty on the host of a virtual machine.
    pub fn destage_of(&mut self, vm: VmId, steps: &mut Vec<ClusterStep>) -> usize {
        let host = self.vm(vm).settings.host;
        self.destage(host, usize::MAX, steps)
    }

    /// Begins measured time: counters are zero and, as after a long pause, nothing is dirty.
    /// What is resident, its order and what scan detection remembers stay.
    pub fn settle_all(&mut self) {
        let pages: Vec<PageId> = self.dirty.all().map(|(page, _)| page).collect();
        for page in pages {
            self.discard(page);
        }
        self.vms.iter_mut().for_each(|vm| vm.counters = ClusterCounters::default());
    }

    /// What it was made of.
    pub const fn config(&self) -> &ClusterConfig {
        &self.config
    }

    /// Pages of a host's share, without those kept apart for copies.
    pub fn share_pages(&self, host: HostId) -> usize {
        let is_host = usize::from(host.0) < self.shares.len();
        if is_host { self.config.pages(usize::from(host.0)).0 } else { 0 }
    }

    /// Bytes of pages that are dirty in a host's share: its destage backlog, in whole pages.
    pub fn dirty_bytes(&self, host: HostId) -> u64 {
        self.dirty.count_of(host) as u64 * self.page_bytes()
    }

    /// The same of all hosts.
    pub fn dirty_bytes_of_all(&self) -> u64 {
        self.dirty.len() as u64 * self.page_bytes()
    }

    /// Bytes of resident pages in a host's share, without others' copies; zero for a host that
    /// is not there.
    pub fn resident_bytes(&self, host: HostId) -> u64 {
        let share = self.shares.get(usize::from(host.0));
        share.map_or(0, Share::pages) as u64 * self.page_bytes()
    }

    /// What the cluster did for one virtual machine.
    pub fn counters_of(&self, vm: VmId) -> ClusterCounters {
        self.vms.get(usize::from(vm.0)).map_or_else(Default::default, |vm| vm.counters)
    }

    /// What the cluster did for all of them.
    pub fn counters(&self) -> ClusterCounters {
        let mut sum = ClusterCounters::default();
        self.vms.iter().for_each(|vm| sum.add(&vm.counters));
        sum
    }

    pub(super) fn page_bytes(&self) -> u64 {
        u64::from(self.config.page_bytes)
    }

    fn vm(&mut self, vm: VmId) -> &mut Vm {
        let at = usize::from(vm.0);
        if self.vms.len() <= at {
            self.vms.resize_with(at + 1, Vm::default);
        }
        &mut self.vms[at]
    }

    pub(super) fn settings(&self, piece: Piece) -> ClusterVm {
        self.vms[piece.vm].settings
    }

    /// The store will answer a write of this virtual machine.
    pub(super) fn owe_flush(&mut self, vm: usize) {
        self.vms[vm].owes_flush = true;
    }

    pub(super) fn count(&mut self, vm: usize) -> &mut ClusterCounters {
        &mut self.vms[vm].counters
    }

    pub(super) fn share(&mut self, host: HostId) -> &mut Share {
        &mut self.shares[usize::from(host.0)]
    }

    /// Place of a page in a host's share.
    pub(super) fn find(&self, host: HostId, page: PageId) -> Option<u32> {
        self.shares[usize::from(host.0)].find(page)
    }

    /// Hosts after this one, in turn.
    pub(super) fn others(&self, host: HostId) -> impl Iterator<Item = HostId> + use<> {
        let hosts = self.shares.len();
        (1..hosts).map(move |further| {
            let other = (usize::from(host.0) + further) % hosts;
            HostId(u16::try_from(other).expect("1024 hosts at most"))
        })
    }

    /// Makes durable what was answered: by the share where it takes writes, and by the store
    /// if a write went there since the last flush.
    fn flush(&mut self, vm: VmId, by: HostId, steps: &mut Vec<ClusterStep>) {
        let is_owed = std::mem::take(&mut self.vm(vm).owes_flush);
        let is_back = self.vm(vm).settings.writes != ClusterWrites::Through
            && self.shares[usize::from(by.0)].is_usable();
        let (operation, wait) = (Operation::Flush, Wait::Request);
        let flush = |place| {
            let data = Data::Request;
            ClusterStep { place, by, operation, offset: 0, address: 0, length: 0, data, wait }
        };
        steps.extend(is_back.then(|| flush(ClusterPlace::Share(by))));
        steps.extend((!is_back || is_owed).then(|| flush(ClusterPlace::Backing)));
    }

    pub(super) fn admits(&self, piece: Piece, operation: Operation) -> bool {
        let is_write = operation == Operation::Write;
        let is_open = match self.settings(piece).population {
            Population::Both => true,
            Population::WritesOnly => is_write,
            Population::ReadsOnly => !is_write,
            Population::Suspended => false,
        };
        is_open && piece.is_open && self.shares[usize::from(piece.host.0)].is_usable()
    }

    /// Brings a page into the share of a piece's host, which has one, and says its place.
    pub(super) fn bring_in(&mut self, piece: Piece, wait: Wait, steps: &mut Steps) -> u32 {
        let came = self.share(piece.host).bring_in(piece.page).expect("the host has a share");
        if let Some((page, place)) = came.evicted {
            self.count(piece.vm).evicted_bytes += self.page_bytes();
            if self.dirty.get(page).is_some_and(|dirty| dirty.owner == piece.host) {
                self.destage_from(page, place, wait, steps);
            }
        }
        came.place
    }

    /// Makes a dirty page clean from its owner's share.
    pub(super) fn settle(&mut self, page: PageId, wait: Wait, steps: &mut Steps) {
        let Some(owner) = self.dirty.get(page).map(|dirty| dirty.owner) else { return };
        let place = self.find(owner, page).expect("a dirty page is in its owner's share");
        self.destage_from(page, place, wait, steps);
    }

    fn destage_from(&mut self, page: PageId, place: u32, wait: Wait, steps: &mut Steps) {
        if let Some(dirty) = self.discard(page) {
            self.move_to_store(page, &dirty, (dirty.owner, place), wait, steps);
        }
    }

    /// Moves the bytes that the store lacks from a place of a host to the store.
    pub(super) fn move_to_store(
        &mut self,
        page: PageId,
        dirty: &Dirty,
        (host, place): (HostId, u32),
        wait: Wait,
        steps: &mut Steps,
    ) {
        let page_bytes = self.page_bytes();
        let address = page.0 * page_bytes + u64::from(dirty.from);
        let length = dirty.to - dirty.from;
        let offset = u64::from(place) * page_bytes + u64::from(dirty.from);
        let step = ClusterStep {
            place: ClusterPlace::Share(host),
            by: host,
            operation: Operation::Read,
            offset,
            address,
            length,
            data: Data::Moved,
            wait,
        };
        steps.list.push(step);
        let (place, operation) = (ClusterPlace::Backing, Operation::Write);
        steps.list.push(ClusterStep { place, operation, offset: address, ..step });
        self.count(dirty.vm).destaged_bytes += u64::from(length);
    }

    /// Forgets that a page is dirty, and gives its copies' places up.
    pub(super) fn discard(&mut self, page: PageId) -> Option<Dirty> {
        let dirty = self.dirty.remove(page)?;
        for (host, place) in dirty.copies() {
            if self.is_up[usize::from(host.0)] {
                self.share(host).give_log(place);
            }
        }
        Some(dirty)
    }
}

impl Piece {
    /// A step on a place of a share.
    pub(super) fn on_share(
        &self,
        (host, place): (HostId, u32),
        page_bytes: u64,
        operation: Operation,
        data: Data,
    ) -> ClusterStep {
        ClusterStep {
            place: ClusterPlace::Share(host),
            by: self.host,
            operation,
            offset: u64::from(place) * page_bytes + self.offset % page_bytes,
            address: self.offset,
            length: self.length,
            data,
            wait: Wait::Request,
        }
    }

    /// A step on the backing store.
    pub(super) fn on_backing(&self, operation: Operation, data: Data) -> ClusterStep {
        ClusterStep {
            place: ClusterPlace::Backing,
            by: self.host,
            operation,
            offset: self.offset,
            address: self.offset,
            length: self.length,
            data,
            wait: Wait::Request,
        }
    }

    /// The whole page.
    pub(super) fn whole(&self, page_bytes: u32) -> Self {
        let offset = self.page.0 * u64::from(page_bytes);
        Self { offset, length: page_bytes, ..*self }
    }
}

impl<'a> Steps<'a> {
    pub(super) fn new(list: &'a mut Vec<ClusterStep>) -> Self {
        Self { list, open: None }
    }

    /// Adds a piece that the backing store answers to the access's last such piece if they
    /// adjoin, so that a request over several missing pages stays one request. Never across a
    /// destage, which may be of the very page and must reach the store first.
    pub(super) fn join(&mut self, step: ClusterStep) {
        let is_write = |step: &ClusterStep| {
            (step.place, step.operation) == (ClusterPlace::Backing, Operation::Write)
        };
        if let Some(at) = self.open
            && self.list[at].offset + u64::from(self.list[at].length) == step.offset
            && !self.list[at + 1..].iter().any(is_write)
        {
            self.list[at].length += step.length;
            return;
        }
        self.open = Some(self.list.len());
        self.list.push(step);
    }
}

/// The same step in the background.
pub(super) fn later(step: ClusterStep) -> ClusterStep {
    ClusterStep { wait: Wait::Background, ..step }
}
