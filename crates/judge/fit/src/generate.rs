use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use sim::{Completion, Device, Options, SimInstance};
use spec::workload::Workload;
use state_machine::{IoRequest, Operation as Asked, Purpose, Stream};
use trace::{DeviceIndex, Flags, IoRecord, Operation};
use units::Nanos;
use workload::InstancePlan;

use super::error::FitError;
use super::gather::Observed;

/// Maximum number of latencies per direction that are kept for random draws.
const KEPT: usize = 4096;

/// Model of the storage on which a workload is run in virtual time.
#[derive(Debug, Clone, PartialEq)]
pub enum Storage {
    /// Immediate completions, without latencies in the records.
    Ideal,
    /// Latencies drawn from lists for reads, writes and flushes. An empty list means immediate
    /// completion.
    Latencies([Vec<Nanos>; 3]),
}

impl Storage {
    /// Returns storage with the observed latencies, independent for each I/O; ideal storage if no
    /// latencies are known.
    pub(crate) fn like(observed: &Observed) -> Self {
        let of = |operation: Operation| -> Vec<Nanos> {
            let own = observed.records.iter().filter(|record| record.operation == operation);
            let all: Vec<Nanos> = own.filter_map(IoRecord::latency).collect();
            all.iter().step_by(all.len().div_ceil(KEPT).max(1)).copied().collect()
        };
        if !observed.info.has_latency {
            return Self::Ideal;
        }
        Self::Latencies([of(Operation::Read), of(Operation::Write), of(Operation::Flush)])
    }

    /// Returns storage with latencies that are `times` as long.
    pub(crate) fn slower(&self, times: u64) -> Self {
        let longer = |of: &Vec<Nanos>| -> Vec<Nanos> {
            of.iter().map(|latency| Nanos(latency.0.saturating_mul(times))).collect()
        };
        match self {
            Self::Ideal => Self::Ideal,
            Self::Latencies(all) => Self::Latencies(all.each_ref().map(longer)),
        }
    }
}

/// Runs a workload in virtual time and returns its I/O in order of submission, with disks as
/// devices.
///
/// # Errors
/// If it cannot be built, or virtual time does not advance.
pub fn generate(
    workload: &Workload,
    seed: u64,
    until: Nanos,
    storage: &Storage,
) -> Result<Vec<IoRecord>, FitError> {
    let plan = InstancePlan {
        workload,
        seed,
        round: 0,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: 1.0,
        time_scale: 1.0,
        cpu: None,
        schedule: None,
    };
    let built = workload::build(&plan)?;
    let id = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let shape = InstanceShape {
        instance: InstanceId(0),
        disk_vms: built.disks.iter().map(|disk| VmId(id(disk.vm).into())).collect(),
        kinds: id(built.kinds.len()),
        actions: id(built.actions.len()),
        groups: id(built.groups.len()),
    };
    let stream = Stream::derive(seed, &[], Purpose::Device);
    let mut tape = Tape { storage, stream, records: Vec::new() };
    // Slices are not used, so few of them suffice.
    let slice = Nanos((until.0 / 16).max(1));
    let options = Options { until, slice, ..Options::default() };
    let mut instances = [SimInstance { machine: built.machine, shape }];
    sim::run(&mut instances, &mut tape, &options, &mut |_| {})?;
    Ok(tape.records)
}

/// Recorder of requests.
struct Tape<'a> {
    storage: &'a Storage,
    stream: Stream,
    records: Vec<IoRecord>,
}

impl Device for Tape<'_> {
    fn submit(&mut self, now: Nanos, _instance: usize, request: &IoRequest) -> Completion {
        let (operation, at) = match request.operation {
            Asked::Read => (Operation::Read, 0),
            Asked::Write => (Operation::Write, 1),
            Asked::Flush => (Operation::Flush, 2),
        };
        let latency = match self.storage {
            Storage::Ideal => None,
            Storage::Latencies(known) => Some(draw(&known[at], &mut self.stream)),
        };
        self.records.push(IoRecord {
            flags: if request.durable { Flags::FUA } else { Flags::NONE },
            device: DeviceIndex(request.disk.0),
            device_time: latency,
            ..IoRecord::new(now, operation, request.offset, request.length)
        });
        Completion { at: now.saturating_add(latency.unwrap_or_default()), result: Ok(()) }
    }
}

/// Draws a random latency from a list. It is at least one nanosecond, so that virtual time advances
/// in loops.
fn draw(latencies: &[Nanos], stream: &mut Stream) -> Nanos {
    let at = stream.below(latencies.len().max(1) as u64);
    let found = usize::try_from(at).ok().and_then(|at| latencies.get(at).copied());
    found.unwrap_or(Nanos(1)).max(Nanos(1))
}
