use std::collections::VecDeque;

use units::Nanos;

use crate::error::{Check, ParameterError};
use crate::link::LinkParameters;
use crate::part::{Component, Job, Outbox, PartId, Ticket};
use crate::usage::{Meter, Usage};

/// A switched network between hosts: each has one port, whose rate and latency are those of a
/// link, and the switch between them never blocks.
///
/// A job is a message of `length` bytes with [`Network::way`] for an address, whatever its
/// operation; it is answered when its last byte has arrived. Messages leave a port and enter
/// one in the order they were sent. A port that receives takes the bytes as they come
/// (cut-through), so that a message alone takes its bytes' time once. Messages without bytes
/// take the latency, behind what was sent before.
#[derive(Debug)]
pub struct Network {
    parameters: LinkParameters,
    ports: Vec<Port>,
    meter: Meter,
}

/// The connection of a host to the switch.
#[derive(Debug, Default)]
struct Port {
    /// Times at which the last byte sent so far will have left, and the last to be received will
    /// have come.
    sent_at: Nanos,
    received_at: Nanos,
    traffic: Traffic,
    /// On their way to this port: when each arrives, and what of its job the answer needs.
    arriving: VecDeque<(Nanos, Message)>,
}

#[derive(Debug, Clone, Copy)]
struct Message {
    from: PartId,
    ticket: Ticket,
    length: u32,
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
        let (check, rate) = (Check("network"), parameters.rate);
        let is_rate = rate.is_finite() && rate > 0.0;
        check.that(is_rate, "rate", format!("{rate} B/s"), "above 0 B/s and finite")?;
        check.that(
            (1..=1 << 16).contains(&hosts),
            "hosts",
            hosts,
            "at least 1 and at most 65536",
        )?;
        let ports = (0..hosts).map(|_| Port::default()).collect();
        Ok(Self { parameters, ports, meter: Meter::new(2 * hosts) })
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

impl Component for Network {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        let (from, to) = ((job.offset >> 32) as usize, (job.offset & 0xffff_ffff) as usize);
        let (bytes, span) = (
            u64::from(job.length),
            Nanos::from_secs_f64(f64::from(job.length) / self.parameters.rate),
        );
        let sender = &mut self.ports[from];
        sender.sent_at = sender.sent_at.max(now).saturating_add(span);
        sender.traffic.sent_bytes += bytes;
        sender.traffic.sending += span;
        let left = sender.sent_at;
        let receiver = &mut self.ports[to];
        receiver.received_at = receiver.received_at.saturating_add(span).max(left);
        receiver.traffic.received_bytes += bytes;
        receiver.traffic.receiving += span;
        let at = receiver.received_at.saturating_add(self.parameters.latency);
        if receiver.arriving.is_empty() {
            out.wake_at(at, u32::try_from(to).expect("the lower half of an address"));
        }
        let Job { from, ticket, length, .. } = job;
        receiver.arriving.push_back((at, Message { from, ticket, length }));
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        let arriving = &mut self.ports[tag as usize].arriving;
        let (_, message) = arriving.pop_front().expect("an alarm has its message");
        if let Some((at, _)) = arriving.front() {
            out.wake_at(*at, tag);
        }
        self.meter.leave(now, message.length);
        out.answer_to(message.from, message.ticket, Ok(()));
    }

    /// The servers are the two directions of each port; their busy time counts bytes already
    /// accepted but not yet sent. A byte is counted once, and keeps two servers busy.
    fn usage(&self, now: Nanos) -> Usage {
        let busy = |port: &Port| u128::from(port.traffic.sending.0 + port.traffic.receiving.0);
        let busy_ns = self.ports.iter().map(busy).sum();
        Usage { busy_ns, ..self.meter.usage(now) }
    }
}
