//! Disks that come and go while a server runs.

use std::io;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::{Life, Worker};
use crate::{Disk, StartError};

/// A disk that is open.
pub(super) struct Open {
    pub disk: Box<dyn Disk>,
    /// Where its I/O ends, and its times and turns are had: at its own place, or its keeper's.
    pub home: usize,
}

pub(super) fn open_of(disks: &mut [Option<Open>], disk: usize) -> &mut Open {
    disks[disk].as_mut().expect("a disk is open as long as somebody uses it")
}

pub(super) fn disk_of(disks: &mut [Option<Open>], disk: usize) -> &mut dyn Disk {
    open_of(disks, disk).disk.as_mut()
}

/// What a server's owner wants of its disks.
pub(crate) enum Change {
    /// One more is offered.
    Add(Box<dyn Disk>, SyncSender<Result<(), StartError>>),
    /// One is offered no more; told when nobody has it, or that there is none.
    Withdraw(String, SyncSender<Result<(), StartError>>),
}

/// A disk that is not offered any more.
pub(super) struct Leaving {
    place: usize,
    tell: Vec<SyncSender<Result<(), StartError>>>,
    /// Who has all of his answers and has not taken them by then is cut off.
    pub until: Instant,
}

impl Worker {
    /// Opens a disk at a place that is free.
    pub(super) fn put(&mut self, disk: Box<dyn Disk>, keeper: Option<usize>) -> usize {
        let place = self.disks.iter().position(Option::is_none).unwrap_or(self.disks.len());
        self.disks.resize_with(self.disks.len().max(place + 1), || None);
        self.disks[place] = Some(Open { disk, home: keeper.unwrap_or(place) });
        place
    }

    /// Offers a disk to all.
    pub(super) fn offer(&mut self, disk: Box<dyn Disk>) {
        self.exports.push(disk.export().clone());
        let place = self.put(disk, self.keeper);
        self.places.push(place);
    }

    /// Whoever is told, and closed: the keeper for all, where there is one.
    pub(super) fn heads(&self) -> Vec<usize> {
        self.keeper.map_or_else(|| self.places.clone(), |keeper| vec![keeper])
    }

    pub(super) fn take_changes(&mut self) -> io::Result<()> {
        while let Ok(change) = self.changes.try_recv() {
            // Whoever asked may have gone.
            match change {
                Change::Add(disk, tell) => drop(tell.send(self.add(disk))),
                Change::Withdraw(name, tell) => self.withdraw(&name, tell)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, disk: Box<dyn Disk>) -> Result<(), StartError> {
        let name = disk.export().name();
        if self.exports.iter().any(|export| export.name() == name) || self.is_leaving(name) {
            return Err(StartError::Twice { name: name.to_owned() });
        }
        self.offer(disk);
        Ok(())
    }

    fn is_leaving(&mut self, name: &str) -> bool {
        self.leaving_of(name).is_some()
    }

    fn leaving_of(&mut self, name: &str) -> Option<&mut Leaving> {
        let disks = &mut self.disks;
        self.leaving
            .iter_mut()
            .find(|leaving| disk_of(disks, leaving.place).export().name() == name)
    }

    /// Nobody gets the disk any more; who has it is answered what he asked, and goes.
    fn withdraw(&mut self, name: &str, tell: SyncSender<Result<(), StartError>>) -> io::Result<()> {
        if let Some(leaving) = self.leaving_of(name) {
            leaving.tell.push(tell);
            return Ok(());
        }
        let Some(at) = self.exports.iter().position(|export| export.name() == name) else {
            let _ = tell.send(Err(StartError::Unknown { name: name.to_owned() }));
            return Ok(());
        };
        self.exports.remove(at);
        let place = self.places.remove(at);
        self.waiting.retain(|(_, disk, _)| *disk != place);
        for number in self.clients.numbers() {
            let client = &mut self.clients[number];
            if client.has(place) && client.life == Life::Open {
                client.life = Life::Ending;
            }
            self.touched.push(number);
        }
        let until = Instant::now() + self.limits.drain;
        self.leaving.push(Leaving { place, tell: vec![tell], until });
        self.attend_clients()
    }

    /// Disks that nobody has any more are closed.
    pub(super) fn let_leave(&mut self) -> io::Result<()> {
        for mut leaving in std::mem::take(&mut self.leaving) {
            let is_used = self.hurry(&mut leaving)?;
            if is_used {
                self.leaving.push(leaving);
                continue;
            }
            self.disks[leaving.place] = None;
            for tell in leaving.tell {
                let _ = tell.send(Ok(()));
            }
        }
        Ok(())
    }

    /// Whether somebody has the disk. Machines that are answered are hung up on; clients that are, and do not take
    /// it, are cut off in the end.
    fn hurry(&mut self, leaving: &mut Leaving) -> io::Result<bool> {
        let (place, now) = (leaving.place, Instant::now());
        let is_late = leaving.until <= now;
        let mut is_used = false;
        for number in self.clients.numbers() {
            if !self.clients[number].has(place) {
                continue;
            }
            is_used = true;
            if is_late && self.clients[number].requests == 0 {
                self.cut(number);
            }
        }
        for number in self.guests.numbers() {
            if self.guests[number].disk != place {
                continue;
            }
            is_used = true;
            for watch in self.guests[number].end() {
                self.ring.call_off(watch)?;
                self.kicked.push(number);
            }
            if self.guests[number].is_settled() {
                self.guests[number].hang_up();
            }
        }
        if is_late {
            leaving.until = now + self.limits.drain;
            self.attend_clients()?;
        }
        Ok(is_used)
    }
}
