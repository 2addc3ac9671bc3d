//! Load for arrays, and its results.

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use sim::{Options, SimInstance, run_model};
use state_machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
    mix,
};
use tilemark_hardware::{Array, PartId, Volume};
use units::{Bytes, Nanos};

/// Shape of the requests of a load.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub length: u32,
    /// Bytes of the disk that are used.
    pub span: u64,
    /// Share of reads, 0 to 1.
    pub reads: f64,
    pub sequential: bool,
}

impl Shape {
    pub const READ_4K: Self = Self { length: 4096, span: 1 << 30, reads: 1.0, sequential: false };
}

/// Times at which requests come.
#[derive(Debug, Clone, Copy)]
pub enum Arrivals {
    /// At random, this many per second.
    Poisson(f64),
    /// From users that think for an exponentially distributed time between answer and next
    /// request.
    Closed { users: u32, think: Nanos },
}

/// A state machine that makes the load and keeps every latency.
pub struct Load {
    pub shape: Shape,
    pub arrivals: Arrivals,
    pub stream: Stream,
    pub next_offset: u64,
    /// Submission and latency of each answered request, in order of the answers.
    pub answered: Vec<(Nanos, Nanos)>,
    pub failed: u64,
    started: Vec<Nanos>,
    free: Vec<u32>,
}

impl Load {
    pub fn new(seed: u64, shape: Shape, arrivals: Arrivals) -> Self {
        Self {
            shape,
            arrivals,
            stream: Stream::derive(seed, &[], Purpose::User),
            next_offset: 0,
            answered: Vec::new(),
            failed: 0,
            started: Vec::new(),
            free: Vec::new(),
        }
    }

    fn request(&mut self, now: Nanos, fx: &mut Effects) {
        let blocks = self.shape.span / u64::from(self.shape.length);
        let block = if self.shape.sequential {
            self.next_offset += 1;
            (self.next_offset - 1) % blocks
        } else {
            self.stream.below(blocks)
        };
        let is_read = self.stream.unit() < self.shape.reads;
        let place = self.free.pop().unwrap_or_else(|| {
            self.started.push(now);
            u32::try_from(self.started.len() - 1).unwrap()
        });
        self.started[place as usize] = now;
        fx.submit(IoRequest {
            token: Token(place),
            disk: DiskId(0),
            operation: if is_read { Operation::Read } else { Operation::Write },
            kind: KindId(0),
            offset: block * u64::from(self.shape.length),
            length: self.shape.length,
            due: now,
            pattern: Pattern::default(),
            durable: false,
        });
    }

    fn pause(&mut self, now: Nanos, mean: Nanos, fx: &mut Effects) {
        if mean == Nanos::ZERO {
            return self.request(now, fx);
        }
        let pause = self.stream.exponential(mean);
        fx.wake_at(now + pause, Token(u32::MAX));
    }
}

impl Machine for Load {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        if let Event::Done(token, result) = event {
            let started = self.started[token.0 as usize];
            self.free.push(token.0);
            self.failed += u64::from(result.is_err());
            self.answered.push((started, now - started));
        }
        match (self.arrivals, event) {
            (Arrivals::Poisson(rate), Event::Start | Event::Timer(_)) => {
                if event != Event::Start {
                    self.request(now, fx);
                }
                let gap = self.stream.exponential(Nanos::from_secs_f64(1.0 / rate));
                fx.wake_at(now + gap, Token(u32::MAX));
            }
            (Arrivals::Closed { users, think }, Event::Start) => {
                (0..users).for_each(|_| self.pause(now, think, fx));
            }
            (Arrivals::Closed { .. }, Event::Timer(_)) => self.request(now, fx),
            (Arrivals::Closed { think, .. }, Event::Done(..)) => self.pause(now, think, fx),
            _ => {}
        }
    }
}

/// Results of a run, warm-up left out.
pub struct Outcome {
    pub array: Array,
    pub loads: Vec<Load>,
    /// Answers per second, of all loads.
    pub rate: f64,
    /// Mean latency in seconds, of all loads.
    pub mean: f64,
    /// A number that stands for every latency in order.
    pub hash: u64,
}

impl Outcome {}

/// Length of a run; the first tenth is left out of the results.
#[derive(Debug, Clone, Copy)]
pub struct Seconds(pub f64);

pub fn volume(entry: PartId) -> Volume {
    Volume { entry, base: 0, size: Bytes::new(u64::MAX / 2) }
}

/// Runs loads, each on a disk of its own at the same entry.
pub fn drive(mut array: Array, entry: PartId, loads: Vec<Load>, seconds: Seconds) -> Outcome {
    let count = loads.len();
    (0..count).for_each(|_| array.add_instance(&[volume(entry)]));
    let mut instances: Vec<_> = loads
        .into_iter()
        .enumerate()
        .map(|(number, machine)| SimInstance { machine, shape: shape(number) })
        .collect();
    let until = Nanos::from_secs_f64(seconds.0);
    let options = Options { until, slice: until, events_per_instant_max: 100_000 };
    run_model(&mut instances, &mut array, &options, &mut |_| {}).expect("time passes");
    let loads: Vec<Load> = instances.into_iter().map(|instance| instance.machine).collect();
    summary(array, loads, seconds)
}

fn summary(array: Array, mut loads: Vec<Load>, Seconds(seconds): Seconds) -> Outcome {
    let warm = Nanos::from_secs_f64(seconds / 10.0);
    let (mut count, mut total, mut hash) = (0_u64, 0.0, 0);
    for load in &mut loads {
        for (started, latency) in &load.answered {
            hash = mix(hash ^ mix(started.0) ^ latency.0);
        }
        load.answered.retain(|(started, latency)| *started + *latency >= warm);
        count += load.answered.len() as u64;
        total += load.answered.iter().map(|(_, latency)| latency.as_secs_f64()).sum::<f64>();
    }
    let rate = count as f64 / (seconds * 0.9);
    Outcome { array, loads, rate, mean: total / count as f64, hash }
}

pub fn shape(number: usize) -> InstanceShape {
    let number = u32::try_from(number).unwrap();
    InstanceShape {
        instance: InstanceId(number),
        disk_vms: vec![VmId(number)],
        kinds: 1,
        actions: 1,
        groups: 1,
    }
}

/// Asserts that the exact value lies in the 99.9 % interval of the mean of ten runs with seeds
/// of their own (Student's t with nine degrees of freedom: 4.78).
pub fn assert_mean_is(exact: f64, name: &str, mut run: impl FnMut(u64) -> f64) {
    let values: Vec<f64> = (0..10).map(&mut run).collect();
    let mean = stats::mean(&values).unwrap();
    let half = 4.78 * stats::stdev(&values).unwrap() / 10_f64.sqrt();
    assert!((mean - exact).abs() <= half, "{name}: {mean} +- {half} is not {exact}");
    assert!(half < 0.05 * exact, "{name}: an interval of {half} around {mean} shows nothing");
}

/// Asserts that two numbers differ by less than a share.
pub fn assert_within(share: f64, found: f64, wanted: f64, name: &str) {
    assert!((found / wanted - 1.0).abs() < share, "{name}: {found}, wanted {wanted} +- {share}");
}
