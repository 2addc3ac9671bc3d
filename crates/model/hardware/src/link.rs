use std::collections::VecDeque;

use state_machine::{IoError, Operation};
use units::Nanos;

use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, Outbox, PartId, Ticket};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// Speed and latency of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkParameters {
    /// Payload in bytes per second and direction, above zero.
    pub rate: f64,
    /// Time a message takes beside its bytes, each way; zero or more.
    pub latency: Nanos,
}

/// Links of known kinds.
///
/// Rates: Fibre Channel 400, 800 and 1600 MB/s per direction (nominal payload of 4, 8 and 16
/// Gbit/s); Ethernet is its bit rate times 0.973, the payload share of TCP at MTU 1500 (a
/// published iSCSI study; 0.996 with jumbo frames). Latencies, one way: Fibre Channel 5 us
/// and Ethernet with TCP 30 us are estimates from the lower ends of 5-10 us and 30-60 us. PCIe:
/// 985 MB/s per lane of generation 3 (8 GT/s, 128b/130b), less a tenth for packet headers;
/// its 1 us is an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPreset {
    /// Fibre Channel, 4 Gbit/s.
    Fc4,
    /// Fibre Channel, 8 Gbit/s.
    Fc8,
    /// Fibre Channel, 16 Gbit/s.
    Fc16,
    /// Ethernet, 1 Gbit/s, MTU 1500.
    Ethernet1,
    /// Ethernet, 10 Gbit/s, MTU 1500.
    Ethernet10,
    /// Ethernet, 25 Gbit/s, MTU 1500.
    Ethernet25,
    /// NVMe on four lanes of PCIe 3.0.
    NvmePcie3x4,
}

const ETHERNET_SHARE: f64 = 0.973;

impl LinkPreset {
    /// Every preset, slowest family member first.
    pub const ALL: [Self; 7] = [
        Self::Fc4,
        Self::Fc8,
        Self::Fc16,
        Self::Ethernet1,
        Self::Ethernet10,
        Self::Ethernet25,
        Self::NvmePcie3x4,
    ];

    /// Name of the preset in definitions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fc4 => "fc-4g",
            Self::Fc8 => "fc-8g",
            Self::Fc16 => "fc-16g",
            Self::Ethernet1 => "ethernet-1g",
            Self::Ethernet10 => "ethernet-10g",
            Self::Ethernet25 => "ethernet-25g",
            Self::NvmePcie3x4 => "nvme-pcie3x4",
        }
    }

    /// The preset of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// True if hosts reach one another over such a link.
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Ethernet1 | Self::Ethernet10 | Self::Ethernet25)
    }

    /// The parameters of one such link.
    pub fn parameters(self) -> LinkParameters {
        let (rate, latency_us) = match self {
            Self::Fc4 => (400e6, 5),
            Self::Fc8 => (800e6, 5),
            Self::Fc16 => (1600e6, 5),
            Self::Ethernet1 => (125e6 * ETHERNET_SHARE, 30),
            Self::Ethernet10 => (1250e6 * ETHERNET_SHARE, 30),
            Self::Ethernet25 => (3125e6 * ETHERNET_SHARE, 30),
            Self::NvmePcie3x4 => (4.0 * 985e6 * 0.9, 1),
        };
        LinkParameters { rate, latency: Nanos::from_micros(latency_us) }
    }
}

/// A full-duplex link in front of a component: the bytes of writes queue on the way there,
/// those of reads on the way back, each way first come first served. Commands and answers
/// without data take the latency only.
#[derive(Debug)]
pub struct Link {
    parameters: LinkParameters,
    next: PartId,
    there: Lane,
    back: Lane,
    asked: Slab<Job>,
    meter: Meter,
}

/// A direction of a link: messages arrive in the order they were sent.
#[derive(Debug, Default)]
struct Lane {
    /// Time at which the last byte sent so far will have left.
    free_at: Nanos,
    under_way: VecDeque<(Nanos, Job, Result<(), IoError>)>,
    busy: Nanos,
}

const THERE: u32 = 0;
const BACK: u32 = 1;

impl Link {
    /// A link in front of `next`.
    ///
    /// # Errors
    ///
    /// When the rate is not a number above zero.
    pub fn new(parameters: LinkParameters, next: PartId) -> Result<Self, ParameterError> {
        let rate = parameters.rate;
        let is_rate = rate.is_finite() && rate > 0.0;
        Check("link").that(is_rate, "rate", format!("{rate} B/s"), "above 0 B/s and finite")?;
        let (there, back) = (Lane::default(), Lane::default());
        Ok(Self { parameters, next, there, back, asked: Slab::new(), meter: Meter::new(2) })
    }

    fn span(&self, bytes: u32) -> Nanos {
        Nanos::from_secs_f64(f64::from(bytes) / self.parameters.rate)
    }
}

impl Lane {
    /// Sends a message that takes `span` on the wire; only the first one under way has an
    /// alarm.
    fn send(
        &mut self,
        now: Nanos,
        message: (Job, Result<(), IoError>),
        times: LaneTimes,
        out: &mut Outbox,
    ) {
        self.free_at = self.free_at.max(now).saturating_add(times.span);
        self.busy += times.span;
        let at = self.free_at.saturating_add(times.latency);
        if self.under_way.is_empty() {
            out.wake_at(at, times.tag);
        }
        self.under_way.push_back((at, message.0, message.1));
    }

    fn arrive(&mut self, tag: u32, out: &mut Outbox) -> (Job, Result<(), IoError>) {
        let (_, job, result) = self.under_way.pop_front().expect("an alarm has its message");
        if let Some((at, ..)) = self.under_way.front() {
            out.wake_at(*at, tag);
        }
        (job, result)
    }
}

struct LaneTimes {
    span: Nanos,
    latency: Nanos,
    tag: u32,
}

impl Component for Link {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        let bytes = if job.operation == Operation::Write { job.length } else { 0 };
        let latency = self.parameters.latency;
        let times = LaneTimes { span: self.span(bytes), latency, tag: THERE };
        self.there.send(now, (job, Ok(())), times, out);
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let job = self.asked.remove(ticket.0);
        let is_data = job.operation == Operation::Read && result.is_ok();
        let bytes = if is_data { job.length } else { 0 };
        let latency = self.parameters.latency;
        let times = LaneTimes { span: self.span(bytes), latency, tag: BACK };
        self.back.send(now, (job, result), times, out);
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        if tag == THERE {
            let (job, _) = self.there.arrive(THERE, out);
            let ticket = Ticket(self.asked.insert(job));
            out.ask(self.next, Job { ticket, ..job });
        } else {
            let (job, result) = self.back.arrive(BACK, out);
            self.meter.leave(now, job.length);
            out.answer(&job, result);
        }
    }

    /// Jobs inside include those at the far end. The two servers are the directions; their
    /// busy time counts bytes already accepted but not yet sent.
    fn usage(&self, now: Nanos) -> Usage {
        let busy_ns = u128::from(self.there.busy.0) + u128::from(self.back.busy.0);
        Usage { busy_ns, ..self.meter.usage(now) }
    }
}
