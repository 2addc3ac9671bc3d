//! Exports for other servers. `owner/NAME` is a disk as its owner serves it. A write to `pull/NAME`
//! makes this server give up the disk ([`crate::far`]). `heir/NAME` exists while this server pulls
//! the disk: the old owner checks it before it gives up the disk to that address.
//!
//! Every client that may connect may pull a disk, just as it may write to the disk. After a pull,
//! new requests of clients here wait. Earlier requests are answered, the log is written to the
//! backing store, the sidecar is set to *clean*, and all files are closed. Then the pull is
//! answered. From then on, requests go to the new owner.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use block_server::{Buffer, Catalog, Disk, Effects, Request};
use nbd::{Abilities, BlockSizes, Code, Export, Operation};
use tier::REQUEST_BYTES_MAX;

use crate::asking::Control;
use crate::error::Refusal;
use crate::far::{Far, PULL_BYTES, puller};
use crate::inbox::{self, Ask, Move, ServedFiles};
use crate::route::Other;
use crate::way::ExportConnection;

/// Maximum number of simultaneous pulls. One more is refused, and its sender retries. Our choice: a
/// host moves few disks at a time.
const GIVING_MAX: usize = 64;
/// Interval at which requests that have waited too long are failed.
const LOOK: Duration = Duration::from_secs(1);

/// Catalogue of the exports for other servers. Names that it does not know are looked up in a
/// further catalogue.
struct Doors {
    control: Control,
    others: Option<Box<dyn Catalog>>,
}

impl Control {
    /// Returns the catalogue through which disks move to other servers. `others` is the catalogue
    /// of other names.
    #[must_use]
    pub fn catalog(&self, others: Option<Box<dyn Catalog>>) -> Box<dyn Catalog> {
        Box::new(Doors { control: self.clone(), others })
    }
}

impl Catalog for Doors {
    fn open(&mut self, name: &str) -> Option<Box<dyn Disk>> {
        let control = self.control.clone();
        if let Some(disk) = name.strip_prefix("owner/") {
            let core = control.core.get().and_then(Weak::upgrade)?;
            let owned = core.lock().unwrap_or_else(PoisonError::into_inner).owned(disk);
            let (shape, most) = owned?;
            let blocks = BlockSizes::new(shape.block, shape.block.max(4096), most).ok()?;
            let abilities = Abilities::READ_ONLY | Abilities::FLUSH;
            let export = Export::new(name, shape.size, blocks, abilities).ok()?;
            return Some(Box::new(Owned { control, name: disk.to_owned(), export }));
        }
        if let Some(disk) = name.strip_prefix("heir/") {
            let core = control.core.get().and_then(Weak::upgrade)?;
            let shape = core.lock().unwrap_or_else(PoisonError::into_inner).pulled(disk)?;
            let blocks = BlockSizes::new(shape.block, shape.block.max(4096), REQUEST_BYTES_MAX);
            let export = Export::new(name, shape.size, blocks.ok()?, Abilities::READ_ONLY).ok()?;
            // Reads of this export fail until this server owns the disk; it only proves that the
            // disk is being pulled.
            return Some(Box::new(Owned { control, name: disk.to_owned(), export }));
        }
        if let Some(disk) = name.strip_prefix("pull/") {
            let blocks = BlockSizes::new(PULL_BYTES, PULL_BYTES, PULL_BYTES).ok()?;
            let export = Export::new(name, PULL_BYTES.into(), blocks, Abilities::NONE).ok()?;
            return Some(Box::new(Pull { control, name: disk.to_owned(), export }));
        }
        self.others.as_mut()?.open(name)
    }
}

/// Export of a disk as its owner serves it. Its requests are passed to the server's thread.
struct Owned {
    control: Control,
    name: String,
    export: Export,
}

impl Disk for Owned {
    fn export(&self) -> &Export {
        &self.export
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        if !matches!(request.operation, Operation::Read | Operation::Flush) {
            return effects.answer(request.id, Err(Code::NotPermitted), request.data);
        }
        // Sending fails only if the server ends, and then nobody waits for the answer.
        let _ = self.control.send(Ask::Move(Move::Asked(self.name.clone(), request)));
    }
}

/// Export whose writes make this server give up a disk.
struct Pull {
    control: Control,
    name: String,
    export: Export,
}

impl Disk for Pull {
    fn export(&self) -> &Export {
        &self.export
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        let is_write = matches!(request.operation, Operation::Write { .. });
        let Some(to) = puller(&request.data).filter(|_| is_write) else {
            return effects.answer(request.id, Err(Code::Invalid), request.data);
        };
        let (control, name, id, data) =
            (self.control.clone(), self.name.clone(), request.id, request.data);
        // Each pull blocks until the disk is given up, so it runs in a thread of its own.
        let turn = Arc::clone(&control.giving);
        if Arc::strong_count(&turn) > GIVING_MAX {
            return effects.answer(id, Err(Code::NoMemory), data);
        }
        let give = move || {
            let given = control.give(&name, to);
            drop(turn);
            let result = given.as_ref().map(drop).map_err(|_| Code::NotPermitted);
            // Sending fails only if the server ends, and then nobody waits for the answer.
            let _ = control.send(Ask::Move(Move::Answer(id, result, data)));
            // This thread goes on as the connection to the new owner.
            if let Ok(Some(far)) = given {
                far.run();
            }
        };
        let begun = std::thread::Builder::new().name("far".to_owned()).spawn(give);
        if begun.is_err() {
            effects.answer(id, Err(Code::NoMemory), Buffer::none());
        }
    }
}

impl Control {
    /// Gives up a disk for another server. Returns `None` if the disk was already given up.
    fn give(&self, name: &str, to: Other) -> Result<Option<Far>, Refusal> {
        // If the other server does not pull this disk, the disk would end up without an owner.
        if let Err(error) =
            ExportConnection::open(&to.uri, &format!("heir/{name}"), self.tls.as_ref())
        {
            let why =
                format!("{name} is not released: the new server {} reports: {error}", to.address);
            self.send(Ask::Move(Move::Said(why.clone())))?;
            return Err(Refusal::new(why));
        }
        let (tell, told) = sync_channel(1);
        self.send(Ask::Move(Move::Give { name: name.to_owned(), to: to.clone(), tell }))?;
        let Some(giving) = self.wait(name, &told)? else { return Ok(None) };
        let files = self.tell(|tell| Ask::Files(giving.index, tell), None)?;
        self.leave(name)?;
        if let Some(ServedFiles { sidecar, reserved: Some(reserved) }) = files {
            reserved.end(&sidecar);
        }
        let (line, far) = Far::new(self.clone(), giving.opening, to, giving.shape);
        self.send(Ask::Move(Move::Given(name.to_owned(), line)))?;
        Ok(Some(far))
    }

    /// Detaches a disk, without a time limit. If the log of the disk cannot be read, waits until
    /// the server ends, because no server can have the disk any more.
    fn leave(&self, name: &str) -> Result<(), Refusal> {
        let (tell, told) = sync_channel(1);
        let command = inbox::Command::Detach { disk: name.to_owned() };
        self.send(Ask::Command(command, tell))?;
        if self.wait(name, &told).is_ok() {
            return Ok(());
        }
        loop {
            self.expire(name)?;
            std::thread::sleep(LOOK);
        }
    }

    /// Waits for an answer without a time limit. Meanwhile, clients' requests for the disk fail
    /// after their own limit.
    fn wait<T>(&self, name: &str, told: &Receiver<Result<T, Refusal>>) -> Result<T, Refusal> {
        loop {
            match told.recv_timeout(LOOK) {
                Ok(reply) => return reply,
                Err(RecvTimeoutError::Disconnected) => return Err("the server ends".into()),
                Err(RecvTimeoutError::Timeout) => self.expire(name)?,
            }
        }
    }

    fn expire(&self, name: &str) -> Result<(), Refusal> {
        match Instant::now().checked_sub(self.patience) {
            Some(since) => self.send(Ask::Move(Move::Expire(name.to_owned(), since))),
            None => Ok(()),
        }
    }
}
