//! A disk whose answers wait until a test lets them go.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use nbd::{Code, Export, Operation};
use rustix::event::{EventfdFlags, eventfd};
use tilemark_block_server::{Action, Buffer, Disk, Effects, Io, IoId, RamDisk, Request, Service};

/// The disk. Each request but a flush waits for its turn at the gate.
pub(crate) struct Gated {
    ram: RamDisk,
    gate: Arc<OwnedFd>,
    came: Sender<Operation>,
    waiting: Vec<Option<Request>>,
    fails: Option<Code>,
}

/// Gate that lets requests go, and counts those that came.
pub(crate) struct Gate {
    gate: Arc<OwnedFd>,
    came: Receiver<Operation>,
}

impl Gated {
    pub fn with_gate(size: u64, fails: Option<Code>) -> (Box<dyn Disk>, Gate) {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE;
        let gate = Arc::new(eventfd(0, flags).unwrap());
        let (tell, came) = channel();
        let ram = RamDisk::new("vm", size).unwrap();
        let (waiting, ours) = (Vec::new(), Arc::clone(&gate));
        let disk = Self { ram, gate: ours, came: tell, waiting, fails };
        (Box::new(disk), Gate { gate, came })
    }
}

impl Gate {
    /// Waits until the disk has this many more requests.
    pub fn wait_for(&self, requests: usize) {
        for _ in 0..requests {
            self.came.recv().expect("the server is there");
        }
    }

    /// Lets so many answers go.
    pub fn open(&self, answers: u64) {
        rustix::io::write(&self.gate, &answers.to_ne_bytes()).unwrap();
    }
}

impl Disk for Gated {
    fn export(&self) -> &Export {
        self.ram.export()
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        let operation = request.operation;
        if operation == Operation::Flush {
            return self.ram.submit(request, effects);
        }
        let id = IoId(u32::try_from(self.waiting.len()).unwrap());
        self.waiting.push(Some(request));
        let (file, action) = (Arc::clone(&self.gate), Action::Read { offset: 0, skip: 0 });
        effects.io(Io { id, file, action, data: Buffer::zeroed(8) });
        // A test that is over listens no more.
        let _ = self.came.send(operation);
    }

    fn service(&mut self) -> Option<&mut dyn Service> {
        Some(self)
    }
}

impl Service for Gated {
    fn done(&mut self, io: IoId, result: Result<u32, i32>, _: Buffer, effects: &mut Effects) {
        let request = self.waiting[io.0 as usize].take().expect("done once");
        match (result, self.fails) {
            (Ok(_), None) => self.ram.submit(request, effects),
            (_, code) => {
                effects.answer(request.id, Err(code.unwrap_or(Code::Io)), request.data);
            }
        }
    }
}
