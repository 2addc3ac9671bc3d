use hardware::{Class, Component, Job, Network, Outbox, PartId, StreamId, Ticket, Usage};
use state_machine::{IoError, Operation, Slab};
use units::Nanos;

/// Size of a message with memory, and number of outstanding messages of a move. Our choice: enough
/// to fill the network, in messages of the size that copies of disks have.
const MESSAGE: u32 = 1 << 20;
const OUTSTANDING: u32 = 4;

/// Part that sends memory over the network between the hosts, and wakes the moves at their times.
/// Its messages share the ports with copies of writes, frame by frame.
#[derive(Debug)]
pub struct Courier {
    network: PartId,
    transfers: Slab<Transfer>,
    due: Vec<Due>,
}

/// Something that the moves must handle now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// A time has come, with the number that was given.
    Time(u32),
    /// The memory of a move was sent.
    Sent(u32),
}

#[derive(Debug)]
struct Transfer {
    owner: u32,
    way: u64,
    left: u64,
    outstanding: u32,
}

impl Courier {
    pub const fn new(network: PartId) -> Self {
        Self { network, transfers: Slab::new(), due: Vec::new() }
    }

    /// Sends memory of a move from one host to another.
    pub fn send(&mut self, owner: u32, way: (usize, usize), bytes: u64, out: &mut Outbox) {
        if bytes == 0 {
            return self.due.push(Due::Sent(owner));
        }
        let host = |host: usize| u32::try_from(host).expect("hosts are counted by u32");
        let way = Network::way(host(way.0), host(way.1));
        let place = self.transfers.insert(Transfer { owner, way, left: bytes, outstanding: 0 });
        self.fill(place, out);
    }

    /// Takes what is due.
    pub fn take_due(&mut self) -> Vec<Due> {
        std::mem::take(&mut self.due)
    }

    fn fill(&mut self, place: u32, out: &mut Outbox) {
        let own = &mut self.transfers[place];
        while own.left > 0 && own.outstanding < OUTSTANDING {
            let length = u32::try_from(own.left).unwrap_or(u32::MAX).min(MESSAGE);
            own.left -= u64::from(length);
            own.outstanding += 1;
            let job = Job {
                from: self.network,
                ticket: Ticket(place),
                operation: Operation::Write,
                offset: own.way,
                length,
                stream: StreamId(0),
                class: Class::Copy,
            };
            out.ask(self.network, job);
        }
    }
}

impl Component for Courier {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        debug_assert!(false, "no part sends jobs to the courier");
        out.answer(&job, Ok(()));
    }

    fn finished(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        _result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let own = &mut self.transfers[ticket.0];
        own.outstanding -= 1;
        if own.left > 0 {
            return self.fill(ticket.0, out);
        }
        if own.outstanding == 0 {
            let owner = self.transfers.remove(ticket.0).owner;
            self.due.push(Due::Sent(owner));
        }
    }

    fn wake(&mut self, _now: Nanos, tag: u32, _out: &mut Outbox) {
        self.due.push(Due::Time(tag));
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
