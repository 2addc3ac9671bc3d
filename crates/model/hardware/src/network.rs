use state_machine::Slab;
use units::Nanos;

use crate::error::{Check, ParameterError};
use crate::lane::Lane;
use crate::part::{Component, Job, Outbox, PartId, Ticket};
use crate::usage::{Meter, Usage};
use crate::wire::LinkParameters;

/// A switched network between hosts: each has one port, whose rate, latency and frames are those
/// of a link, and the switch between them never blocks.
///
/// A job is a message of `length` bytes with [`Network::way`] for an address, whatever its
/// operation; it is answered when its last byte has arrived. Messages share the port they leave
/// by and the port they come to, frame by frame. A port that receives takes the bytes
/// as they come (cut-through): a message is on both ports from the start and has arrived when
/// both are through with it, so that alone it takes its bytes' time once. Messages without bytes
/// take the latency.
#[derive(Debug)]
pub struct Network {
    parameters: LinkParameters,
    ports: Vec<Port>,
    messages: Slab<Message>,
    meter: Meter,
}

/// The connection of a host to the switch, with the places of messages.
#[derive(Debug)]
struct Port {
    sending: Lane<u32>,
    receiving: Lane<u32>,
    traffic: Traffic,
}

#[derive(Debug, Clone, Copy)]
struct Message {
    from: PartId,
    ticket: Ticket,
    length: u32,
    /// Port it leaves by.
    sender: u32,
    /// Ports that are not through with it: 2, 1 or none.
    ports: u8,
}

/// Bytes and times of a host's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes that left the host.
    pub sent_bytes: u64,
    /// Bytes that came to it, those still on their way included.
    pub received_bytes: u64,
    /// Time the port sent.
    pub sending: Nanos,
    /// Time the port received.
    pub receiving: Nanos,
}

impl Network {
    /// A network of this many hosts, at least 1 and at most 65,536.
    ///
    /// # Errors
    ///
    /// When the rate is not a number above zero, or the number of hosts is out of range.
    pub fn new(parameters: LinkParameters, hosts: u32) -> Result<Self, ParameterError> {
        parameters.check("network")?;
        Check("network").that(
            (1..=1 << 16).contains(&hosts),
            "hosts",
            hosts,
            "at least 1 and at most 65536",
        )?;
        let port = |host: u32| Port {
            sending: Lane::new(parameters.latency, 2 * host),
            receiving: Lane::new(parameters.latency, 2 * host + 1),
            traffic: Traffic::default(),
        };
        let (ports, meter) = ((0..hosts).map(port).collect(), Meter::new(2 * hosts));
        Ok(Self { parameters, ports, messages: Slab::new(), meter })
    }

    /// The address of messages from one host to another, both counted from 0.
    pub const fn way(from: u32, to: u32) -> u64 {
        (from as u64) << 32 | to as u64
    }

    /// Traffic of a host's port so far; all zero for a host it does not have.
    pub fn traffic(&self, host: u32) -> Traffic {
        self.ports.get(host as usize).map_or_else(Traffic::default, |port| port.traffic)
    }
}

impl Network {
    /// Notes that one of a message's two ports has passed it.
    fn port_done(&mut self, now: Nanos, place: u32, out: &mut Outbox) {
        let message = &mut self.messages[place];
        message.ports -= 1;
        if message.ports == 0 {
            let Message { from, ticket, length, .. } = self.messages.remove(place);
            self.meter.leave(now, length);
            out.answer_to(from, ticket, Ok(()));
        }
    }

    fn wake_sender(&mut self, now: Nanos, host: usize, out: &mut Outbox) {
        self.ports[host].sending.wake(now);
        while let Some(place) = self.ports[host].sending.pop(now) {
            self.port_done(now, place, out);
        }
    }
}

impl Component for Network {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        let (sender, to) = ((job.offset >> 32) as usize, (job.offset & 0xffff_ffff) as usize);
        let (bytes, wire) = (u64::from(job.length), self.parameters.wire_time(job.length));
        let Job { from, ticket, length, .. } = job;
        let number = u32::try_from(sender).expect("the upper half of an address");
        let place =
            self.messages.insert(Message { from, ticket, length, sender: number, ports: 2 });
        let port = &mut self.ports[sender];
        port.traffic.sent_bytes += bytes;
        port.traffic.sending += wire;
        // Without an alarm: the receiving port asks for it when it is through first. That saves
        // an event of each message.
        port.sending.send(now, wire, place);
        let port = &mut self.ports[to];
        port.traffic.received_bytes += bytes;
        port.traffic.receiving += wire;
        port.receiving.send(now, wire, place);
        port.receiving.arm(out);
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        let host = (tag / 2) as usize;
        if tag.is_multiple_of(2) {
            self.wake_sender(now, host, out);
            return self.ports[host].sending.arm(out);
        }
        self.ports[host].receiving.wake(now);
        while let Some(place) = self.ports[host].receiving.pop(now) {
            let sender = self.messages[place].sender as usize;
            self.wake_sender(now, sender, out);
            let is_sent = self.messages[place].ports == 1;
            self.port_done(now, place, out);
            if !is_sent {
                self.ports[sender].sending.arm(out);
            }
        }
        self.ports[host].receiving.arm(out);
    }

    /// The servers are the two directions of each port; their busy time counts bytes already
    /// accepted but not yet sent. A byte is counted once, and keeps two servers busy.
    fn usage(&self, now: Nanos) -> Usage {
        let busy = |port: &Port| u128::from(port.traffic.sending.0 + port.traffic.receiving.0);
        let busy_ns = self.ports.iter().map(busy).sum();
        Usage { busy_ns, ..self.meter.usage(now) }
    }
}
