//! Front end for vhost-user.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use nbd::Code;

use super::Terms;
use super::protocol::{Order, Seat, speak};
use super::session::{Guest, Job, RequestPart};
use crate::Answer;
use crate::core::Core;
use crate::front_end::FrontEnd;
use crate::listen::Listener;
use crate::listeners::Listeners;
use crate::ring::Finished;
use crate::token::{Token, VHOST, VhostWork as Work};
use state_machine::Slab;

/// Maximum wait of a VM for a disk that is still in use by another VM or by the VM's own earlier
/// connection.
const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum number of requests that are taken from one VM before other VMs have their turn.
const TURN: usize = 256;

/// All VMs that have a disk over vhost-user.
pub(crate) struct Guests {
    listeners: Listeners,
    guests: Slab<Guest>,
    /// Parts of requests that were submitted to disks, with their VMs.
    asked: Slab<(u32, RequestPart)>,
    /// VMs that wait for a disk another VM still uses: the end of the wait, the disk's index, and
    /// the connection.
    waiting: Vec<(Instant, usize, OwnedFd)>,
    orders: (Sender<Order>, Receiver<Order>),
    /// VMs whose queues may have new requests or have got answers.
    kicked: Vec<u32>,
    /// VM whose requests are being handled now.
    attended: Option<u32>,
}

impl Guests {
    pub fn new(listeners: Vec<Listener>, core: &mut Core) -> io::Result<Self> {
        Ok(Self {
            listeners: Listeners::open(listeners, |door| Token::Vhost(Work::Accept(door)), core)?,
            guests: Slab::new(),
            asked: Slab::new(),
            waiting: Vec::new(),
            orders: channel(),
            kicked: Vec::new(),
            attended: None,
        })
    }

    /// Handles a completion of the ring.
    pub fn finished(
        &mut self,
        work: Work,
        finished: Finished<Token>,
        core: &mut Core,
    ) -> io::Result<()> {
        match work {
            Work::Accept(door) => {
                let Some(socket) = self.listeners.accepted(door, finished.cargo, core)? else {
                    return Ok(());
                };
                let name = self.listeners[door].disk.as_deref();
                // A VM whose disk was withdrawn meanwhile is turned away.
                match core.exports.iter().position(|export| Some(export.name()) == name) {
                    Some(at) => self.come_in(core.places[at], socket, core),
                    None => Ok(()),
                }
            }
            Work::Kick { guest, queue, era } => {
                self.kicked(guest, queue, era, finished.result, finished.is_last, core)
            }
        }
    }

    /// Registers a VM that waits for its disk, or gives it the disk at once.
    fn come_in(&mut self, disk: usize, socket: OwnedFd, core: &mut Core) -> io::Result<()> {
        core.connections += 1;
        self.waiting.push((Instant::now() + PATIENCE, disk, socket));
        self.let_in(core)
    }

    /// Turns away the waiting VMs for which `is_over` returns true.
    fn send_away(&mut self, core: &mut Core, mut is_over: impl FnMut(Instant, usize) -> bool) {
        let before = self.waiting.len();
        self.waiting.retain(|(until, disk, _)| !is_over(*until, *disk));
        core.connections -= before - self.waiting.len();
    }

    /// Gives free disks to waiting VMs. Each disk has one VM at a time.
    fn let_in(&mut self, core: &mut Core) -> io::Result<()> {
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
            // Without a free file descriptor the VM is turned away.
            let Ok(ours) = stream.try_clone() else {
                core.connections -= 1;
                continue;
            };
            let guest = self.guests.insert(Guest::new(disk, ours));
            let (orders, shared) = (self.orders.0.clone(), Arc::clone(&core.shared));
            let export = core.export(disk).clone();
            let seat = Seat { guest, orders, shared };
            let thread = std::thread::Builder::new().name("vhost-user".to_owned());
            // If no thread can be started, dropping the closure drops the seat, which ends the
            // VM.
            let _ = thread.spawn(move || speak(stream, seat, export));
            core.shared.counters.connections.add(1);
        }
        Ok(())
    }

    fn take_order(&mut self, order: Order, core: &mut Core) -> io::Result<()> {
        match order {
            Order::Start { guest, queue, made, features } => {
                let terms = Terms::new(core.export(self.guests[guest].disk), features);
                let (one, mut made) = (&mut self.guests[guest], *made);
                one.eras += 1;
                made.era = one.eras;
                let token = Token::Vhost(Work::Kick { guest, queue, era: made.era });
                made.watch = Some(core.ring.watch(token, &made.kick)?);
                one.watches += 1;
                one.begin(queue, made, terms);
                self.kicked.push(guest);
            }
            Order::Stop { guest, queue, reply } => {
                let one = &mut self.guests[guest];
                let watch = one.queue(queue).and_then(|queue| queue.watch.take());
                one.leave(queue, reply);
                if let Some(watch) = watch {
                    core.ring.call_off(watch)?;
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
                    core.ring.call_off(watch)?;
                }
                self.kicked.push(guest);
                self.let_in(core)?;
            }
        }
        Ok(())
    }

    /// Handles a kick of a queue, or the end of polling for kicks.
    fn kicked(
        &mut self,
        guest: u32,
        queue: u16,
        era: u32,
        result: i32,
        is_last: bool,
        core: &mut Core,
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
                core.shared
                    .note(format!("notifications of queue {queue} cannot be watched: {error}"));
                return Ok(());
            }
            // The kernel ends a poll when its completion queue has no room.
            let token = Token::Vhost(Work::Kick { guest, queue, era });
            kicked.watch = Some(core.ring.watch(token, &kicked.kick)?);
            one.watches += 1;
        }
        one.is_ready(queue);
        Ok(())
    }

    fn attend_guest(&mut self, number: u32, core: &mut Core) -> io::Result<()> {
        let disk = self.guests[number].disk;
        let most = u64::from(core.export(disk).blocks().maximum());
        let mut budget = TURN;
        self.attended = Some(number);
        while let Some(job) = self.guests[number].next(&core.limits, most, &mut budget) {
            self.submit_job(number, disk, &job, core)?;
        }
        self.attended = None;
        let guest = &mut self.guests[number];
        guest.call();
        guest.let_go();
        if guest.has_more(&core.limits) {
            self.kicked.push(number);
        }
        if guest.is_gone && guest.parts == 0 && guest.watches == 0 {
            self.guests.remove(number);
            core.connections -= 1;
        }
        Ok(())
    }

    fn submit_job(
        &mut self,
        number: u32,
        disk: usize,
        job: &Job,
        core: &mut Core,
    ) -> io::Result<()> {
        let mut at = 0;
        loop {
            let now = (job.bytes - at).min(job.most);
            let length = u32::try_from(now).expect("no request has more than 2 GiB");
            let part = RequestPart { open: job.open, at };
            at += now;
            // `ask` may bring the answer to the last part at once. It ends the job, and `job.open` may
            // then be another request.
            let is_last = at == job.bytes;
            let guest = &mut self.guests[number];
            match guest.data(job, part.at, length, &mut core.pool) {
                Some(data) => {
                    guest.parts += 1;
                    let asked = self.asked.insert((number, part));
                    let request = (job.operation, job.offset + part.at, length);
                    core.ask(disk, (VHOST, asked), request, data)?;
                    self.take_answers(core);
                }
                None => guest.answered(part, Err(Code::Io), &[]),
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn answer_guest(&mut self, number: u32, part: RequestPart, answer: Answer, core: &mut Core) {
        let guest = &mut self.guests[number];
        guest.parts -= 1;
        if answer.result.is_err() {
            core.shared.counters.errors.add(1);
        }
        guest.answered(part, answer.result, &answer.data);
        core.pool.give(answer.data);
        // The VM that has its turn is called at the end of it, without another turn.
        if self.attended != Some(number) {
            self.kicked.push(number);
        }
    }

    /// Stops taking requests of a VM.
    fn end(&mut self, number: u32, core: &mut Core) -> io::Result<()> {
        for watch in self.guests[number].end() {
            core.ring.call_off(watch)?;
            self.kicked.push(number);
        }
        Ok(())
    }
}

impl FrontEnd for Guests {
    fn take_answers(&mut self, core: &mut Core) {
        while let Some((number, answer)) = core.next_answer(VHOST) {
            let (guest, part) = self.asked.remove(number);
            self.answer_guest(guest, part, answer, core);
        }
    }

    fn attend(&mut self, core: &mut Core) -> io::Result<()> {
        let mut kicked = std::mem::take(&mut self.kicked);
        kicked.sort_unstable();
        kicked.dedup();
        for number in kicked.drain(..) {
            // A VM may have been kicked before it was removed.
            if self.guests.get(number).is_some() {
                self.attend_guest(number, core)?;
            }
        }
        kicked.append(&mut self.kicked);
        self.kicked = kicked;
        Ok(())
    }

    fn has_work(&self) -> bool {
        !self.kicked.is_empty()
    }

    fn next_time(&mut self) -> Option<Instant> {
        let waiting = self.waiting.iter().map(|(until, ..)| *until);
        waiting.chain(self.listeners.next_time()).min()
    }

    fn look_at_clock(&mut self, now: Instant, core: &mut Core) -> io::Result<()> {
        self.send_away(core, |until, _| until <= now);
        self.listeners.look_at_clock(now, core)
    }

    fn take_orders(&mut self, core: &mut Core) -> io::Result<()> {
        while let Ok(order) = self.orders.1.try_recv() {
            self.take_order(order, core)?;
        }
        Ok(())
    }

    fn stop(&mut self, core: &mut Core) -> io::Result<()> {
        self.send_away(core, |_, _| true);
        for number in self.guests.numbers() {
            self.end(number, core)?;
            self.kicked.push(number);
        }
        Ok(())
    }

    // VMs are hung up on when the server ends and drops them.
    fn cut_off(&mut self) {}

    fn withdraw(&mut self, disk: usize, core: &mut Core) {
        self.send_away(core, |_, wanted| wanted == disk);
    }

    fn let_go(&mut self, disk: usize, _is_late: bool, core: &mut Core) -> io::Result<bool> {
        let mut is_used = false;
        for number in self.guests.numbers() {
            if self.guests[number].disk != disk {
                continue;
            }
            is_used = true;
            self.end(number, core)?;
            if self.guests[number].is_settled() {
                self.guests[number].hang_up();
            }
        }
        Ok(is_used)
    }

    fn is_settled(&self) -> bool {
        self.guests.numbers().into_iter().all(|number| self.guests[number].is_settled())
    }
}
