//! Driver and front end of a VM: virtio-blk over vhost-user. The VM's memory and its record of requests in flight
//! stay when the server goes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserInflight, VhostUserProtocolFeatures,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vm_memory::{
    Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestRegionMmap,
};
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// A test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(60);

/// Entries of the queue, and addresses in the VM's memory.
pub(crate) const ENTRIES: u16 = 128;
const BASE: u64 = 1 << 20;
const AVAILABLE: u64 = BASE + 4096;
const USED: u64 = BASE + 8192;
const SLOTS: u64 = BASE + 65536;
/// Bytes of a slot: head, status and data of a request.
const SLOT_BYTES: u64 = 256 << 10;
const STATUS_AT: u64 = 64;
const DATA_AT: u64 = 4096;
pub(crate) const DATA_MAX: u64 = SLOT_BYTES - DATA_AT;
/// Most requests at once: each has descriptors for its head, two pieces of data, and its status.
pub(crate) const REQUESTS: u16 = ENTRIES / 4;
const MEMORY: usize = 16 << 20;

pub(crate) const IN: u32 = 0;
pub(crate) const OUT: u32 = 1;
pub(crate) const FLUSH: u32 = 4;
pub(crate) const GET_ID: u32 = 8;
pub(crate) const DISCARD: u32 = 11;
pub(crate) const WRITE_ZEROES: u32 = 13;

/// Flags of a descriptor: another one follows; the device writes to it.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
/// Features: flushes, version 1, used and available events, and those of the protocol.
const FEATURES: u64 = 1 << 9 | 1 << 13 | 1 << 14 | 1 << 32;
const EVENTS: u64 = 1 << 29;
const PROTOCOL: u64 = 1 << 30;

pub(crate) struct Machine {
    pub memory: GuestMemoryMmap,
    /// Bytes of memory that the VM reports beyond those that it has.
    pub lie: u64,
    front_end: Option<Frontend>,
    in_flight: Option<(VhostUserInflight, File)>,
    kick: EventFd,
    call: EventFd,
    /// Waits for `call`.
    called: Epoll,
    features: u64,
    free: Vec<u16>,
    asked: u16,
    seen: u16,
    /// Kind and bytes of the request of each slot.
    open: Vec<Option<(u32, u32)>>,
}

/// Answer to a request: slot, status, and the bytes of a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub slot: u16,
    pub status: u8,
    pub data: Vec<u8>,
}

/// Memory like QEMU's, memory that its owner could shrink, or memory of other pages.
pub(crate) fn memory(is_sealed: bool, pages: MemfdFlags) -> GuestMemoryMmap {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | pages;
    let file = memfd_create("machine", flags).unwrap();
    let file = File::from(file);
    file.set_len(MEMORY as u64).unwrap();
    if is_sealed {
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    }
    let file = Some(FileOffset::new(file, 0));
    let region = GuestRegionMmap::from_range(GuestAddress(BASE), MEMORY, file).unwrap();
    GuestMemoryMmap::from_regions(vec![region]).unwrap()
}

impl Machine {
    /// Creates a VM that has no disk yet.
    pub fn new(has_events: bool) -> Self {
        let event = || EventFd::new(EFD_NONBLOCK).unwrap();
        let call = event();
        let (called, reads) = (Epoll::new().unwrap(), EpollEvent::new(EventSet::IN, 0));
        called.ctl(ControlOperation::Add, call.as_raw_fd(), reads).unwrap();
        Self {
            memory: memory(true, MemfdFlags::empty()),
            lie: 0,
            front_end: None,
            in_flight: None,
            kick: event(),
            call,
            called,
            features: FEATURES | if has_events { EVENTS } else { 0 },
            free: (0..REQUESTS).rev().collect(),
            asked: 0,
            seen: 0,
            open: vec![None; usize::from(REQUESTS)],
        }
    }

    /// Gets the disk of a socket, the first time or again.
    pub fn connect(&mut self, path: &Path) -> io::Result<()> {
        let connected = self.try_connect(path).map_err(|error| io::Error::other(error.to_string()));
        self.front_end = Some(connected?);
        Ok(())
    }

    fn try_connect(&mut self, path: &Path) -> Result<Frontend, vhost::Error> {
        let mut front_end = Frontend::connect(path, 2)?;
        front_end.set_owner()?;
        let offered = front_end.get_features()?;
        front_end.set_features(offered & (self.features | PROTOCOL))?;
        let wanted = VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::INFLIGHT_SHMFD;
        let offered = front_end.get_protocol_features()?;
        front_end.set_protocol_features(offered & wanted)?;
        front_end.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        let is_tracked = offered.contains(VhostUserProtocolFeatures::INFLIGHT_SHMFD);
        if self.in_flight.is_none() && is_tracked {
            let wanted = VhostUserInflight::new(0, 0, 2, ENTRIES);
            self.in_flight = Some(front_end.get_inflight_fd(&wanted)?);
        }
        if let Some((kept, file)) = &self.in_flight {
            front_end.set_inflight_fd(kept, file.as_raw_fd())?;
        }
        let region = self.memory.iter().next().unwrap();
        let mut region = VhostUserMemoryRegionInfo::from_guest_region(region)?;
        region.memory_size += self.lie;
        front_end.set_mem_table(&[region])?;
        self.start(&mut front_end)?;
        Ok(front_end)
    }

    fn start(&self, front_end: &mut Frontend) -> Result<(), vhost::Error> {
        let place = |at| self.memory.get_host_address(GuestAddress(at)).unwrap().addr() as u64;
        let addresses = VringConfigData {
            queue_max_size: ENTRIES,
            queue_size: ENTRIES,
            flags: 0,
            desc_table_addr: place(BASE),
            used_ring_addr: place(USED),
            avail_ring_addr: place(AVAILABLE),
            log_addr: None,
        };
        front_end.set_vring_num(0, ENTRIES)?;
        // As QEMU does it that has lost its server: where the last used one was.
        front_end.set_vring_base(0, self.used())?;
        front_end.set_vring_addr(0, &addresses)?;
        front_end.set_vring_call(0, &self.call)?;
        front_end.set_vring_kick(0, &self.kick)?;
        front_end.set_vring_enable(0, true)
    }

    /// Goes away without a word.
    pub fn hang_up(&mut self) {
        self.front_end = None;
    }

    /// Stops the queue, and says where it was.
    pub fn stop(&mut self) -> u32 {
        self.front_end.as_ref().unwrap().get_vring_base(0).unwrap()
    }

    /// Starts it again.
    pub fn start_again(&mut self) {
        let mut front_end = self.front_end.take().unwrap();
        self.start(&mut front_end).unwrap();
        self.front_end = Some(front_end);
    }

    /// The disk's configuration.
    pub fn config(&mut self) -> Vec<u8> {
        let front_end = self.front_end.as_mut().unwrap();
        let flags = VhostUserConfigFlags::WRITABLE;
        front_end.get_config(0, 60, flags, &[0; 60]).unwrap().1
    }

    /// A place for a request, if one is free.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Requests that are not answered.
    pub fn open(&self) -> usize {
        self.open.iter().flatten().count()
    }

    /// Asks, and does not wait: of `bytes` bytes, which are `data` for what is written. They lie in two pieces.
    pub fn ask(&mut self, kind: u32, sector: u64, bytes: u32, data: &[u8]) -> u16 {
        let slot = self.free.pop().expect("a place is free");
        let at = SLOTS + u64::from(slot) * SLOT_BYTES;
        let head = [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat();
        self.memory.write_slice(&head, GuestAddress(at)).unwrap();
        self.memory.write_obj(0xff_u8, GuestAddress(at + STATUS_AT)).unwrap();
        self.memory.write_slice(data, GuestAddress(at + DATA_AT)).unwrap();
        let flags = if data.is_empty() { WRITE } else { 0 };
        let first = bytes / 3;
        let mut pieces = vec![(at, 16, 0)];
        let halves =
            [(at + DATA_AT, first, flags), (at + DATA_AT + u64::from(first), bytes - first, flags)];
        pieces.extend(halves.iter().filter(|(_, bytes, _)| *bytes > 0));
        pieces.push((at + STATUS_AT, 1, WRITE));
        self.open[usize::from(slot)] = Some((kind, bytes));
        self.describe(slot * 4, &pieces);
        self.offer(slot * 4);
        slot
    }

    /// Writes descriptors one after the other.
    pub fn describe(&self, head: u16, pieces: &[(u64, u32, u16)]) {
        for (index, &(address, bytes, flags)) in (head..).zip(pieces) {
            let is_last = index + 1 == head + u16::try_from(pieces.len()).unwrap();
            let (next, flags) = if is_last { (0, flags) } else { (index + 1, flags | NEXT) };
            self.descriptor(index, address, bytes, flags, next);
        }
    }

    pub fn descriptor(&self, index: u16, address: u64, bytes: u32, flags: u16, next: u16) {
        let descriptor = [
            &address.to_le_bytes()[..],
            &bytes.to_le_bytes(),
            &flags.to_le_bytes(),
            &next.to_le_bytes(),
        ];
        let at = GuestAddress(BASE + 16 * u64::from(index));
        self.memory.write_slice(&descriptor.concat(), at).unwrap();
    }

    /// Makes a chain available.
    pub fn offer(&mut self, head: u16) {
        let at = AVAILABLE + 4 + 2 * u64::from(self.asked % ENTRIES);
        self.memory.write_obj(head, GuestAddress(at)).unwrap();
        self.set_available(self.asked.wrapping_add(1));
    }

    /// Says that so many were made available.
    pub fn set_available(&mut self, count: u16) {
        self.asked = count;
        self.memory.store(count, GuestAddress(AVAILABLE + 2), Ordering::SeqCst).unwrap();
        self.kick.write(1).unwrap();
    }

    fn used(&self) -> u16 {
        self.memory.load(GuestAddress(USED + 2), Ordering::SeqCst).unwrap()
    }

    /// The next chain that is given back: its head, and how many bytes were written. None when nothing comes in
    /// this time.
    pub fn take_used(&mut self, patience: Duration) -> Option<(u16, u32)> {
        let until = Instant::now() + patience;
        while self.used() == self.seen {
            let left = until.checked_duration_since(Instant::now())?;
            let time = i32::try_from(left.as_millis()).unwrap();
            if self.called.wait(time, &mut [EpollEvent::default()]).unwrap() == 0 {
                // A used buffer without a call to the guest is treated as lost.
                return None;
            }
            let _ = self.call.read();
        }
        let at = USED + 4 + 8 * u64::from(self.seen % ENTRIES);
        let head: u32 = self.memory.read_obj(GuestAddress(at)).unwrap();
        let written = self.memory.read_obj(GuestAddress(at + 4)).unwrap();
        self.seen = self.seen.wrapping_add(1);
        // It wants to be told of the next one.
        let event = GuestAddress(AVAILABLE + 4 + 2 * u64::from(ENTRIES));
        self.memory.store(self.seen, event, Ordering::SeqCst).unwrap();
        Some((u16::try_from(head).unwrap(), written))
    }

    /// Waits for whichever answer comes first.
    pub fn wait(&mut self) -> Answer {
        let (head, written) = self.take_used(PATIENCE).expect("an answer comes");
        let slot = head / 4;
        let (kind, bytes) =
            self.open[usize::from(slot)].take().expect("it was asked, and answered once");
        self.free.push(slot);
        let at = SLOTS + u64::from(slot) * SLOT_BYTES;
        let status: u8 = self.memory.read_obj(GuestAddress(at + STATUS_AT)).unwrap();
        let mut data = Vec::new();
        if matches!(kind, IN | GET_ID) && status == 0 {
            assert_eq!(written, bytes + 1, "all of it, and a status");
            data.resize(bytes as usize, 0);
            self.memory.read_slice(&mut data, GuestAddress(at + DATA_AT)).unwrap();
        }
        Answer { slot, status, data }
    }

    /// Asks, and waits for the answer: there is no other request.
    pub fn call(&mut self, kind: u32, sector: u64, bytes: u32, data: &[u8]) -> Answer {
        let slot = self.ask(kind, sector, bytes, data);
        let answer = self.wait();
        assert_eq!(answer.slot, slot);
        answer
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> u8 {
        self.call(OUT, offset / 512, u32::try_from(data.len()).unwrap(), data).status
    }

    pub fn read(&mut self, offset: u64, bytes: u32) -> Vec<u8> {
        let answer = self.call(IN, offset / 512, bytes, &[]);
        assert_eq!(answer.status, 0, "a read at {offset}");
        answer.data
    }

    /// Gives up a range, or zeroes it.
    pub fn range(&mut self, kind: u32, offset: u64, bytes: u64, flags: u32) -> u8 {
        let sectors = u32::try_from(bytes / 512).unwrap();
        let range =
            [&(offset / 512).to_le_bytes()[..], &sectors.to_le_bytes(), &flags.to_le_bytes()];
        self.call(kind, 0, 16, &range.concat()).status
    }
}
