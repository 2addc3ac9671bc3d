//! A rig in virtual time: the real state machines on a modelled device, with injected faults.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use engine::prefill::RateStats;
use run_store::gauge::{Gauge, GaugeSource, Readings};
use run_store::slice::Slice;
use sim::{Completion, Device, SimInstance};
use state_machine::{IoError, IoRequest};
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::fleet::{DiskNeed, Driven, StepOrder, driven};
use crate::plan::ResolvedPlan;
use crate::progress::Control;
use crate::rig::{
    Clocks, Drives, Failure, Load, LoadOutcome, PrefillSoFar, Prefilled, Received, Rig,
};

/// Model of a server with a fixed service time and a queue: the simplest disk that saturates.
struct OneServer {
    service: Nanos,
    free_at: Nanos,
    fails_from: u64,
    seen: u64,
}

impl Device for OneServer {
    fn submit(&mut self, now: Nanos, _: usize, _: &IoRequest) -> Completion {
        self.seen += 1;
        self.free_at = self.free_at.max(now).saturating_add(self.service);
        let result = if self.seen >= self.fails_from { Err(IoError::Os(5)) } else { Ok(()) };
        Completion { at: self.free_at, result }
    }
}

type OnSlice = Box<dyn FnMut(u64, &mut Slice)>;

/// State outside of the storage.
pub struct World {
    /// Function that changes each slice before it is handed out. The argument is the number of
    /// earlier slices.
    pub on_slice: OnSlice,
    handed_out: u64,
    now: Nanos,
}

/// A rig on one modelled server.
pub struct FakeRig {
    /// Service time of every I/O.
    pub service: Nanos,
    /// Capacity for disks, in bytes.
    pub capacity: Bytes,
    /// Number of the first failing I/O of a step, counted from 1. All later ones also fail.
    pub fails_from: u64,
    /// Number of disks above which the first write fails.
    pub disks_max: usize,
    /// Jump of the wall clock at each start of a load, in nanoseconds.
    pub clock_jump_ns: i128,
    /// Length of a slice.
    pub slice: Nanos,
    /// Virtual time for which steps are simulated.
    pub horizon: Nanos,
    /// Speed of the first write of the disks, in bytes per second; 0 if unknown.
    pub fill_bytes_per_s: f64,
    /// True if disks can be recreated during a run.
    pub can_renew: bool,
    /// True if the first write fails after the disks were recreated.
    pub fails_after_renewal: bool,
    /// Names of prepared disks, in order.
    pub prepared: Vec<String>,
    /// True if steps count as steps in real time.
    pub in_real_time: bool,
    /// Reading of a meter in each slice, if there is a meter.
    pub metered: Option<Gauge>,
    /// State outside of the storage.
    pub world: Rc<RefCell<World>>,
    pub(crate) loads: i128,
}

/// A meter with a constant reading.
struct Meter(Gauge);

impl GaugeSource for Meter {
    fn read(&mut self) -> Readings {
        Readings { gauges: vec![self.0.clone()], ..Readings::default() }
    }
}

impl FakeRig {
    /// Creates a rig without faults.
    pub fn new(service: Nanos, slice: Nanos, horizon: Nanos) -> Self {
        let world = World { on_slice: Box::new(|_, _| {}), handed_out: 0, now: Nanos::ZERO };
        Self {
            service,
            capacity: Bytes::GIB * 1024,
            fails_from: u64::MAX,
            disks_max: usize::MAX,
            clock_jump_ns: 0,
            slice,
            horizon,
            fill_bytes_per_s: 0.0,
            can_renew: false,
            fails_after_renewal: false,
            prepared: Vec::new(),
            in_real_time: false,
            metered: None,
            world: Rc::new(RefCell::new(world)),
            loads: 0,
        }
    }
}

impl Rig for FakeRig {
    type Load = FakeLoad;

    fn clocks(&self) -> Clocks {
        let now = i128::from(self.world.borrow().now.0);
        Clocks { monotonic_ns: now, realtime_ns: now + self.loads * self.clock_jump_ns }
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn can_rest(&self) -> bool {
        self.in_real_time
    }

    fn rest(&self, _: Nanos, _: &Control) {}

    fn meters(&self) -> Vec<Box<dyn GaugeSource>> {
        let meter = |gauge: &Gauge| Box::new(Meter(gauge.clone())) as Box<dyn GaugeSource>;
        self.metered.iter().map(meter).collect()
    }

    fn prepare(
        &mut self,
        disks: &[DiskNeed],
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError> {
        let mut bytes = Bytes::ZERO;
        for disk in disks {
            if self.prepared.contains(&disk.name) {
                continue;
            }
            if self.prepared.len() >= self.disks_max {
                return Err(engine::prefill::PrefillError::Write {
                    disk: disk.name.clone(),
                    offset: 4096,
                    length: 1 << 20,
                    source: std::io::Error::from_raw_os_error(28),
                }
                .into());
            }
            self.prepared.push(disk.name.clone());
            bytes = bytes + disk.size;
            progress(PrefillSoFar { done: bytes, total: bytes, bytes_per_s: 1e9 });
        }
        let mut first_write = RateStats::default();
        if self.fill_bytes_per_s > 0.0 {
            let elapsed = Nanos::from_secs_f64(bytes.as_f64() / self.fill_bytes_per_s);
            self.world.borrow_mut().now += elapsed;
            (first_write.bytes, first_write.elapsed) = (bytes, elapsed);
        }
        let done = Prefilled { bytes: bytes.get(), first_write, ..Prefilled::default() };
        Ok((bytes > Bytes::ZERO).then_some(done))
    }

    fn renew_disks(&mut self) -> Result<bool, BenchError> {
        if !self.can_renew {
            return Ok(false);
        }
        self.prepared.clear();
        if self.fails_after_renewal {
            self.disks_max = 0;
        }
        Ok(true)
    }

    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<FakeLoad, BenchError> {
        self.drive(driven(plan, order)?)
    }
}

impl Drives for FakeRig {
    fn drive(&mut self, load: Vec<Driven>) -> Result<FakeLoad, BenchError> {
        self.loads += 1;
        let first_disk = load[0].instance.disks[0].name.clone();
        let mut instances: Vec<_> = load
            .into_iter()
            .map(|one| SimInstance { machine: one.machine, shape: one.instance.shape })
            .collect();
        let mut device = OneServer {
            service: self.service,
            free_at: Nanos::ZERO,
            fails_from: self.fails_from,
            seen: 0,
        };
        let options =
            sim::Options { until: self.horizon, slice: self.slice, ..sim::Options::default() };
        let mut slices = VecDeque::new();
        sim::run(&mut instances, &mut device, &options, &mut |slice| slices.push_back(slice))
            .expect("the load of a test lets time pass");
        Ok(FakeLoad { slices, first_disk, is_stopped: false, failed: 0, world: self.world.clone() })
    }
}

/// A load that was completely simulated before its start.
pub struct FakeLoad {
    slices: VecDeque<Slice>,
    first_disk: String,
    is_stopped: bool,
    failed: u64,
    world: Rc<RefCell<World>>,
}

impl GaugeSource for FakeLoad {}

impl Load for FakeLoad {
    fn next(&mut self, _: Duration) -> Received {
        if self.is_stopped {
            return Received::Ended;
        }
        let Some(mut slice) = self.slices.pop_front() else { return Received::Ended };
        let world = &mut *self.world.borrow_mut();
        (world.on_slice)(world.handed_out, &mut slice);
        world.handed_out += 1;
        world.now += slice.width;
        self.failed += slice.io.iter().map(|row| row.errors).sum::<u64>();
        Received::Slice(slice)
    }

    fn stop(&mut self) {
        self.is_stopped = true;
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        let failure = Failure {
            of: (0, 0),
            during: None,
            disk: self.first_disk,
            offset: 8192,
            operation: "read".to_owned(),
            error: IoError::Os(5).to_string(),
            count: self.failed,
        };
        let failures = if self.failed > 0 { vec![failure] } else { Vec::new() };
        Ok(LoadOutcome { failures, backend: "fake".to_owned(), ..LoadOutcome::default() })
    }

    fn abandon(self) {}
}
