//! Small state machines that drive the engine.

use std::fs::File;
use std::sync::Arc;

use datastore::VirtualDisk;
use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use state_machine::{
    CpuBurst, DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose,
    Stream, Token,
};
use tilemark_engine::EngineInstance;
use units::{Bytes, Nanos};

pub const BLOCK: u32 = 4096;

/// Load that asks for one request at a time.
#[derive(Debug, Clone)]
pub struct Load {
    pub stream: Stream,
    pub size: u64,
    pub kind: Kind,
    /// Number of requests of which one is a flush; 0 means none.
    pub flush_every: u64,
    pub write_share: f64,
    issued: u64,
    /// Failed completions that the state machine got.
    pub failures: u64,
}

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// So many users that ask again at once, and this many requests in all.
    Closed { users: u32, requests: u64 },
    /// Submits a request at each interval, independent of completions.
    Paced { every: Nanos },
    /// A user who burns CPU between requests.
    Busy { cost: Nanos },
}

impl Load {
    pub fn new(kind: Kind, size: u64) -> Self {
        Self {
            stream: Stream::derive(7, &[], Purpose::User),
            size,
            kind,
            flush_every: 0,
            write_share: 0.0,
            issued: 0,
            failures: 0,
        }
    }

    fn ask(&mut self, due: Nanos, fx: &mut Effects) {
        if let Kind::Closed { requests, .. } = self.kind
            && self.issued == requests
        {
            return;
        }
        self.issued += 1;
        let flush = self.flush_every > 0 && self.issued.is_multiple_of(self.flush_every);
        let operation = if flush {
            Operation::Flush
        } else if self.stream.chance(self.write_share) {
            Operation::Write
        } else {
            Operation::Read
        };
        let block = self.stream.below(self.size / u64::from(BLOCK));
        fx.submit(IoRequest {
            token: Token(0),
            disk: DiskId(0),
            operation,
            kind: KindId(0),
            offset: if flush { 0 } else { block * u64::from(BLOCK) },
            length: if flush { 0 } else { BLOCK },
            due,
            pattern: Pattern { seed: self.issued, ..Pattern::default() },
            durable: self.issued.is_multiple_of(3),
        });
    }
}

impl Machine for Load {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        if let Event::Done(_, Err(_)) = event {
            self.failures += 1;
        }
        match (self.kind, event) {
            (Kind::Closed { users, .. }, Event::Start) => {
                (0..users).for_each(|_| self.ask(now, fx));
            }
            (Kind::Closed { .. }, Event::Done(..)) => self.ask(now, fx),
            (Kind::Paced { every }, Event::Start) => fx.wake_at(every, Token(0)),
            (Kind::Paced { every }, Event::Timer(_)) => {
                let due = Nanos(every.0 * (self.issued + 1));
                self.ask(due, fx);
                fx.wake_at(due + every, Token(0));
            }
            (Kind::Busy { cost }, Event::Start | Event::Done(..)) => {
                fx.run_cpu(CpuBurst { token: Token(0), cost, burn: true, vm: 0 });
            }
            (Kind::Busy { .. }, Event::Ran(_)) => self.ask(now, fx),
            _ => {}
        }
    }

    fn saved(&self) -> Option<Vec<u8>> {
        postcard::to_stdvec(&(&self.stream, self.issued, self.failures)).ok()
    }

    fn go_on_from(&mut self, saved: &[u8]) -> bool {
        let Ok((stream, issued, failures)) = postcard::from_bytes(saved) else { return false };
        (self.stream, self.issued, self.failures) = (stream, issued, failures);
        true
    }
}

/// The load on one disk in this file.
pub fn on(file: File, load: Load) -> EngineInstance<Load> {
    let disk = VirtualDisk {
        file: Arc::new(file),
        base: 0,
        size: Bytes::new(load.size),
        alignment: 512,
        direct: false,
        writable: true,
        name: "disk".to_owned(),
    };
    let shape = InstanceShape {
        instance: InstanceId(0),
        disk_vms: vec![VmId(0)],
        kinds: 1,
        actions: 0,
        groups: 0,
    };
    EngineInstance::new(load, shape, vec![disk])
}

/// The load on a disk that only exists for fake storage.
pub fn nowhere(load: Load) -> EngineInstance<Load> {
    on(File::open("/dev/null").expect("every system has it"), load)
}

/// The load on a temporary file of its size.
pub fn on_file(load: Load) -> EngineInstance<Load> {
    let file = tempfile::tempfile().expect("a temporary file");
    file.set_len(load.size).expect("a sparse file");
    on(file, load)
}
