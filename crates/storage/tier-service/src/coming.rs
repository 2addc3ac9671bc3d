//! Attaching and detaching of disks while their set is served.
//!
//! The caller's thread does all work that takes time: it opens files, reads logs and waits for
//! outstanding requests. The server's thread only does short steps that the caller's thread
//! requests.

use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use block_server::{Effects, Running, StartError};
use nbd::Export;
use tier::{Event, Mode, Note, OpenError, Skipped, Tier};

use crate::asking::Control;
use crate::core::Core;
use crate::disk::CachedDisk;
use crate::error::Refusal;
use crate::identity;
use crate::inbox::{
    Ask, Coming, Command, ElsewhereReport, Joining, Move, Reply, Report, Room, ServedFiles,
};
use crate::media::{Files, Watched};
use crate::opening::{Copies, Opening};
use crate::reserved::Reserve;
use crate::route::Shape;
use crate::set::{Backing, export, open_backing, places};

/// Opened disk, ready to be offered to clients.
pub(crate) struct Offer {
    pub(crate) export: Export,
    /// Number of the disk's route.
    pub(crate) route: usize,
    /// Damage of the disk's log that causes no loss of a write.
    pub(crate) skipped: Option<Skipped>,
}

impl Control {
    /// Opens a disk and serves it.
    pub(crate) fn attach(&self, coming: &Coming, server: &Running) -> Reply {
        let opening = self.opening(coming)?;
        let name = opening.name.clone();
        let failed = |error: Refusal| error.within(format_args!("{name} is not attached"));
        let _one = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.tell(Ask::Room, None)?;
        if room.names.contains(&name) {
            return Err(failed("a disk of this name is already served".into()));
        }
        let opened = match &coming.elsewhere {
            None => self.open(opening, &coming.accepted, room, None),
            Some(elsewhere) => self.find(opening, elsewhere, &room),
        };
        let Offer { export, route, skipped } = opened.map_err(failed)?;
        let core = self.core.get().and_then(Weak::upgrade).ok_or("the server ends")?;
        let disk = CachedDisk { core, export, route };
        server.add(Box::new(disk)).map_err(|error| {
            self.undo(&name, coming.elsewhere.is_some());
            failed(error.into())
        })?;
        let Some(skipped) = skipped else { return Ok(None) };
        let report = self.tell(|tell| Ask::Command(Command::Pulse, tell), None)?;
        let said = vec![format!("{name}: {skipped}")];
        Ok(report.map(|report| Report { said, ..report }))
    }

    /// Detaches a disk that was attached but could not be offered. The result is ignored, because
    /// the caller already gets the error that stopped the attach.
    fn undo(&self, name: &str, is_elsewhere: bool) {
        if is_elsewhere {
            let _ = self.send(Ask::Move(Move::Drop(name.to_owned())));
        } else {
            let command = Command::Detach { disk: name.to_owned() };
            let _ = self.tell(|tell| Ask::Command(command, tell), None);
        }
    }

    /// Opens a disk in this set. The caller must hold [`Control`]'s lock for attaching. `told` is
    /// the shape that clients already know; a disk with another shape is refused.
    pub(crate) fn open(
        &self,
        opening: Opening,
        accepted: &[String],
        room: Room,
        told: Option<Shape>,
    ) -> Result<Offer, Refusal> {
        let index = places(&room.superblock, std::slice::from_ref(&opening))?[0];
        let backing = open_backing(&opening, index, accepted)?;
        let export = export(&opening, &backing, room.request_bytes_max)?;
        let shape = Shape::of(&export);
        if let Some(told) = told
            && (shape.size != told.size || shape.block > told.block)
        {
            return Err(Refusal::new(format!(
                "it has {} B here in blocks of {} B, but its clients know {} B in blocks of {} B",
                shape.size, shape.block, told.size, told.block
            )));
        }
        let Backing { attachment, file, sidecar, reserved, mut made, .. } = backing;
        // Only the files of this disk: a reference to those of other disks would keep them locked
        // after these disks are detached.
        let mut files = Files { cache: room.cache, disks: vec![None; room.superblock.disks.len()] };
        files.disks[usize::from(index)] = Some((Arc::clone(&file), Arc::clone(&sidecar)));
        let session = identity::session().map_err(Refusal::new)?;
        let mut media = Watched::new(&files);
        let prepared = Tier::prepare(&mut media, &room.superblock, session, &attachment);
        let (prepared, skipped) = prepared.map_err(|error| {
            // The path of the cache is unknown here. It is never needed: the server has the cache
            // open.
            match (media.failure(&error, Path::new("the cache"), [(index, &opening)]), error) {
                (Some(error), _) => error.into(),
                (None, OpenError::Attach { error, .. }) => Refusal::from(error),
                (None, error) => error.into(),
            }
        })?;
        let held = reserved.clone();
        let joining =
            Joining { prepared, backing: file, sidecar, reserved, opening: opening.clone() };
        self.tell(|tell| Ask::Join(Box::new(joining), tell), None)?;
        held.iter().for_each(|held| held.keep());
        made.keep();
        drop(held);
        let opening = Box::new(opening);
        let route = self.tell(|tell| Ask::Serve(index, opening, shape, tell), None)?;
        Ok(Offer { export, route, skipped })
    }

    fn opening(&self, coming: &Coming) -> Result<Opening, Refusal> {
        let peers = coming.peers.iter().map(|peer| peer.parse()).collect::<Result<Vec<_>, _>>()?;
        let reserve = coming.reserve.then(Reserve::of_this_host);
        Ok(Opening {
            name: coming.disk.clone(),
            backing: coming.backing.clone(),
            mode: if coming.back { Mode::Back } else { Mode::Through },
            sidecar: coming.sidecar.clone(),
            copies: Copies { count: coming.copies, peers, tls: self.tls.clone() },
            reserve: reserve.transpose()?,
        })
    }

    /// Detaches a disk. A repeated call waits for the same detach.
    pub(crate) fn detach(&self, name: &str, server: &Running, patience: Duration) -> Reply {
        let pulse = |tell| Ask::Command(Command::Pulse, tell);
        let report = self.tell(pulse, Some(patience))?.ok_or("the server ends")?;
        if let Some(moving) = report.elsewhere.iter().find(|disk| disk.name == name) {
            return self.leave_elsewhere(moving, server);
        }
        let found = report.disks.iter().find(|disk| disk.name == name);
        let found =
            found.ok_or_else(|| unknown(name, report.disks.iter().map(|d| d.name.as_str())))?;
        let is_stuck = found.is_damaged || (report.has_failed && found.mode == "back");
        if is_stuck && !found.is_fenced {
            return Err(Refusal::with_hint(
                format!(
                    "{name} cannot be detached: its log cannot be written to its backing store"
                ),
                "if there are copies of the log, end this server and take the disk over with \
                `tilemark tier takeover`",
            ));
        }
        let files = self.tell(|tell| Ask::Files(found.index, tell), Some(patience))?;
        match server.withdraw(name) {
            // An earlier detach already withdrew the disk from the front end.
            Ok(()) | Err(StartError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let command = Command::Detach { disk: name.to_owned() };
        self.tell(|tell| Ask::Command(command, tell), Some(patience))?;
        if let Some(ServedFiles { sidecar, reserved: Some(reserved) }) = files {
            reserved.end(&sidecar);
        }
        Ok(None)
    }

    /// Stops offering a disk of another server here.
    fn leave_elsewhere(&self, moving: &ElsewhereReport, server: &Running) -> Reply {
        let name = &moving.name;
        if moving.owner.is_none() || moving.is_pulled {
            return Err(Refusal::with_hint(
                format!("{name} is being moved from one server to another"),
                "`tilemark tier status` shows when the move is complete",
            ));
        }
        match server.withdraw(name) {
            Ok(()) | Err(StartError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.send(Ask::Move(Move::Drop(name.clone())))?;
        Ok(None)
    }
}

/// Returns the refusal for a name that no disk has, with the list of known disks.
pub(crate) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Refusal {
    Refusal::new(match known.collect::<Vec<_>>().join(", ") {
        known if known.is_empty() => format!("no disk \"{name}\"; no disk is served"),
        known => format!("no disk \"{name}\"; the disks are {known}"),
    })
}

impl Core {
    pub(crate) fn room(&self) -> Room {
        Room {
            superblock: self.tier.superblock(),
            cache: Arc::clone(&self.files.cache),
            names: self.routes.iter().flatten().map(|route| route.name.clone()).collect(),
            request_bytes_max: self.tier.request_bytes_max(),
        }
    }

    /// Attaches an opened disk to the state machine.
    pub(crate) fn join(&mut self, joining: Joining, tell: SyncSender<Reply>, fx: &mut Effects) {
        let Joining { prepared, backing, sidecar, reserved, opening } = joining;
        let (index, generation) = (prepared.index(), prepared.generation());
        let place = usize::from(index);
        self.files.disks[place] = Some((backing, sidecar));
        reserved.into_iter().for_each(|reserved| self.hold(index, reserved));
        let names = opening.copies.peers.iter().map(|peer| peer.name.clone()).collect();
        self.inbox.peers[place] = names;
        self.inbox.names[place] = Some(opening.name.clone());
        if let Err(error) = opening.look_for_peers(&mut self.peers, index, generation) {
            self.forget(index);
            let _ = tell.send(Err(Refusal::new(format!("connecting to its peers: {error}"))));
            return;
        }
        self.inbox.waiting.push((Note::Attached(index), tell));
        self.attach(prepared, fx);
        self.handle(Event::Turn, fx);
    }

    /// Drops everything that belongs to a detached disk.
    pub(crate) fn forget(&mut self, index: u16) {
        let place = usize::from(index);
        self.peers.end(index);
        self.files.disks[place] = None;
        self.reserved.remove(&index);
        self.forget_marks(index);
        self.inbox.names[place] = None;
        self.inbox.peers[place].clear();
        self.drop_near(index);
        self.turns.retain(|(_, disk, _)| *disk != index);
    }
}
