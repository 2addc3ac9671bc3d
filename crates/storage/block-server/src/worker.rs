mod changes;
mod divided;
mod guests;
mod polling;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use nbd::server::{self, Command};
use nbd::{Code, Export};
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown, sendmsg, shutdown, sockopt};

use crate::alarms::Alarms;
use crate::batch::Batch;
use crate::buffer::Pool;
use crate::connection::{Connection, Cut, Life, Offered, Step};
use crate::guest::{Guest, Order, Part};
use crate::listen::Listener;
use crate::ring::{Cargo, Finished, PIECES_MAX, Ring, Vectors};
use crate::shared::Shared;
use crate::slab::Slab;
use crate::{Answer, Buffer, Catalog, Effects, Limits, Offer, Place, Request, RequestId};

pub(crate) use self::changes::Change;
use self::changes::{Leaving, Open, disk_of, open_of};
use self::divided::Divided;
use self::polling::Polling;

/// Before a listener that failed (out of files) is asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// What a piece of work is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Event,
    Accept(usize),
    Receive(u32),
    Send(u32),
    Disk { disk: usize, io: u64 },
    Kick { guest: u32, queue: u16, era: u32 },
}

/// A request that a disk has.
enum Pending {
    /// Over NBD; with the bytes that its client is charged with.
    Client { client: u32, request: server::Request, bytes: usize },
    /// A part of a client's, by its number there.
    Part { divided: u32, part: usize },
    /// A machine's.
    Guest { guest: u32, part: Part },
}

/// Sends what the socket takes without waiting: how many bytes, or a negated error number.
fn send_now(socket: &OwnedFd, batch: &Batch) -> i32 {
    let pieces: Vec<IoSlice<'_>> = batch.slices().take(PIECES_MAX).map(IoSlice::new).collect();
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match sendmsg(socket, &pieces, &mut SendAncillaryBuffer::default(), flags) {
        Ok(sent) => i32::try_from(sent).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error(),
    }
}

/// A server's thread.
pub(crate) struct Worker {
    ring: Ring<Token>,
    /// Those that are offered to all, their keeper, and those that were opened for one client each.
    disks: Vec<Option<Open>>,
    /// What is offered to all, and where it is.
    exports: Vec<Export>,
    places: Vec<usize>,
    keeper: Option<usize>,
    changes: Receiver<Change>,
    /// Disks that are not offered any more, and that somebody still has.
    leaving: Vec<Leaving>,
    catalog: Option<Box<dyn Catalog>>,
    listeners: Vec<Listener>,
    /// Listeners that failed, and when they are asked again.
    paused: Vec<(usize, Instant)>,
    clients: Slab<Connection>,
    guests: Slab<Guest>,
    /// Machines whose disk another one has still, and until when they wait for it.
    waiting: Vec<(Instant, usize, OwnedFd)>,
    orders: (Sender<Order>, Receiver<Order>),
    pending: Slab<Pending>,
    divided: Slab<Divided>,
    /// Machines in whose queues something may be, or was put.
    kicked: Vec<u32>,
    /// The one that is attended now.
    attended: Option<u32>,
    /// Clients whose state may have changed.
    touched: Vec<u32>,
    /// Disks that have to have their turn.
    turns: Vec<usize>,
    /// Clients that have not chosen a disk, in the order of their deadlines; some have by now.
    shaking: VecDeque<(Instant, u32)>,
    effects: Effects,
    alarms: Alarms,
    pool: Pool,
    vectors: Vec<Vectors>,
    limits: Limits,
    shared: Arc<Shared>,
    /// Requests since the last wait.
    answered: usize,
    polling: Polling,
    /// Set once it stops: until when it waits.
    until: Option<Instant>,
    /// Set once nobody asks any more: until when disks may put themselves in order.
    closing: Option<Instant>,
}

impl Worker {
    pub fn new(
        offer: Offer,
        changes: Receiver<Change>,
        listeners: Vec<Listener>,
        limits: Limits,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let mut worker = Self {
            ring: Ring::new()?,
            disks: Vec::new(),
            exports: Vec::new(),
            places: Vec::new(),
            keeper: None,
            changes,
            leaving: Vec::new(),
            catalog: offer.catalog,
            listeners,
            paused: Vec::new(),
            clients: Slab::new(),
            guests: Slab::new(),
            waiting: Vec::new(),
            orders: channel(),
            pending: Slab::new(),
            divided: Slab::new(),
            kicked: Vec::new(),
            attended: None,
            touched: Vec::new(),
            turns: Vec::new(),
            shaking: VecDeque::new(),
            effects: Effects::default(),
            alarms: Alarms::default(),
            pool: Pool::new(),
            vectors: Vec::new(),
            answered: 0,
            polling: Polling::new(limits.poll),
            limits,
            shared,
            until: None,
            closing: None,
        };
        worker.keeper = offer.keeper.map(|keeper| worker.put(keeper, None));
        for disk in offer.disks {
            worker.offer(disk);
        }
        worker.ring.event(Token::Event, &worker.shared.event)?;
        for listener in 0..worker.listeners.len() {
            worker.ring.accept(Token::Accept(listener), &worker.listeners[listener].socket)?;
        }
        Ok(worker)
    }

    /// Serves until it is told to stop, and everybody who was to be answered is.
    pub fn run(mut self) -> io::Result<()> {
        let mut finished = Vec::new();
        self.tell_disks()?;
        self.attend_clients()?;
        loop {
            let wait = self.wait();
            let requests = std::mem::take(&mut self.answered) + self.pending.len();
            if let Some(longest) = self.polling.look(requests, wait) {
                self.polling.looked(self.ring.look(longest)?);
            }
            self.ring.enter(wait)?;
            self.ring.reap(&mut finished);
            for one in finished.drain(..) {
                self.finished(one)?;
            }
            self.look_at_the_clock()?;
            // First: what they ask may answer clients, and what clients ask lets them be attended again at once.
            self.attend_guests()?;
            self.attend_clients()?;
            self.let_leave()?;
            if let Some(until) = self.until
                && (self.is_nobody_left() || Instant::now() > until + self.limits.drain)
                && self.are_disks_closed()?
            {
                return Ok(());
            }
        }
    }

    /// Clients ask and are told what is answered, and disks have their turn, until nobody has anything.
    fn attend_clients(&mut self) -> io::Result<()> {
        loop {
            while let Some(client) = self.touched.pop() {
                if self.clients.get(client).is_some() {
                    self.attend(client)?;
                }
            }
            let Some(disk) = self.turns.pop() else { return Ok(()) };
            // One that was opened for a client is gone with him.
            if let Some(Some(open)) = self.disks.get_mut(disk) {
                open.disk.turn(&mut self.effects);
                self.take_effects(disk)?;
            }
        }
    }

    /// Until when nothing has to be done unless something ends. Mostly there is no such time, and then
    /// no timer is set and no clock is read.
    fn wait(&mut self) -> Option<Duration> {
        if !self.kicked.is_empty() || self.ring.has_more() {
            return Some(Duration::ZERO);
        }
        while let Some((deadline, client)) = self.shaking.front().copied()
            && !self.is_shaking(client, deadline)
        {
            self.shaking.pop_front();
        }
        let late = self.shaking.front().map(|(deadline, _)| *deadline);
        let again = self.paused.iter().map(|(_, at)| *at);
        let drained = self
            .until
            .filter(|_| self.closing.is_none())
            .map(|until| if Instant::now() < until { until } else { until + self.limits.drain });
        let waiting = self.waiting.iter().map(|(until, ..)| *until);
        let next = again
            .chain(late)
            .chain(drained)
            .chain(waiting)
            .chain(self.leaving.iter().map(|leaving| leaving.until))
            .chain(self.alarms.next())
            .chain(self.closing)
            .min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Whether a client that has so long for it still has to choose its disk.
    fn is_shaking(&self, client: u32, deadline: Instant) -> bool {
        self.clients.get(client).is_some_and(|client| client.deadline == Some(deadline))
    }

    /// Disks put themselves in order, once nobody asks any more. Whether they have, or had their time.
    fn are_disks_closed(&mut self) -> io::Result<bool> {
        if self.closing.is_none() {
            self.closing = Some(Instant::now() + self.limits.close);
            for disk in self.heads() {
                disk_of(&mut self.disks, disk).close(&mut self.effects);
                self.carry_out(disk)?;
            }
            self.attend_clients()?;
        }
        let is_late = self.closing.is_some_and(|closing| closing <= Instant::now());
        Ok(is_late || self.disks.iter().flatten().all(|open| open.disk.is_closed()))
    }

    fn tell_disks(&mut self) -> io::Result<()> {
        for disk in self.heads() {
            disk_of(&mut self.disks, disk).told(&mut self.effects);
            self.carry_out(disk)?;
        }
        Ok(())
    }

    fn look_at_the_clock(&mut self) -> io::Result<()> {
        if self.shaking.is_empty()
            && self.paused.is_empty()
            && self.waiting.is_empty()
            && self.until.is_none()
            && self.leaving.is_empty()
            && self.alarms.next().is_none()
        {
            return Ok(());
        }
        let now = Instant::now();
        while let Some((disk, alarm)) = self.alarms.due(now) {
            // One that was withdrawn needs no waking.
            if let Some(Some(open)) = self.disks.get_mut(disk) {
                open.disk.woken(alarm, &mut self.effects);
                self.carry_out(disk)?;
            }
        }
        while let Some((deadline, client)) = self.shaking.front().copied()
            && deadline <= now
        {
            self.shaking.pop_front();
            if self.is_shaking(client, deadline) {
                self.shared.counters.late.add(1);
                self.cut(client);
            }
        }
        self.waiting.retain(|(until, ..)| *until > now);
        for (listener, at) in std::mem::take(&mut self.paused) {
            if at <= now {
                self.ring.accept(Token::Accept(listener), &self.listeners[listener].socket)?;
            } else {
                self.paused.push((listener, at));
            }
        }
        if self.until.is_some_and(|until| until <= now) {
            for client in self.clients.numbers() {
                self.cut(client);
            }
        }
        Ok(())
    }

    fn finished(&mut self, finished: Finished<Token>) -> io::Result<()> {
        let Finished { token, result, cargo, is_last } = finished;
        match (token, cargo) {
            (Token::Event, _) => self.told()?,
            (Token::Accept(listener), Cargo::Client(socket)) => self.come(listener, socket)?,
            (Token::Accept(listener), _) => self.paused.push((listener, Instant::now() + AGAIN)),
            (Token::Kick { guest, queue, era }, _) => {
                self.kicked(guest, queue, era, result, is_last)?;
            }
            (Token::Receive(client), Cargo::Buffer(buffer)) => self.heard(client, result, buffer),
            (Token::Send(client), Cargo::Batch(batch, vectors)) => {
                self.vectors.push(vectors);
                self.said(client, result, batch)?;
            }
            (Token::Disk { disk, io }, Cargo::Buffer(data)) => {
                let result = u32::try_from(result).map_err(|_| -result);
                disk_of(&mut self.disks, disk).done(io, result, data, &mut self.effects);
                self.carry_out(disk)?;
            }
            _ => unreachable!("work comes back as it went"),
        }
        Ok(())
    }

    /// Its owner wants something: attention for the disks, or that it stops.
    fn told(&mut self) -> io::Result<()> {
        if self.shared.stop.load(Ordering::Acquire) {
            return self.stop();
        }
        self.ring.event(Token::Event, &self.shared.event)?;
        self.take_changes()?;
        self.take_orders()?;
        self.tell_disks()
    }

    /// Takes no more requests.
    fn stop(&mut self) -> io::Result<()> {
        self.until = Some(Instant::now() + self.limits.drain);
        for number in self.clients.numbers() {
            let client = &mut self.clients[number];
            if client.life == Life::Open {
                client.life = Life::Ending;
            }
            self.touched.push(number);
        }
        self.end_guests()
    }

    /// A client comes in.
    fn come(&mut self, listener: usize, socket: OwnedFd) -> io::Result<()> {
        if self.until.is_some() {
            return Ok(());
        }
        let door = &self.listeners[listener];
        self.ring.accept(Token::Accept(listener), &door.socket)?;
        let count = self.clients.len() + self.guests.len() + self.waiting.len();
        if count >= self.limits.connections {
            self.shared.counters.sent_away.add(1);
            return Ok(());
        }
        if let Some(name) = &door.disk {
            // One whose disk was withdrawn is sent away.
            let place = self.exports.iter().position(|export| export.name() == name);
            return place.map_or(Ok(()), |place| self.come_in(self.places[place], socket));
        }
        if matches!(door.place, Place::Tcp(_)) {
            // Without it, it is only slower.
            let _ = sockopt::set_tcp_nodelay(&socket, true);
        }
        let deadline = Instant::now() + self.limits.handshake;
        let client = Connection::new(
            socket,
            door.tls.clone(),
            self.catalog.is_some(),
            &mut self.pool,
            deadline,
        );
        let number = self.clients.add(client);
        self.shared.counters.connections.add(1);
        self.shaking.push_back((deadline, number));
        self.touched.push(number);
        Ok(())
    }

    /// Bytes came, or the client went: what it asked for before is still answered, in case it only
    /// speaks no more.
    fn heard(&mut self, number: u32, result: i32, buffer: Buffer) {
        let client = &mut self.clients[number];
        client.received(buffer, usize::try_from(result).unwrap_or(0));
        match -result {
            ..0 | libc::EAGAIN | libc::EINTR => {}
            0 if client.life == Life::Open => client.life = Life::Ending,
            0 => {}
            _ => self.cut(number),
        }
        self.touched.push(number);
    }

    /// A batch has left, or a part of it.
    fn said(&mut self, number: u32, result: i32, mut batch: Batch) -> io::Result<()> {
        let client = &mut self.clients[number];
        let sent = match result {
            0.. => usize::try_from(result).expect("it is not negative"),
            _ if [libc::EAGAIN, libc::EINTR].contains(&-result) => 0,
            _ => {
                client.sending = 0;
                batch.clear(&mut self.pool);
                self.cut(number);
                return Ok(());
            }
        };
        batch.advance(sent);
        client.sending = batch.left();
        if client.sending > 0 {
            let (socket, vectors) = (Arc::clone(&client.socket), self.vectors.pop());
            return self.ring.send(Token::Send(number), &socket, batch, vectors);
        }
        batch.clear(&mut self.pool);
        // One with more answers, that asks no more, or that had to wait until these were gone, goes on.
        if client.life != Life::Open || !client.is_receiving() || client.out.left() > 0 {
            self.touched.push(number);
        }
        client.spare = batch;
        Ok(())
    }

    /// Nothing more is said to a client. What it asked a disk for goes on.
    fn cut(&mut self, number: u32) {
        let client = &mut self.clients[number];
        if client.life != Life::Dead {
            client.life = Life::Dead;
            // What is under way on the socket ends; one that is gone already is not an error.
            let _ = shutdown(&client.socket, Shutdown::Both);
        }
        self.touched.push(number);
    }

    /// Does for a client what can be done now.
    fn attend(&mut self, number: u32) -> io::Result<()> {
        self.listen_to(number)?;
        match self.clients[number].take_out(&mut self.pool) {
            Ok(Some(batch)) => {
                // At once, as far as the socket takes it: through the ring its end would end the next wait for the kernel,
                // which is another call of it for each answer.
                let result = send_now(&self.clients[number].socket, &batch);
                self.said(number, result, batch)?;
            }
            Ok(None) => {}
            Err(_) => self.cut(number),
        }
        let client = &mut self.clients[number];
        if client.life == Life::Ending && client.is_settled() {
            if client.says_goodbye() {
                self.touched.push(number);
            } else {
                self.cut(number);
            }
        }
        let client = &self.clients[number];
        if client.life == Life::Dead
            && !client.is_receiving()
            && client.sending == 0
            && client.requests == 0
        {
            let client = self.clients.remove(number);
            if let Some((_, disk)) = client.own {
                self.disks[disk] = None;
            }
            client.end(&mut self.pool);
        }
        Ok(())
    }

    /// Takes what a client asks, as long as it may ask.
    fn listen_to(&mut self, number: u32) -> io::Result<()> {
        while self.clients[number].life == Life::Open {
            let client = &mut self.clients[number];
            let offered = Offered { exports: &self.exports, places: &self.places };
            match client.step(offered, &mut self.pool, &self.limits) {
                Ok(Step::Request(request, data)) => self.submit(number, request, data)?,
                Ok(Step::Refused) => self.shared.counters.errors.add(1),
                Ok(Step::Wait) => return Ok(()),
                Ok(Step::Wanted(name)) => self.open_for(number, &name),
                Ok(Step::End) => client.life = Life::Ending,
                Ok(Step::Receive) => {
                    if let Some((buffer, behind)) = client.lend() {
                        let socket = Arc::clone(&client.socket);
                        self.ring.receive(Token::Receive(number), &socket, buffer, behind)?;
                    }
                    return Ok(());
                }
                Err(Cut::Violation | Cut::Tls) => {
                    self.shared.counters.violations.add(1);
                    self.cut(number);
                }
            }
        }
        Ok(())
    }

    /// Opens a disk for this client alone, if there is one of that name.
    fn open_for(&mut self, number: u32, name: &str) {
        let Some(disk) = self.catalog.as_mut().and_then(|catalog| catalog.open(name)) else {
            return;
        };
        let export = disk.export().clone();
        let place = self.put(disk, None);
        if let Some((_, before)) = self.clients[number].own.replace((export, place)) {
            self.disks[before] = None;
        }
    }

    fn submit(&mut self, number: u32, request: server::Request, data: Buffer) -> io::Result<()> {
        let client = &mut self.clients[number];
        let is_read = request.command == Command::Read;
        let bytes = if is_read { request.length as usize } else { data.len() };
        client.requests += 1;
        client.bytes += bytes;
        let most = client.session().export().blocks().maximum() as usize;
        if bytes > most {
            return self.divide(number, request, data, most);
        }
        let data = if is_read { self.pool.take(bytes) } else { data };
        let pending = Pending::Client { client: number, request, bytes };
        self.ask(self.clients[number].disk, pending, request, data)
    }

    /// Asks a disk, for whoever is to be told of it.
    fn ask(
        &mut self,
        disk: usize,
        pending: Pending,
        request: server::Request,
        data: Buffer,
    ) -> io::Result<()> {
        self.shared.counters.requests.add(1);
        let id = RequestId(self.pending.add(pending));
        let server::Request { command, offset, length, .. } = request;
        let request = Request { id, command, offset, length, data };
        disk_of(&mut self.disks, disk).submit(request, &mut self.effects);
        self.carry_out(disk)
    }

    /// Carries out what a disk wants, which is to have its turn.
    fn carry_out(&mut self, disk: usize) -> io::Result<()> {
        let disk = open_of(&mut self.disks, disk).home;
        if !self.turns.contains(&disk) {
            self.turns.push(disk);
        }
        self.take_effects(disk)
    }

    fn take_effects(&mut self, disk: usize) -> io::Result<()> {
        let mut ios = std::mem::take(&mut self.effects.ios);
        for io in ios.drain(..) {
            let token = Token::Disk { disk, io: io.id };
            self.ring.file(token, &io.file, io.action, io.data)?;
        }
        self.effects.ios = ios;
        for (after, alarm) in self.effects.alarms.drain(..) {
            self.alarms.add(Instant::now() + after, disk, alarm);
        }
        let mut answers = std::mem::take(&mut self.effects.answers);
        for answer in answers.drain(..) {
            self.answer(answer);
        }
        self.effects.answers = answers;
        Ok(())
    }

    fn answer(&mut self, answer: Answer) {
        self.answered += 1;
        match self.pending.remove(answer.id.0) {
            Pending::Client { client, request, bytes } => {
                self.tell(client, request, bytes, answer.result, [answer.data]);
            }
            Pending::Part { divided, part } => self.answer_part(divided, part, answer),
            Pending::Guest { guest, part } => self.answer_guest(guest, part, answer),
        }
    }

    /// Tells a client what became of a request; of a read, with all of its bytes in their order.
    fn tell(
        &mut self,
        number: u32,
        request: server::Request,
        bytes: usize,
        result: Result<(), Code>,
        data: impl IntoIterator<Item = Buffer>,
    ) {
        let client = &mut self.clients[number];
        client.requests -= 1;
        client.bytes -= bytes;
        if self.touched.last() != Some(&number) {
            self.touched.push(number);
        }
        let is_read = request.command == Command::Read;
        let (is_dead, mut left) = (client.life == Life::Dead, 0);
        let mut out = std::mem::take(&mut client.out);
        let session = client.session();
        match result {
            _ if is_dead => {}
            Ok(()) if is_read => out.write(|heads| session.write_data_header(&request, heads)),
            Ok(()) => out.write(|heads| session.write_done(request.cookie, heads)),
            Err(code) => {
                let words = code.to_string();
                out.write(|heads| session.write_error(request.cookie, code, &words, heads));
                self.shared.counters.errors.add(1);
            }
        }
        for data in data {
            if is_read && result.is_ok() && !is_dead {
                left += data.len();
                out.data(data);
            } else {
                self.pool.give(data);
            }
        }
        let is_all = !is_read || result.is_err() || is_dead || left == request.length as usize;
        assert!(is_all, "all that was asked for");
        self.clients[number].out = out;
    }
}
