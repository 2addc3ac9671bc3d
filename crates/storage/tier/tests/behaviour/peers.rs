//! Hosts that hold copies of logs, reached over the network of `faults`.

use std::collections::BTreeMap;

use faults::{Arrival, Disk, End, HostId, LinkId, Network};
use state_machine::Stream;
use tilemark_tier::format::{ADDRESS_BYTES, Holder};
use tilemark_tier::{Event, IoError, IoId, IoTarget, Media, PeerEvent};

use super::world::{Devices, World};

/// Bytes of a held log: little, so that it goes round often.
pub const CAPACITY: usize = 8192 + 92 * (64 << 10);
const OWNER: HostId = HostId(0);

/// A message between an owner and a holder.
#[derive(Debug, Clone)]
pub enum Wire {
    Hello { generation: u64 },
    Welcome,
    Fenced,
    Write { io: u32, at: u64, data: Vec<u8> },
    Flush { io: u32 },
    Told { io: u32, is_ok: bool },
}

#[derive(Debug, Clone, Copy)]
struct Work {
    link: LinkId,
    io: u32,
    is_flush: bool,
}

/// A host that holds a log.
#[derive(Debug, Clone)]
pub struct HolderHost {
    pub disk: Disk,
    /// Lower generations are told that they are over.
    pub fence: u64,
    /// True if the holder's power was cut at some time. Data that it accepted but did not make
    /// durable may be lost.
    pub has_lost: bool,
    session: Option<LinkId>,
    work: BTreeMap<u64, Work>,
    next: u64,
}

impl HolderHost {
    pub fn new() -> Self {
        let disk = Disk::new(CAPACITY);
        Self { disk, fence: 0, has_lost: false, session: None, work: BTreeMap::new(), next: 0 }
    }

    /// Ends the holder's program, by a kill or by a power cut.
    pub fn end(&mut self, is_power: bool, chance: &mut Stream) {
        (self.session, self.work) = (None, BTreeMap::new());
        self.has_lost |= is_power;
        if is_power { self.disk.power_cut(chance) } else { self.disk.kill(chance) }
    }

    fn finish(&mut self, id: u64, chance: &mut Stream) -> (Work, bool) {
        let work = self.work.remove(&id).expect("the I/O is in flight");
        let result = match work.is_flush {
            true => self.disk.finish_flush(id),
            false => self.disk.finish_write(id, false, chance),
        };
        (work, result.is_ok())
    }
}

pub fn holder(peer: u8) -> Holder {
    Holder { host: [peer + 1; 16], address: [0; ADDRESS_BYTES] }
}

fn host(peer: usize) -> HostId {
    HostId(u32::try_from(peer).expect("few") + 1)
}

/// An owner's side.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    pub net: Network<Wire>,
    pub holders: Vec<HolderHost>,
    ways: Vec<Option<LinkId>>,
    /// I/Os that a holder has to answer, by number.
    asked: BTreeMap<u32, usize>,
    /// And those that are over, for their way is lost.
    failing: Vec<u32>,
    /// Nobody connects by himself.
    pub is_alone: bool,
}

/// An event that can happen next.
#[derive(Debug, Clone, Copy)]
pub enum Chance {
    Arrive(LinkId, End),
    Work(usize, u64),
    Fail(usize),
    Connect(usize),
}

impl Ways {
    pub fn new(holders: Vec<HolderHost>) -> Self {
        let ways = vec![None; holders.len()];
        Self { holders, ways, ..Self::default() }
    }

    pub fn chances(&self) -> Vec<Chance> {
        let mut found: Vec<Chance> =
            self.net.arrivals().into_iter().map(|(link, end)| Chance::Arrive(link, end)).collect();
        for (peer, holder) in self.holders.iter().enumerate() {
            found.extend(holder.work.keys().map(|id| Chance::Work(peer, *id)));
        }
        found.extend((0..self.failing.len()).map(Chance::Fail));
        let idle = self.ways.iter().enumerate().filter(|(_, way)| way.is_none());
        let can =
            |peer: &usize| !self.is_alone && self.net.clone().connect(OWNER, host(*peer)).is_some();
        found.extend(idle.map(|(peer, _)| peer).filter(can).map(Chance::Connect));
        found
    }

    /// True if a holder has something to answer.
    pub fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    pub fn partition(&mut self, peer: usize) {
        self.net.partition(OWNER, host(peer));
    }

    pub fn heal(&mut self, peer: usize) {
        self.net.heal(OWNER, host(peer));
    }

    pub fn stop(&mut self, peer: usize, is_power: bool, chance: &mut Stream) {
        if is_power {
            self.net.stop(host(peer))
        } else {
            self.net.kill(host(peer))
        }
        self.holders[peer].end(is_power, chance);
    }

    pub fn start(&mut self, peer: usize) {
        self.net.start(host(peer));
    }

    /// The owner's end of a way breaks, and the holder does not learn of it.
    pub fn break_off(&mut self, peer: usize) -> bool {
        let Some(link) = self.ways[peer].take() else { return false };
        self.net.break_off(link, End::Caller);
        self.fail(peer);
        true
    }

    fn fail(&mut self, peer: usize) {
        let over: Vec<u32> =
            self.asked.iter().filter(|(_, to)| **to == peer).map(|(io, _)| *io).collect();
        self.asked.retain(|_, to| *to != peer);
        self.failing.extend(over);
    }

    pub fn write(&mut self, peer: u8, io: IoId, at: u64, data: Vec<u8>) {
        self.ask(peer, io, Wire::Write { io: io.0, at, data });
    }

    pub fn flush(&mut self, peer: u8, io: IoId) {
        self.ask(peer, io, Wire::Flush { io: io.0 });
    }

    fn ask(&mut self, peer: u8, io: IoId, wire: Wire) {
        let peer = usize::from(peer);
        match self.ways[peer] {
            Some(link) => {
                self.asked.insert(io.0, peer);
                self.net.send(link, End::Caller, wire);
            }
            None => self.failing.push(io.0),
        }
    }

    /// Something happens; what the owner learns by it.
    pub fn happen(&mut self, what: Chance, generation: u64, chance: &mut Stream) -> Vec<Event> {
        let failed = |io| Event::Done(IoId(io), Err(IoError::Io));
        match what {
            Chance::Fail(at) => vec![failed(self.failing.swap_remove(at))],
            Chance::Connect(peer) => {
                let link = self.net.connect(OWNER, host(peer)).expect("it was possible");
                self.ways[peer] = Some(link);
                self.net.send(link, End::Caller, Wire::Hello { generation });
                Vec::new()
            }
            Chance::Work(peer, id) => {
                let (work, is_ok) = self.holders[peer].finish(id, chance);
                self.net.send(work.link, End::Called, Wire::Told { io: work.io, is_ok });
                Vec::new()
            }
            Chance::Arrive(link, End::Caller) => self.told(link),
            Chance::Arrive(link, End::Called) => {
                self.asked_of(link, chance);
                Vec::new()
            }
        }
    }

    fn told(&mut self, link: LinkId) -> Vec<Event> {
        let peer = self.ways.iter().position(|way| *way == Some(link)).expect("it is a way");
        let number = u8::try_from(peer).expect("few");
        let arrival = self.net.deliver(link, End::Caller).expect("it was there");
        match arrival {
            Arrival::Message(Wire::Told { io, is_ok }) => {
                self.asked.remove(&io).expect("it is answered once");
                let result = if is_ok { Ok(Vec::new()) } else { Err(IoError::Io) };
                vec![Event::Done(IoId(io), result)]
            }
            Arrival::Message(Wire::Welcome) => {
                let capacity = CAPACITY as u64;
                vec![Event::Peer(0, number, PeerEvent::Up { capacity })]
            }
            Arrival::Message(Wire::Fenced) => {
                vec![Event::Peer(0, number, PeerEvent::Fenced)]
            }
            Arrival::Message(other) => panic!("a holder says {other:?}"),
            Arrival::Closed => {
                self.ways[peer] = None;
                self.fail(peer);
                vec![Event::Peer(0, number, PeerEvent::Lost)]
            }
        }
    }

    fn asked_of(&mut self, link: LinkId, chance: &mut Stream) {
        let peer = self.callee(link);
        let arrival = self.net.deliver(link, End::Called).expect("it was there");
        let found = &mut self.holders[peer];
        match arrival {
            Arrival::Message(Wire::Hello { generation }) if generation < found.fence => {
                self.net.send(link, End::Called, Wire::Fenced);
            }
            Arrival::Message(Wire::Hello { generation }) => {
                found.fence = generation;
                // I/O of an older session ends before the new session begins.
                for id in found.work.keys().copied().collect::<Vec<_>>() {
                    found.finish(id, chance);
                }
                if let Some(old) = found.session.replace(link) {
                    self.net.close(old, End::Called);
                }
                self.net.send(link, End::Called, Wire::Welcome);
            }
            Arrival::Message(Wire::Write { io, at, data }) if found.session == Some(link) => {
                found.next += 1;
                found.disk.start_write(found.next, at, &data).expect("within the copy");
                found.work.insert(found.next, Work { link, io, is_flush: false });
            }
            Arrival::Message(Wire::Flush { io }) if found.session == Some(link) => {
                found.next += 1;
                found.disk.start_flush(found.next);
                found.work.insert(found.next, Work { link, io, is_flush: true });
            }
            Arrival::Message(_) => {}
            Arrival::Closed => {
                if found.session == Some(link) {
                    found.session = None;
                }
            }
        }
    }

    fn callee(&self, link: LinkId) -> usize {
        self.net.called(link).0 as usize - 1
    }
}

/// The shared store and what holders have, for whoever takes over; it stops for good after so many changes.
pub struct Reach<'a> {
    pub devices: &'a mut Devices,
    pub holders: &'a mut [HolderHost],
    pub left: Option<usize>,
    pub chance: Stream,
}

impl Reach<'_> {
    fn disk(&mut self, place: IoTarget) -> &mut Disk {
        match place {
            IoTarget::Copy(_, peer) => &mut self.holders[usize::from(peer)].disk,
            place => self.devices.of(place),
        }
    }

    fn change(&mut self) -> Result<(), IoError> {
        match &mut self.left {
            Some(0) => Err(IoError::Io),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Media for Reach<'_> {
    fn read(&mut self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        self.disk(place).read(at, into).map_err(|_| IoError::Io)
    }

    fn write(&mut self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), IoError> {
        self.change()?;
        let mut chance = self.chance.clone();
        let disk = self.disk(place);
        disk.start_write(u64::MAX, at, data).map_err(|_| IoError::Io)?;
        disk.finish_write(u64::MAX, false, &mut chance).map_err(|_| IoError::Io)
    }

    fn flush(&mut self, place: IoTarget) -> Result<(), IoError> {
        self.change()?;
        let disk = self.disk(place);
        disk.start_flush(u64::MAX);
        disk.finish_flush(u64::MAX).map_err(|_| IoError::Io)
    }
}

impl World {
    /// The owner's host is gone with its cache. The shared store and the holders are what is left.
    /// The owner's end of a way to a peer breaks.
    pub fn lose_way(&mut self, peer: usize) {
        if self.ways.break_off(peer) {
            let peer = u8::try_from(peer).expect("few");
            self.event(Event::Peer(0, peer, PeerEvent::Lost));
        }
    }

    pub fn left_behind(&self) -> (Devices, Vec<HolderHost>) {
        (self.devices.clone(), self.ways.holders.clone())
    }
}
