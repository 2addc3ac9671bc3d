//! What other servers choose here by name: `owner/NAME`, a disk as its owner has it, `pull/NAME`, which has it let go
//! of ([`crate::far`]), and `heir/NAME`, which is there while this server pulls the disk: who is asked to let go of it for
//! an address looks there first.
//!
//! Whoever is let in may have a disk let go of, as whoever is let in may write to it. Clients of this server wait from
//! then on; what they had asked before is answered, all that the log has goes to the backing store, the sidecar says *clean*
//! and nothing is open any more when the other one is answered. It is who is asked from then on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use block_server::{Buffer, Catalog, Disk, Effects, Request};
use nbd::{Abilities, BlockSizes, Code, Export, Operation};
use tier::REQUEST_BYTES_MAX;

use crate::asking::Control;
use crate::error::Refusal;
use crate::far::{Far, PULL_BYTES, puller};
use crate::inbox::{self, Ask, Held, Move};
use crate::route::Other;
use crate::way::Way;

/// Pulls at once; one more is refused, and asks again. Our choice: a host moves few disks at a time.
const GIVING_MAX: usize = 64;
/// How often it is looked who has waited long enough.
const LOOK: Duration = Duration::from_secs(1);

/// What other servers choose, and then what others choose.
struct Doors {
    control: Control,
    others: Option<Box<dyn Catalog>>,
}

impl Control {
    /// A catalogue for the server of this set, by which disks move to other servers; behind it another one.
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
            // Nothing of it is answered here before it is owned here.
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

/// A disk as its owner has it. What is asked goes to the machine by the server's own thread.
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
        // A server that ends answers nobody.
        let _ = self.control.send(Ask::Move(Move::Asked(self.name.clone(), request)));
    }
}

/// Where another server says that it wants a disk.
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
        // Each waits in a thread of its own until the disk is let go of.
        let turn = Arc::clone(&control.giving);
        if Arc::strong_count(&turn) > GIVING_MAX {
            return effects.answer(id, Err(Code::NoMemory), data);
        }
        let give = move || {
            let given = control.give(&name, to);
            drop(turn);
            let result = given.as_ref().map(drop).map_err(|_| Code::NotPermitted);
            // A server that ends answers nobody.
            let _ = control.send(Ask::Move(Move::Answer(id, result, data)));
            // From now on it speaks with whoever has the disk.
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
    /// Lets go of a disk for another server; nothing is to be done if it was let go of already.
    fn give(&self, name: &str, to: Other) -> Result<Option<Far>, Refusal> {
        // A disk that is let go of for nobody has no owner, and its clients nobody to ask.
        if let Err(error) = Way::open(&to.uri, &format!("heir/{name}"), self.tls.as_ref()) {
            let why =
                format!("{name} is not let go of: {} is to have it, and there {error}", to.address);
            self.send(Ask::Move(Move::Said(why.clone())))?;
            return Err(Refusal::new(why));
        }
        let (tell, told) = sync_channel(1);
        self.send(Ask::Move(Move::Give { name: name.to_owned(), to: to.clone(), tell }))?;
        let Some(giving) = self.wait(name, &told)? else { return Ok(None) };
        let files = self.tell(|tell| Ask::Files(giving.index, tell), None)?;
        self.leave(name)?;
        if let Some(Held { sidecar, reserved: Some(reserved) }) = files {
            reserved.end(&sidecar);
        }
        let (line, far) = Far::new(self.clone(), giving.opening, to, giving.shape);
        self.send(Ask::Move(Move::Given(name.to_owned(), line)))?;
        Ok(Some(far))
    }

    /// Has a disk leave the set, however long that takes. If what its log has cannot be read nobody can have it any more.
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

    /// Waits as long as it takes; whoever wants something of the disk meanwhile waits for his time.
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
