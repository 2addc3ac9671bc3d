//! Peers that hold copies of this host's logs. Each pair of disk and peer has a thread with a
//! connection. The thread gets operations through a queue, sends results back through another
//! queue, and wakes the server's thread.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use block_server::{Buffer, ClientTls, Waker};
use nbd::{Abilities, Code, Operation, Uri};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tier::format::{ADDRESS_BYTES, Holder};
use tier::{IoError, IoId};

use crate::error::Refusal;
use crate::identity::is_name;
use crate::reserved::Reserved;
use crate::way::ExportConnection;

/// Pause before the next attempt to connect to a peer that does not answer.
const AGAIN: Duration = Duration::from_millis(500);
/// Maximum length of a trim, in bytes; a multiple of the block size.
const TRIM_MAX: u32 = 1 << 30;

/// Peer that may hold copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAddress {
    /// Name of the peer.
    pub name: String,
    /// Address of the peer; the name of an export in it is ignored.
    pub uri: Uri,
    /// Address as the user wrote it, up to 64 bytes.
    pub address: String,
}

impl FromStr for PeerAddress {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let (name, address) = text.split_once('=').filter(|(name, _)| is_name(name)).ok_or(
            "a peer is NAME=ADDRESS; NAME has letters, digits, dots, hyphens and underscores",
        )?;
        if address.len() > ADDRESS_BYTES {
            return Err(Refusal::new(format!(
                "an address of {} B is longer than {ADDRESS_BYTES} B",
                address.len()
            )));
        }
        let uri = address.parse::<Uri>()?;
        Ok(Self { name: name.to_owned(), uri, address: address.to_owned() })
    }
}

impl PeerAddress {
    /// Returns the peer in the form that a sidecar stores.
    pub(crate) fn holder(&self) -> Holder {
        let mut address = [0; ADDRESS_BYTES];
        let bytes = self.address.as_bytes();
        address[..bytes.len()].copy_from_slice(bytes);
        Holder { host: crate::identity::of_disk(&self.name), address }
    }
}

/// Operation on a peer's copy.
#[derive(Debug)]
pub(crate) enum What {
    Write { at: u64, data: Buffer },
    Trim { at: u64, bytes: u32 },
    Flush,
}

#[derive(Debug)]
enum Ask {
    /// I/O with the state machine's number. It is valid only for the connection with the number
    /// `way`.
    Io {
        way: u64,
        io: IoId,
        what: What,
    },
    Cut {
        way: u64,
    },
}

/// Message of a peer's thread.
#[derive(Debug)]
pub(crate) enum PeerMessage {
    Up {
        line: u64,
        disk: u16,
        peer: u8,
        way: u64,
        capacity: u64,
    },
    Lost {
        line: u64,
        disk: u16,
        peer: u8,
    },
    Fenced {
        line: u64,
        disk: u16,
        peer: u8,
    },
    Done {
        io: IoId,
        is_ok: bool,
        data: Buffer,
    },
    /// Result of a check of a disk's reservation, for an I/O that waits for it.
    Checked {
        io: IoId,
        disk: u16,
        result: Result<(), IoError>,
    },
}

#[derive(Debug)]
struct Peer {
    line: u64,
    asks: Sender<Ask>,
    event: Arc<OwnedFd>,
    /// Number of the latest connection that was reported to the state machine.
    way: u64,
}

/// Peers of all disks of a set.
#[derive(Debug)]
pub(crate) struct Peers {
    peers: BTreeMap<(u16, u8), Peer>,
    /// Number of threads started so far, which gives each thread a unique number.
    lines: u64,
    pub(crate) told: Receiver<PeerMessage>,
    tell: Sender<PeerMessage>,
    waker: Arc<OnceLock<Waker>>,
}

impl Peers {
    pub(crate) fn new(waker: Arc<OnceLock<Waker>>) -> Self {
        let (tell, told) = channel();
        Self { peers: BTreeMap::new(), lines: 0, told, tell, waker }
    }

    /// Ends the threads of a disk's peers.
    pub(crate) fn end(&mut self, index: u16) {
        let of = |peer| (index, peer);
        let gone: Vec<(u16, u8)> =
            self.peers.range(of(0)..=of(u8::MAX)).map(|(place, _)| *place).collect();
        gone.into_iter().filter_map(|place| self.peers.remove(&place)).for_each(Peer::end);
    }

    /// Returns true if the thread of this number still serves a peer.
    pub(crate) fn is_line(&self, line: u64) -> bool {
        self.peers.values().any(|peer| peer.line == line)
    }

    /// Starts the thread of a peer.
    pub(crate) fn add(
        &mut self,
        (disk, peer): (u16, u8),
        uri: Uri,
        export: String,
        tls: Option<ClientTls>,
    ) -> io::Result<()> {
        let (asks, asked) = channel();
        let event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        self.lines += 1;
        let line = Line {
            line: self.lines,
            disk,
            peer,
            uri,
            export,
            tls,
            asked,
            event: Arc::clone(&event),
            tell: self.tell.clone(),
            waker: Arc::clone(&self.waker),
            way: 0,
        };
        std::thread::Builder::new().name("copy".to_owned()).spawn(move || line.run())?;
        let line = self.lines;
        self.peers.insert((disk, peer), Peer { line, asks, event, way: 0 });
        Ok(())
    }

    /// Checks a reservation in a separate thread, because the device may take long to answer when a
    /// path to it is lost.
    pub(crate) fn check(&self, disk: u16, io: IoId, reserved: Arc<Reserved>) {
        let (tell, waker) = (self.tell.clone(), Arc::clone(&self.waker));
        let say = move |result| {
            // The receiver may have ended.
            let _ = tell.send(PeerMessage::Checked { io, disk, result });
            if let Some(waker) = waker.get() {
                waker.wake();
            }
        };
        let fail = say.clone();
        let begun = std::thread::Builder::new()
            .name("reserved".to_owned())
            .spawn(move || say(reserved.check()));
        if begun.is_err() {
            fail(Err(IoError::Io));
        }
    }

    /// Records the number of the connection that was reported to the state machine.
    pub(crate) fn known(&mut self, disk: u16, peer: u8, way: u64) {
        if let Some(peer) = self.peers.get_mut(&(disk, peer)) {
            peer.way = way;
        }
    }

    pub(crate) fn ask(&mut self, disk: u16, peer: u8, io: IoId, what: What) {
        let found = &self.peers[&(disk, peer)];
        let way = found.way;
        found.put(Ask::Io { way, io, what });
    }

    pub(crate) fn cut(&mut self, disk: u16, peer: u8) {
        let found = &self.peers[&(disk, peer)];
        found.put(Ask::Cut { way: found.way });
    }
}

impl Peer {
    fn put(&self, ask: Ask) {
        // Sending fails only if the thread has panicked. The state machine then sees a peer without
        // progress.
        let _ = self.asks.send(ask);
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Ends the thread.
    fn end(self) {
        drop(self.asks);
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        std::mem::take(&mut self.peers).into_values().for_each(Peer::end);
    }
}

/// State of the thread of a peer.
struct Line {
    line: u64,
    disk: u16,
    peer: u8,
    uri: Uri,
    export: String,
    tls: Option<ClientTls>,
    asked: Receiver<Ask>,
    event: Arc<OwnedFd>,
    tell: Sender<PeerMessage>,
    waker: Arc<OnceLock<Waker>>,
    way: u64,
}

/// Reason why a connection ended.
enum Over {
    Lost,
    Fenced,
    /// The set dropped the peer.
    Ended,
}

/// I/O in progress: number of outstanding parts, and the bytes read.
struct Under {
    left: u32,
    is_ok: bool,
    data: Buffer,
}

impl Line {
    fn run(mut self) {
        loop {
            let (line, disk, peer) = (self.line, self.disk, self.peer);
            if let Ok(mut way) = ExportConnection::open(&self.uri, &self.export, self.tls.as_ref())
            {
                self.way += 1;
                let mut under = BTreeMap::new();
                let over = self.converse(&mut way, &mut under).unwrap_or(Over::Lost);
                drop(way);
                match over {
                    Over::Lost => self.say(PeerMessage::Lost { line, disk, peer }),
                    Over::Fenced => self.say(PeerMessage::Fenced { line, disk, peer }),
                    Over::Ended => return,
                }
                for (io, under) in under {
                    self.say(PeerMessage::Done { io, is_ok: false, data: under.data });
                }
            }
            if self.wait_a_while() {
                return;
            }
        }
    }

    fn say(&self, told: PeerMessage) {
        // The receiver may have ended.
        let _ = self.tell.send(told);
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    fn refuse(&self, io: IoId, what: What) {
        let data = if let What::Write { data, .. } = what { data } else { Buffer::none() };
        self.say(PeerMessage::Done { io, is_ok: false, data });
    }

    /// Refuses operations until the next attempt to connect. Returns true if the set dropped the
    /// peer.
    fn wait_a_while(&self) -> bool {
        let until = std::time::Instant::now() + AGAIN;
        loop {
            loop {
                match self.asked.try_recv() {
                    Ok(Ask::Io { io, what, .. }) => self.refuse(io, what),
                    Ok(Ask::Cut { .. }) => {}
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return true,
                }
            }
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return false;
            }
            self.wait(None, left);
        }
    }

    /// Waits for an operation, or until the connection is ready, for at most `time`.
    fn wait(&self, way: Option<(&ExportConnection, bool)>, time: Duration) {
        let mut fds = vec![PollFd::new(&self.event, PollFlags::IN)];
        if let Some((way, is_sending)) = way {
            let out = if is_sending { PollFlags::OUT } else { PollFlags::empty() };
            fds.push(PollFd::new(way, PollFlags::IN | out));
        }
        let time = Timespec::try_from(time).ok();
        // The cause of the wake-up is found by looking at all of them.
        let _ = poll(&mut fds, time.as_ref());
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }

    fn converse(
        &mut self,
        way: &mut ExportConnection,
        under: &mut BTreeMap<IoId, Under>,
    ) -> io::Result<Over> {
        let agreed = way.requests.agreed();
        if agreed.abilities.has(Abilities::READ_ONLY) {
            return Ok(Over::Fenced);
        }
        let (capacity, most) = (agreed.size, agreed.blocks.maximum().min(TRIM_MAX));
        way.do_not_wait()?;
        let (line, disk, peer) = (self.line, self.disk, self.peer);
        self.say(PeerMessage::Up { line, disk, peer, way: self.way, capacity });
        let mut parts: BTreeMap<u64, IoId> = BTreeMap::new();
        loop {
            loop {
                match self.asked.try_recv() {
                    Ok(Ask::Io { way: number, io, what }) if number == self.way => {
                        begin(way, io, what, most, under, &mut parts)?;
                    }
                    Ok(Ask::Io { io, what, .. }) => self.refuse(io, what),
                    Ok(Ask::Cut { way: number }) if number == self.way => return Ok(Over::Lost),
                    Ok(Ask::Cut { .. }) => {}
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(Over::Ended),
                }
            }
            let is_sending = way.send()?;
            while let Some(ended) = way.next()? {
                let io = parts.remove(&ended.cookie).expect("a completion belongs to a request");
                let part = under.get_mut(&io).expect("the I/O is in flight");
                part.left -= 1;
                match ended.result {
                    Ok(_) => {}
                    Err(failure) if failure.code == Code::NotPermitted => return Ok(Over::Fenced),
                    Err(_) => part.is_ok = false,
                }
                if part.left == 0 {
                    let Under { is_ok, data, .. } = under.remove(&io).expect("it was there");
                    self.say(PeerMessage::Done { io, is_ok, data });
                }
            }
            self.wait(Some((way, is_sending)), Duration::from_secs(3600));
            match way.receive() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }
}

/// Sends the requests of an I/O. An I/O may need several.
fn begin(
    way: &mut ExportConnection,
    io: IoId,
    what: What,
    most: u32,
    under: &mut BTreeMap<IoId, Under>,
    parts: &mut BTreeMap<u64, IoId>,
) -> io::Result<()> {
    // From here on the I/O is registered, so an error of the connection ends it.
    let part = under.entry(io).or_insert(Under { left: 0, is_ok: true, data: Buffer::none() });
    let mut ask = |operation, at, length, data: &[u8]| -> io::Result<()> {
        parts.insert(way.ask(operation, at, length, data)?, io);
        part.left += 1;
        Ok(())
    };
    match what {
        What::Flush => ask(Operation::Flush, 0, 0, &[]),
        What::Trim { mut at, bytes } => {
            let end = at + u64::from(bytes);
            while at < end {
                let length = u32::try_from(end - at).unwrap_or(u32::MAX).min(TRIM_MAX);
                ask(Operation::Trim { fua: false }, at, length, &[])?;
                at += u64::from(length);
            }
            Ok(())
        }
        What::Write { mut at, data } => {
            for piece in data.chunks(most as usize) {
                let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
                ask(Operation::Write { fua: false }, at, length, piece)?;
                at += u64::from(length);
            }
            part.data = data;
            Ok(())
        }
    }
}
