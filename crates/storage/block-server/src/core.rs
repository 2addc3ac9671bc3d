//! State that all front ends share: the io_uring ring, the disks, their services and the buffers.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use nbd::{Export, Operation};

use crate::alarms::Alarms;
use crate::buffer::Pool;
use crate::ring::Ring;
use crate::shared::Shared;
use crate::token::{FRONT_ENDS, Token};
use crate::{
    Answer, Buffer, Catalog, Disk, Effects, IoId, Limits, Offer, Request, RequestId, Service,
};

/// Bits of a [`RequestId`] that are the front end's own number for the request.
const NUMBER_BITS: u32 = 28;

/// Index that stands for the service shared by all disks of the server.
const SHARED: usize = usize::MAX;

/// Open disk.
struct Open {
    disk: Box<dyn Disk>,
    /// Index of the service that carries out the disk's requests: [`SHARED`], or the disk's own
    /// index.
    service: usize,
}

/// State that all front ends share.
pub(crate) struct Core {
    pub ring: Ring<Token>,
    /// Disks offered to all clients, and disks opened for one client each.
    disks: Vec<Option<Open>>,
    /// Exports of the disks offered to all clients.
    pub exports: Vec<Export>,
    pub places: Vec<usize>,
    service: Option<Box<dyn Service>>,
    pub catalog: Option<Box<dyn Catalog>>,
    /// Indexes of the services whose [`Service::turn`] is to be called.
    turns: Vec<usize>,
    effects: Effects,
    pub alarms: Alarms,
    /// Answers for each front end that it has not taken yet.
    answers: [Vec<Answer>; FRONT_ENDS],
    pub pool: Pool,
    pub limits: Limits,
    pub shared: Arc<Shared>,
    /// Number of clients of all front ends, including VMs that wait for their disk.
    pub connections: usize,
    /// Number of requests that were submitted to disks and not completed.
    pub under_way: usize,
    /// Number of requests answered since the last wait.
    pub answered: usize,
    /// True while the server stops; new clients are turned away.
    pub is_stopping: bool,
}

impl Core {
    pub fn new(offer: Offer, limits: Limits, shared: Arc<Shared>) -> io::Result<Self> {
        let mut core = Self {
            ring: Ring::new()?,
            disks: Vec::new(),
            exports: Vec::new(),
            places: Vec::new(),
            service: offer.service,
            catalog: offer.catalog,
            turns: Vec::new(),
            effects: Effects::default(),
            alarms: Alarms::default(),
            answers: Default::default(),
            pool: Pool::new(),
            limits,
            shared,
            connections: 0,
            under_way: 0,
            answered: 0,
            is_stopping: false,
        };
        offer.disks.into_iter().for_each(|disk| core.offer(disk));
        Ok(core)
    }

    /// Adds a disk at a free index, with a service of its own if `is_alone`. Returns the index.
    fn put(&mut self, disk: Box<dyn Disk>, is_alone: bool) -> usize {
        let place = self.disks.iter().position(Option::is_none).unwrap_or(self.disks.len());
        self.disks.resize_with(self.disks.len().max(place + 1), || None);
        self.disks[place] = Some(Open { disk, service: if is_alone { place } else { SHARED } });
        place
    }

    /// Offers a disk to all clients.
    pub fn offer(&mut self, disk: Box<dyn Disk>) {
        self.exports.push(disk.export().clone());
        let place = self.put(disk, self.service.is_none());
        self.places.push(place);
    }

    /// Stops offering a disk. Returns its index, at which the disk stays open for its clients.
    pub fn withdraw(&mut self, name: &str) -> Option<usize> {
        let at = self.exports.iter().position(|export| export.name() == name)?;
        self.exports.remove(at);
        Some(self.places.remove(at))
    }

    /// Opens a disk of the catalog for one client.
    pub fn open(&mut self, name: &str) -> Option<(Export, usize)> {
        let disk = self.catalog.as_mut()?.open(name)?;
        let export = disk.export().clone();
        Some((export, self.put(disk, true)))
    }

    pub fn close(&mut self, disk: usize) {
        self.disks[disk] = None;
    }

    /// Returns the export of the disk at this index.
    ///
    /// # Panics
    /// If no disk is open at this index.
    pub fn export(&self, disk: usize) -> &Export {
        self.disks[disk].as_ref().expect("a disk in use is open").disk.export()
    }

    /// Returns the service at this index. `None` if the disk is closed or has no service of its
    /// own.
    fn service(&mut self, place: usize) -> Option<(&mut dyn Service, &mut Effects)> {
        let service = match place {
            SHARED => self.service.as_deref_mut()? as &mut dyn Service,
            own => self.disks.get_mut(own)?.as_mut()?.disk.service()?,
        };
        Some((service, &mut self.effects))
    }

    /// Calls the shared service, or the service of each offered disk if there is none.
    fn each_service(&mut self, act: impl Fn(&mut dyn Service, &mut Effects)) -> io::Result<()> {
        let all = if self.service.is_some() { vec![SHARED] } else { self.places.clone() };
        for place in all {
            if let Some((service, effects)) = self.service(place) {
                act(service, effects);
                self.carry_out(place)?;
            }
        }
        Ok(())
    }

    pub fn tell_services(&mut self) -> io::Result<()> {
        self.each_service(|service, effects| service.told(effects))
    }

    pub fn close_services(&mut self) -> io::Result<()> {
        self.each_service(|service, effects| service.close(effects))
    }

    pub fn are_services_closed(&mut self) -> bool {
        let own = self.disks.iter_mut().flatten().filter_map(|open| open.disk.service());
        let is_closed = own.into_iter().all(|service| service.is_closed());
        is_closed && self.service.as_ref().is_none_or(|service| service.is_closed())
    }

    pub fn wake_services(&mut self, now: Instant) -> io::Result<()> {
        while let Some((place, alarm)) = self.alarms.due(now) {
            // The disk of the alarm may have been withdrawn.
            if let Some((service, effects)) = self.service(place) {
                service.woken(alarm, effects);
                self.carry_out(place)?;
            }
        }
        Ok(())
    }

    /// Calls [`Service::turn`] of the next service that is due. Returns false if none is due.
    pub fn turn(&mut self) -> io::Result<bool> {
        let Some(place) = self.turns.pop() else { return Ok(false) };
        // The disk may have been closed with the client it was opened for.
        if let Some((service, effects)) = self.service(place) {
            service.turn(effects);
            self.take_effects(place)?;
        }
        Ok(true)
    }

    /// Passes the completion of an I/O to its service.
    ///
    /// # Panics
    /// If no service is at this index: a disk stays open until its I/O has completed.
    pub fn done(&mut self, place: usize, io: IoId, result: i32, data: Buffer) -> io::Result<()> {
        let result = u32::try_from(result).map_err(|_| -result);
        let (service, effects) =
            self.service(place).expect("the service that requested the I/O exists");
        service.done(io, result, data, effects);
        self.carry_out(place)
    }

    /// Submits a request of a front end to a disk. `number` is the front end's number for the
    /// request.
    pub fn ask(
        &mut self,
        place: usize,
        (front_end, number): (usize, u32),
        (operation, offset, length): (Operation, u64, u32),
        data: Buffer,
    ) -> io::Result<()> {
        self.shared.counters.requests.add(1);
        self.under_way += 1;
        assert!(number >> NUMBER_BITS == 0, "an answered request was in flight");
        let front_end = u32::try_from(front_end).expect("there are few");
        let id = RequestId(front_end << NUMBER_BITS | number);
        let request = Request { id, operation, offset, length, data };
        let open = self.disks[place].as_mut().expect("a disk in use is open");
        open.disk.submit(request, &mut self.effects);
        let service = open.service;
        self.carry_out(service)
    }

    /// Returns true if a front end has answers to take.
    pub fn has_answers(&self) -> bool {
        self.answers.iter().any(|answers| !answers.is_empty())
    }

    /// Removes and returns the next answer for a front end, with the front end's number for the
    /// request.
    pub fn next_answer(&mut self, front_end: usize) -> Option<(u32, Answer)> {
        let answer = self.answers[front_end].pop()?;
        Some((answer.id.0 & ((1 << NUMBER_BITS) - 1), answer))
    }

    /// Carries out the effects of a service, and schedules its turn.
    fn carry_out(&mut self, place: usize) -> io::Result<()> {
        if !self.turns.contains(&place) {
            self.turns.push(place);
        }
        self.take_effects(place)
    }

    fn take_effects(&mut self, place: usize) -> io::Result<()> {
        let mut ios = std::mem::take(&mut self.effects.ios);
        for io in ios.drain(..) {
            let token = Token::Service { place, io: io.id };
            self.ring.file(token, &io.file, io.action, io.data)?;
        }
        self.effects.ios = ios;
        for (after, alarm) in self.effects.alarms.drain(..) {
            self.alarms.add(Instant::now() + after, place, alarm);
        }
        for answer in self.effects.answers.drain(..).rev() {
            self.answered += 1;
            self.under_way -= 1;
            self.answers[(answer.id.0 >> NUMBER_BITS) as usize].push(answer);
        }
        Ok(())
    }
}
