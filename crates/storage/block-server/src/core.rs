//! The ring, the disks and what both work with: what front ends share.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use nbd::Export;
use nbd::server::Command;

use crate::alarms::Alarms;
use crate::buffer::Pool;
use crate::ring::Ring;
use crate::shared::Shared;
use crate::token::{COUNT, Token};
use crate::{Answer, Buffer, Catalog, Disk, Effects, Limits, Request, RequestId};

/// Bits of a [`RequestId`] that are the front end's own number for the request.
const NUMBER_BITS: u32 = 28;

/// A disk that is open.
struct Open {
    disk: Box<dyn Disk>,
    /// Where its I/O ends, and its times and turns are had: at its own place, or its keeper's.
    home: usize,
}

/// What front ends share.
pub(crate) struct Core {
    pub ring: Ring<Token>,
    /// Those that are offered to all, their keeper, and those that were opened for one client each.
    disks: Vec<Option<Open>>,
    /// What is offered to all, and where it is.
    pub exports: Vec<Export>,
    pub places: Vec<usize>,
    keeper: Option<usize>,
    pub catalog: Option<Box<dyn Catalog>>,
    /// Disks that have to have their turn.
    turns: Vec<usize>,
    effects: Effects,
    pub alarms: Alarms,
    /// Answers that their front end has not taken.
    answers: [Vec<Answer>; COUNT],
    pub pool: Pool,
    pub limits: Limits,
    pub shared: Arc<Shared>,
    /// Clients of all front ends, with those that wait to be let in.
    pub connections: usize,
    /// Requests that disks have.
    pub under_way: usize,
    /// Requests answered since the last wait.
    pub answered: usize,
    /// Set once the server ends: nobody comes in.
    pub is_stopping: bool,
}

impl Core {
    pub fn new(
        catalog: Option<Box<dyn Catalog>>,
        limits: Limits,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        Ok(Self {
            ring: Ring::new()?,
            disks: Vec::new(),
            exports: Vec::new(),
            places: Vec::new(),
            keeper: None,
            catalog,
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
        })
    }

    /// Sets the disk that keeps all others.
    pub fn keep(&mut self, keeper: Box<dyn Disk>) {
        self.keeper = Some(self.put(keeper, None));
    }

    /// Opens a disk at a place that is free.
    fn put(&mut self, disk: Box<dyn Disk>, keeper: Option<usize>) -> usize {
        let place = self.disks.iter().position(Option::is_none).unwrap_or(self.disks.len());
        self.disks.resize_with(self.disks.len().max(place + 1), || None);
        self.disks[place] = Some(Open { disk, home: keeper.unwrap_or(place) });
        place
    }

    /// Offers a disk to all.
    pub fn offer(&mut self, disk: Box<dyn Disk>) {
        self.exports.push(disk.export().clone());
        let place = self.put(disk, self.keeper);
        self.places.push(place);
    }

    /// Offers a disk no more; gives its place, where clients that have it keep it.
    pub fn withdraw(&mut self, name: &str) -> Option<usize> {
        let at = self.exports.iter().position(|export| export.name() == name)?;
        self.exports.remove(at);
        Some(self.places.remove(at))
    }

    /// Opens a disk of the catalog for one client.
    pub fn open(&mut self, name: &str) -> Option<(Export, usize)> {
        let disk = self.catalog.as_mut()?.open(name)?;
        let export = disk.export().clone();
        Some((export, self.put(disk, None)))
    }

    pub fn close(&mut self, disk: usize) {
        self.disks[disk] = None;
    }

    /// # Panics
    /// When nobody has it open.
    pub fn export(&self, disk: usize) -> &Export {
        self.disks[disk].as_ref().expect("a disk is open as long as somebody uses it").disk.export()
    }

    fn disk(&mut self, disk: usize) -> (&mut dyn Disk, &mut Effects) {
        let open = self.disks[disk].as_mut().expect("a disk is open as long as somebody uses it");
        (open.disk.as_mut(), &mut self.effects)
    }

    /// Whoever is told, and closed: the keeper for all, where there is one.
    fn heads(&self) -> Vec<usize> {
        self.keeper.map_or_else(|| self.places.clone(), |keeper| vec![keeper])
    }

    pub fn tell_disks(&mut self) -> io::Result<()> {
        for place in self.heads() {
            let (disk, effects) = self.disk(place);
            disk.told(effects);
            self.carry_out(place)?;
        }
        Ok(())
    }

    pub fn close_disks(&mut self) -> io::Result<()> {
        for place in self.heads() {
            let (disk, effects) = self.disk(place);
            disk.close(effects);
            self.carry_out(place)?;
        }
        Ok(())
    }

    pub fn are_disks_closed(&self) -> bool {
        self.disks.iter().flatten().all(|open| open.disk.is_closed())
    }

    pub fn wake_disks(&mut self, now: Instant) -> io::Result<()> {
        while let Some((place, alarm)) = self.alarms.due(now) {
            // One that was withdrawn needs no waking.
            if let Some(Some(open)) = self.disks.get_mut(place) {
                open.disk.woken(alarm, &mut self.effects);
                self.carry_out(place)?;
            }
        }
        Ok(())
    }

    /// Gives the next disk that wants one its turn. Whether there was one.
    pub fn turn(&mut self) -> io::Result<bool> {
        let Some(place) = self.turns.pop() else { return Ok(false) };
        // One that was opened for a client is gone with him.
        if let Some(Some(open)) = self.disks.get_mut(place) {
            open.disk.turn(&mut self.effects);
            self.take_effects(place)?;
        }
        Ok(true)
    }

    pub fn done(&mut self, place: usize, io: u64, result: i32, data: Buffer) -> io::Result<()> {
        let result = u32::try_from(result).map_err(|_| -result);
        let (disk, effects) = self.disk(place);
        disk.done(io, result, data, effects);
        self.carry_out(place)
    }

    /// Asks a disk for a front end, which has this number of its own for the request.
    pub fn ask(
        &mut self,
        place: usize,
        (front_end, number): (usize, u32),
        (command, offset, length): (Command, u64, u32),
        data: Buffer,
    ) -> io::Result<()> {
        self.shared.counters.requests.add(1);
        self.under_way += 1;
        assert!(number >> NUMBER_BITS == 0, "fewer requests than that are under way");
        let front_end = u32::try_from(front_end).expect("there are few");
        let id = RequestId(front_end << NUMBER_BITS | number);
        let request = Request { id, command, offset, length, data };
        let (disk, effects) = self.disk(place);
        disk.submit(request, effects);
        self.carry_out(place)
    }

    /// Whether a front end has answers to take.
    pub fn has_answers(&self) -> bool {
        self.answers.iter().any(|answers| !answers.is_empty())
    }

    /// The next answer for a front end, by its own number of the request.
    pub fn next_answer(&mut self, front_end: usize) -> Option<(u32, Answer)> {
        let answer = self.answers[front_end].pop()?;
        Some((answer.id.0 & ((1 << NUMBER_BITS) - 1), answer))
    }

    /// Carries out what a disk wants, which is to have its turn.
    fn carry_out(&mut self, place: usize) -> io::Result<()> {
        let home = self.disks[place].as_ref().map_or(place, |open| open.home);
        if !self.turns.contains(&home) {
            self.turns.push(home);
        }
        self.take_effects(home)
    }

    fn take_effects(&mut self, home: usize) -> io::Result<()> {
        let mut ios = std::mem::take(&mut self.effects.ios);
        for io in ios.drain(..) {
            let token = Token::Disk { disk: home, io: io.id };
            self.ring.file(token, &io.file, io.action, io.data)?;
        }
        self.effects.ios = ios;
        for (after, alarm) in self.effects.alarms.drain(..) {
            self.alarms.add(Instant::now() + after, home, alarm);
        }
        for answer in self.effects.answers.drain(..).rev() {
            self.answered += 1;
            self.under_way -= 1;
            self.answers[(answer.id.0 >> NUMBER_BITS) as usize].push(answer);
        }
        Ok(())
    }
}
