//! Machines, as the server's thread sees them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Pending, Token, Worker, disk_of};
use crate::guest::{Guest, Job, Order, Part, Seat, Terms, speak};
use crate::{Answer, Request, RequestId};

/// How long a machine waits for a disk that another one, or itself before, has still.
const PATIENCE: Duration = Duration::from_secs(3);
/// Requests of one machine that are taken before others have their turn.
const TURN: usize = 256;

impl Worker {
    /// A machine wants a disk.
    pub(super) fn come_in(&mut self, disk: usize, socket: OwnedFd) -> io::Result<()> {
        self.waiting.push((Instant::now() + PATIENCE, disk, socket));
        self.let_in()
    }

    /// Lets in who need not wait any more: a disk has one machine at a time.
    fn let_in(&mut self) -> io::Result<()> {
        for (until, disk, socket) in std::mem::take(&mut self.waiting) {
            let is_taken = |number: &u32| {
                let guest = &self.guests[*number];
                guest.disk == disk && !guest.is_gone
            };
            if self.guests.numbers().iter().any(is_taken) {
                self.waiting.push((until, disk, socket));
                continue;
            }
            let stream = UnixStream::from(socket);
            // Where no file is left for it, it is sent away.
            let Ok(ours) = stream.try_clone() else { continue };
            let guest = self.guests.add(Guest::new(disk, ours));
            let (orders, shared) = (self.orders.0.clone(), Arc::clone(&self.shared));
            let export = disk_of(&mut self.disks, disk).export().clone();
            let seat = Seat { guest, orders, shared };
            let thread = std::thread::Builder::new().name("vhost-user".to_owned());
            // Where there is no thread to be had, its seat is left at once.
            let _ = thread.spawn(move || speak(stream, seat, export));
            self.shared.counters.connections.add(1);
        }
        Ok(())
    }

    pub(super) fn take_orders(&mut self) -> io::Result<()> {
        while let Ok(order) = self.orders.1.try_recv() {
            self.take_order(order)?;
        }
        Ok(())
    }

    fn take_order(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Start { guest, queue, made, features } => {
                let disk = disk_of(&mut self.disks, self.guests[guest].disk);
                let terms = Terms::new(disk.export(), features);
                let (one, mut made) = (&mut self.guests[guest], *made);
                one.eras += 1;
                made.era = one.eras;
                let token = Token::Kick { guest, queue, era: made.era };
                made.watch = Some(self.ring.watch(token, &made.kick)?);
                one.watches += 1;
                one.begin(queue, made, terms);
                self.kicked.push(guest);
            }
            Order::Stop { guest, queue, reply } => {
                let one = &mut self.guests[guest];
                let watch = one.queue(queue).and_then(|queue| queue.watch.take());
                one.leave(queue, reply);
                if let Some(watch) = watch {
                    self.ring.call_off(watch)?;
                }
                self.kicked.push(guest);
            }
            Order::Call { guest, queue, call } => {
                if let Some(queue) = self.guests[guest].queue(queue) {
                    queue.call = call;
                }
            }
            Order::Memory { guest, memory } => self.guests[guest].moved(&memory),
            Order::End { guest } => {
                for watch in self.guests[guest].gone() {
                    self.ring.call_off(watch)?;
                }
                self.kicked.push(guest);
                self.let_in()?;
            }
        }
        Ok(())
    }

    /// A queue was kicked, or is not watched any more.
    pub(super) fn kicked(
        &mut self,
        guest: u32,
        queue: u16,
        era: u32,
        result: i32,
        is_last: bool,
    ) -> io::Result<()> {
        let one = &mut self.guests[guest];
        one.watches -= usize::from(is_last);
        self.kicked.push(guest);
        let Some(kicked) = one.queue(queue).filter(|queue| queue.era == era) else { return Ok(()) };
        if is_last && kicked.watch.is_some() {
            if result < 0 {
                kicked.watch = None;
                kicked.give_up();
                let error = io::Error::from_raw_os_error(-result);
                self.shared.note(format!("kicks of queue {queue} cannot be watched: {error}"));
                return Ok(());
            }
            // The kernel ends it when it has no room to tell of it.
            let token = Token::Kick { guest, queue, era };
            kicked.watch = Some(self.ring.watch(token, &kicked.kick)?);
            one.watches += 1;
        }
        one.is_ready(queue);
        Ok(())
    }

    /// Takes what machines ask, and tells them what is answered.
    pub(super) fn attend_guests(&mut self) -> io::Result<()> {
        let mut kicked = std::mem::take(&mut self.kicked);
        kicked.sort_unstable();
        kicked.dedup();
        for number in kicked.drain(..) {
            // One that is gone may have been kicked before.
            if self.guests.get(number).is_some() {
                self.attend_guest(number)?;
            }
        }
        kicked.append(&mut self.kicked);
        self.kicked = kicked;
        Ok(())
    }

    fn attend_guest(&mut self, number: u32) -> io::Result<()> {
        let disk = self.guests[number].disk;
        let blocks = disk_of(&mut self.disks, disk).export().blocks();
        let most = u64::from(blocks.maximum());
        let mut budget = TURN;
        self.attended = Some(number);
        while let Some(job) = self.guests[number].next(&self.limits, most, &mut budget) {
            self.submit_job(number, disk, &job)?;
        }
        self.attended = None;
        let guest = &mut self.guests[number];
        guest.call();
        guest.let_go();
        if guest.has_more(&self.limits) {
            self.kicked.push(number);
        }
        if guest.is_gone && guest.parts == 0 && guest.watches == 0 {
            self.guests.remove(number);
        }
        Ok(())
    }

    fn submit_job(&mut self, number: u32, disk: usize, job: &Job) -> io::Result<()> {
        let mut at = 0;
        loop {
            let now = (job.bytes - at).min(job.most);
            let length = u32::try_from(now).expect("no request has more than 2 GiB");
            let part = Part { open: job.open, at };
            at += now;
            // The last part that is answered ends the job, and may be this one.
            let is_last = at == job.bytes;
            let guest = &mut self.guests[number];
            match guest.data(job, part.at, length, &mut self.pool) {
                Some(data) => {
                    guest.parts += 1;
                    self.shared.counters.requests.add(1);
                    let pending = Pending::Guest { guest: number, part };
                    let id = RequestId(self.pending.add(pending));
                    let (command, offset) = (job.command, job.offset + part.at);
                    let request = Request { id, command, offset, length, data };
                    disk_of(&mut self.disks, disk).submit(request, &mut self.effects);
                    self.carry_out(disk)?;
                }
                None => guest.answered(part, Err(nbd::Code::Io), &[]),
            }
            if is_last {
                return Ok(());
            }
        }
    }

    pub(super) fn answer_guest(&mut self, number: u32, part: Part, answer: Answer) {
        let guest = &mut self.guests[number];
        guest.parts -= 1;
        if answer.result.is_err() {
            self.shared.counters.errors.add(1);
        }
        guest.answered(part, answer.result, &answer.data);
        self.pool.give(answer.data);
        // One that is attended is told at its end, without another turn.
        if self.attended != Some(number) {
            self.kicked.push(number);
        }
    }

    /// Nothing more is taken from any.
    pub(super) fn end_guests(&mut self) -> io::Result<()> {
        self.waiting.clear();
        for number in self.guests.numbers() {
            for watch in self.guests[number].end() {
                self.ring.call_off(watch)?;
            }
            self.kicked.push(number);
        }
        Ok(())
    }

    /// Whether nobody waits for an answer.
    pub(super) fn is_nobody_left(&self) -> bool {
        let mut guests = self.guests.numbers().into_iter();
        self.clients.len() == 0 && guests.all(|number| self.guests[number].is_settled())
    }
}
