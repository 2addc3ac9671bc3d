//! NBD clients, over Unix sockets, TCP and TLS.

mod connection;
mod divided;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use nbd::server;
use nbd::{Code, Operation};
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown, sendmsg, shutdown, sockopt};

use self::connection::{Connection, Cut, Life, Offered, Step};
use self::divided::Divided;
use crate::batch::Batch;
use crate::core::Core;
use crate::front_end::FrontEnd;
use crate::listen::Listener;
use crate::listeners::Listeners;
use crate::ring::{Cargo, Finished, PIECES_MAX, Vectors};
use crate::token::{NBD, NbdWork as Work, Token};
use crate::{Answer, Buffer, ListenAddress};
use state_machine::Slab;

/// Origin of a request that was submitted to a disk.
enum Origin {
    /// Whole request of a client, with the bytes that count against the client's limit.
    Client { client: u32, request: server::Request, bytes: usize },
    /// Part of a divided request.
    Part { divided: u32, part: usize },
}

/// All NBD clients and their requests.
pub(crate) struct Clients {
    listeners: Listeners,
    clients: Slab<Connection>,
    asked: Slab<Origin>,
    divided: Slab<Divided>,
    /// Clients whose state may have changed since their last turn.
    touched: Vec<u32>,
    /// Clients with their deadlines for choosing a disk, the earliest first. A client stays in the
    /// list after it has chosen.
    shaking: VecDeque<(Instant, u32)>,
    vectors: Vec<Vectors>,
}

/// Sends as many bytes as the socket accepts without blocking. Returns the number of bytes, or a
/// negated error number.
fn send_now(socket: &OwnedFd, batch: &Batch) -> i32 {
    let pieces: Vec<IoSlice<'_>> = batch.slices().take(PIECES_MAX).map(IoSlice::new).collect();
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match sendmsg(socket, &pieces, &mut SendAncillaryBuffer::default(), flags) {
        Ok(sent) => i32::try_from(sent).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error(),
    }
}

impl Clients {
    pub fn new(listeners: Vec<Listener>, core: &mut Core) -> io::Result<Self> {
        Ok(Self {
            listeners: Listeners::open(listeners, |door| Token::Nbd(Work::Accept(door)), core)?,
            clients: Slab::new(),
            asked: Slab::new(),
            divided: Slab::new(),
            touched: Vec::new(),
            shaking: VecDeque::new(),
            vectors: Vec::new(),
        })
    }

    /// Handles a completion of the ring.
    pub fn finished(
        &mut self,
        work: Work,
        finished: Finished<Token>,
        core: &mut Core,
    ) -> io::Result<()> {
        match (work, finished.cargo) {
            (Work::Accept(door), cargo) => {
                if let Some(socket) = self.listeners.accepted(door, cargo, core)? {
                    self.come(door, socket, core);
                }
            }
            (Work::Receive(client), Cargo::Buffer(buffer)) => {
                self.heard(client, finished.result, buffer);
            }
            (Work::Send(client), Cargo::Batch(batch, vectors)) => {
                self.vectors.push(vectors);
                self.said(client, finished.result, batch, core)?;
            }
            _ => unreachable!("an I/O completes with its own kind of cargo"),
        }
        Ok(())
    }

    /// Returns true if this deadline for choosing a disk still applies to the client.
    fn is_shaking(&self, client: u32, deadline: Instant) -> bool {
        self.clients.get(client).is_some_and(|client| client.deadline == Some(deadline))
    }

    /// Adds a client that was accepted by the listener `door`.
    fn come(&mut self, door: usize, socket: OwnedFd, core: &mut Core) {
        let door = &self.listeners[door];
        if matches!(door.place, ListenAddress::Tcp(_)) {
            // A failure only makes answers slower.
            let _ = sockopt::set_tcp_nodelay(&socket, true);
        }
        let deadline = Instant::now() + core.limits.handshake;
        let has_others = core.catalog.is_some();
        let client =
            Connection::new(socket, door.tls.clone(), has_others, &mut core.pool, deadline);
        let number = self.clients.insert(client);
        core.connections += 1;
        core.shared.counters.connections.add(1);
        self.shaking.push_back((deadline, number));
        self.touched.push(number);
    }

    /// Handles received bytes, or the end of the stream. Earlier requests are still answered after
    /// the end, because the client may have closed only its sending side.
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

    /// Handles the completion of a send, which may have sent only a part of its batch.
    fn said(
        &mut self,
        number: u32,
        result: i32,
        mut batch: Batch,
        core: &mut Core,
    ) -> io::Result<()> {
        let client = &mut self.clients[number];
        let sent = match result {
            0.. => usize::try_from(result).expect("the result is not negative"),
            _ if [libc::EAGAIN, libc::EINTR].contains(&-result) => 0,
            _ => {
                client.sending = 0;
                batch.clear(&mut core.pool);
                self.cut(number);
                return Ok(());
            }
        };
        batch.advance(sent);
        client.sending = batch.left();
        if client.sending > 0 {
            let (socket, vectors) = (Arc::clone(&client.socket), self.vectors.pop());
            return core.ring.send(Token::Nbd(Work::Send(number)), &socket, batch, vectors);
        }
        batch.clear(&mut core.pool);
        // The client can go on if it has more answers, has ended, or waited for these answers to
        // leave.
        if client.life != Life::Open || !client.is_receiving() || client.out.left() > 0 {
            self.touched.push(number);
        }
        client.spare = batch;
        Ok(())
    }

    /// Disconnects a client at once. Its requests that a disk has continue.
    fn cut(&mut self, number: u32) {
        let client = &mut self.clients[number];
        if client.life != Life::Dead {
            client.life = Life::Dead;
            // Ends the operations in flight on the socket. An error means that the client has
            // already disconnected.
            let _ = shutdown(&client.socket, Shutdown::Both);
        }
        self.touched.push(number);
    }

    /// Decodes a client's requests, sends its answers, and removes the client once it has ended.
    fn attend_client(&mut self, number: u32, core: &mut Core) -> io::Result<()> {
        self.listen_to(number, core)?;
        match self.clients[number].take_out(&mut core.pool) {
            Ok(Some(batch)) => {
                // Sent at once, as far as the socket takes it. A send through the ring would
                // complete during the next wait and cost one more call of the kernel for each
                // answer.
                let result = send_now(&self.clients[number].socket, &batch);
                self.said(number, result, batch, core)?;
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
            core.connections -= 1;
            if let Some((_, disk)) = client.own {
                core.close(disk);
            }
            client.end(&mut core.pool);
        }
        Ok(())
    }

    /// Decodes a client's requests until more bytes must be received or answers must be sent.
    fn listen_to(&mut self, number: u32, core: &mut Core) -> io::Result<()> {
        while self.clients[number].life == Life::Open {
            let client = &mut self.clients[number];
            let offered = Offered { exports: &core.exports, places: &core.places };
            match client.step(offered, &mut core.pool, &core.limits) {
                Ok(Step::Request(request, data)) => self.submit(number, request, data, core)?,
                Ok(Step::Refused) => core.shared.counters.errors.add(1),
                Ok(Step::Wait) => return Ok(()),
                Ok(Step::Wanted(name)) => self.open_for(number, &name, core),
                Ok(Step::End) => client.life = Life::Ending,
                Ok(Step::Receive) => {
                    if let Some((buffer, behind)) = client.lend() {
                        let socket = Arc::clone(&client.socket);
                        core.ring.receive(
                            Token::Nbd(Work::Receive(number)),
                            &socket,
                            buffer,
                            behind,
                        )?;
                    }
                    return Ok(());
                }
                Err(Cut::Violation | Cut::Tls) => {
                    core.shared.counters.violations.add(1);
                    self.cut(number);
                }
            }
        }
        Ok(())
    }

    /// Opens the catalog's disk of this name for this client alone, if there is one.
    fn open_for(&mut self, number: u32, name: &str, core: &mut Core) {
        let Some(opened) = core.open(name) else { return };
        if let Some((_, before)) = self.clients[number].own.replace(opened) {
            core.close(before);
        }
    }

    fn submit(
        &mut self,
        number: u32,
        request: server::Request,
        data: Buffer,
        core: &mut Core,
    ) -> io::Result<()> {
        let client = &mut self.clients[number];
        let is_read = request.operation == Operation::Read;
        let bytes = if is_read { request.length as usize } else { data.len() };
        client.requests += 1;
        client.bytes += bytes;
        let most = client.session().export().blocks().maximum() as usize;
        if bytes > most {
            return self.divide(number, request, data, most, core);
        }
        let data = if is_read { core.pool.take(bytes) } else { data };
        let asked = Origin::Client { client: number, request, bytes };
        self.ask(self.clients[number].disk, asked, request, data, core)
    }

    /// Submits a request to a disk, and handles the answers that the disk gives at once.
    fn ask(
        &mut self,
        disk: usize,
        asked: Origin,
        request: server::Request,
        data: Buffer,
        core: &mut Core,
    ) -> io::Result<()> {
        let server::Request { operation, offset, length, .. } = request;
        let number = self.asked.insert(asked);
        core.ask(disk, (NBD, number), (operation, offset, length), data)?;
        self.take_answers(core);
        Ok(())
    }

    /// Answers a client's request. `data` has all bytes of a read, in order.
    fn tell(
        &mut self,
        number: u32,
        request: server::Request,
        bytes: usize,
        result: Result<(), Code>,
        data: impl IntoIterator<Item = Buffer>,
        core: &mut Core,
    ) {
        let client = &mut self.clients[number];
        client.requests -= 1;
        client.bytes -= bytes;
        if self.touched.last() != Some(&number) {
            self.touched.push(number);
        }
        let is_read = request.operation == Operation::Read;
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
                core.shared.counters.errors.add(1);
            }
        }
        for data in data {
            if is_read && result.is_ok() && !is_dead {
                left += data.len();
                out.data(data);
            } else {
                core.pool.give(data);
            }
        }
        let is_all = !is_read || result.is_err() || is_dead || left == request.length as usize;
        assert!(is_all, "a complete read has all requested bytes");
        self.clients[number].out = out;
    }
}

impl FrontEnd for Clients {
    fn take_answers(&mut self, core: &mut Core) {
        while let Some((number, answer)) = core.next_answer(NBD) {
            match self.asked.remove(number) {
                Origin::Client { client, request, bytes } => {
                    let Answer { result, data, .. } = answer;
                    self.tell(client, request, bytes, result, [data], core);
                }
                Origin::Part { divided, part } => self.answer_part(divided, part, answer, core),
            }
        }
    }

    fn attend(&mut self, core: &mut Core) -> io::Result<()> {
        while let Some(client) = self.touched.pop() {
            if self.clients.get(client).is_some() {
                self.attend_client(client, core)?;
            }
        }
        Ok(())
    }

    fn has_work(&self) -> bool {
        !self.touched.is_empty()
    }

    fn next_time(&mut self) -> Option<Instant> {
        while let Some((deadline, client)) = self.shaking.front().copied()
            && !self.is_shaking(client, deadline)
        {
            self.shaking.pop_front();
        }
        let shaking = self.shaking.front().map(|(deadline, _)| *deadline);
        shaking.into_iter().chain(self.listeners.next_time()).min()
    }

    fn look_at_clock(&mut self, now: Instant, core: &mut Core) -> io::Result<()> {
        while let Some((deadline, client)) = self.shaking.front().copied()
            && deadline <= now
        {
            self.shaking.pop_front();
            if self.is_shaking(client, deadline) {
                core.shared.counters.late.add(1);
                self.cut(client);
            }
        }
        self.listeners.look_at_clock(now, core)
    }

    fn take_orders(&mut self, _: &mut Core) -> io::Result<()> {
        Ok(())
    }

    fn stop(&mut self, _: &mut Core) -> io::Result<()> {
        for number in self.clients.numbers() {
            let client = &mut self.clients[number];
            if client.life == Life::Open {
                client.life = Life::Ending;
            }
            self.touched.push(number);
        }
        Ok(())
    }

    fn cut_off(&mut self) {
        for client in self.clients.numbers() {
            self.cut(client);
        }
    }

    fn withdraw(&mut self, disk: usize, _: &mut Core) {
        for number in self.clients.numbers() {
            let client = &mut self.clients[number];
            if client.has(disk) && client.life == Life::Open {
                client.life = Life::Ending;
            }
            self.touched.push(number);
        }
    }

    fn let_go(&mut self, disk: usize, is_late: bool, _: &mut Core) -> io::Result<bool> {
        let mut is_used = false;
        for number in self.clients.numbers() {
            if !self.clients[number].has(disk) {
                continue;
            }
            is_used = true;
            // A client whose requests are answered, and that does not read the answers.
            if is_late && self.clients[number].requests == 0 {
                self.cut(number);
            }
        }
        Ok(is_used)
    }

    fn is_settled(&self) -> bool {
        self.clients.len() == 0
    }
}
