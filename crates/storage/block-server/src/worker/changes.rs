//! Disks that are added and withdrawn while a server runs.

use std::io;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::Worker;
use crate::{Disk, StartError};

/// Change of a server's disks, with the channel for its result.
pub(crate) enum Change {
    /// Offers one more disk.
    Add(Box<dyn Disk>, SyncSender<Result<(), StartError>>),
    /// Withdraws a disk. The result is sent when no client has the disk, or at once if no disk has
    /// this name.
    Withdraw(String, SyncSender<Result<(), StartError>>),
}

/// Withdrawn disk that a client still has.
pub(super) struct Leaving {
    place: usize,
    tell: Vec<SyncSender<Result<(), StartError>>>,
    /// Time at which remaining clients are cut off, even if they have not read their answers.
    pub until: Instant,
}

impl Worker {
    pub(super) fn take_changes(&mut self) -> io::Result<()> {
        while let Ok(change) = self.changes.try_recv() {
            // The caller may have gone.
            match change {
                Change::Add(disk, tell) => drop(tell.send(self.add(disk))),
                Change::Withdraw(name, tell) => self.withdraw(&name, tell)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, disk: Box<dyn Disk>) -> Result<(), StartError> {
        let name = disk.export().name();
        let is_offered = self.core.exports.iter().any(|export| export.name() == name);
        if is_offered || self.leaving_of(name).is_some() {
            return Err(StartError::Twice { name: name.to_owned() });
        }
        self.core.offer(disk);
        Ok(())
    }

    fn leaving_of(&mut self, name: &str) -> Option<&mut Leaving> {
        let core = &self.core;
        self.leaving.iter_mut().find(|leaving| core.export(leaving.place).name() == name)
    }

    /// Withdraws a disk. Its clients get their answers and are then disconnected.
    fn withdraw(&mut self, name: &str, tell: SyncSender<Result<(), StartError>>) -> io::Result<()> {
        if let Some(leaving) = self.leaving_of(name) {
            leaving.tell.push(tell);
            return Ok(());
        }
        let Some(place) = self.core.withdraw(name) else {
            let _ = tell.send(Err(StartError::Unknown { name: name.to_owned() }));
            return Ok(());
        };
        let (fronts, core) = self.front_ends();
        for front in fronts {
            front.withdraw(place, core);
        }
        let until = Instant::now() + self.core.limits.drain;
        self.leaving.push(Leaving { place, tell: vec![tell], until });
        self.attend()
    }

    /// Closes withdrawn disks that no client has any more.
    pub(super) fn let_leave(&mut self) -> io::Result<()> {
        for mut leaving in std::mem::take(&mut self.leaving) {
            let now = Instant::now();
            let is_late = leaving.until <= now;
            let mut is_used = false;
            let (fronts, core) = self.front_ends();
            for front in fronts {
                is_used |= front.let_go(leaving.place, is_late, core)?;
            }
            if is_late {
                leaving.until = now + self.core.limits.drain;
                self.attend()?;
            }
            if is_used {
                self.leaving.push(leaving);
                continue;
            }
            self.core.close(leaving.place);
            for tell in leaving.tell {
                let _ = tell.send(Ok(()));
            }
        }
        Ok(())
    }
}
