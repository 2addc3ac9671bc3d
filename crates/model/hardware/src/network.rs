use state_machine::Slab;
use units::Nanos;

use crate::error::{Check, ParameterError};
use crate::lane::Lane;
use crate::part::{Component, Job, Outbox, PartId, Ticket};
use crate::usage::{Meter, Usage};
use crate::wire::LinkParameters;

/// A switched network between hosts. Each host has one port, with the rate, latency and frames of a
/// link; the switch between the ports never blocks.
///
/// A job is a message of `length` bytes with [`Network::way`] as its address, whatever its
/// operation. It is answered when its last byte has arrived. Messages share the sending port and
/// the receiving port, frame by frame. A receiving port takes the bytes as they come (cut-through).
/// So a message is on both ports from the start, and has arrived when both have passed it; a single
/// message takes the time of its bytes only once. Messages without bytes take only the latency.
#[derive(Debug)]
pub struct Network {
    parameters: LinkParameters,
    ports: Vec<Port>,
    messages: Slab<Message>,
    meter: Meter,
}

/// Connection of a host to the switch; its lanes contain positions in `messages`.
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
    /// Host of the sending port.
    sender: u32,
    /// Number of ports that have not passed the message yet: 2, 1 or 0.
    ports: u8,
}

/// Bytes and busy times of a host's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes that left the host.
    pub sent_bytes: u64,
    /// Bytes sent to the host, including those still on their way.
    pub received_bytes: u64,
    /// Time in which the port was sending.
    pub sending: Nanos,
    /// Time in which the port was receiving.
    pub receiving: Nanos,
}

impl Network {
    /// Creates a network of this many hosts, at least 1 and at most 65,536.
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

    /// Returns the address of messages from one host to another, both counted from 0.
    pub const fn way(from: u32, to: u32) -> u64 {
        (from as u64) << 32 | to as u64
    }

    /// Returns the traffic of a host's port so far; all zero for a host outside the network.
    pub fn traffic(&self, host: u32) -> Traffic {
        self.ports.get(host as usize).map_or_else(Traffic::default, |port| port.traffic)
    }
}

impl Network {
    /// Records that one of a message's two ports has passed the message.
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

    /// Returns the counters. The servers are the two directions of each port; their busy time
    /// includes bytes that are accepted but not sent yet. A byte is counted once, but keeps two
    /// servers busy.
    fn usage(&self, now: Nanos) -> Usage {
        let busy = |port: &Port| u128::from(port.traffic.sending.0 + port.traffic.receiving.0);
        let busy_ns = self.ports.iter().map(busy).sum();
        Usage { busy_ns, ..self.meter.usage(now) }
    }
}
