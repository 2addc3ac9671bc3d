//! Until the builder of arrays is here: one station in the place of every array.

use device::{Array as Parts, ServiceTime, Station, Ticket, Volume};
use machine::{IoRequest, Machine, Purpose, Stream};
use record::run::ModelFacts;
use sim::{Model, ModelEffects, SimInstance, Storage};
use units::{Bytes, Nanos};

/// A virtual disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantDisk {
    /// Name.
    pub name: String,
    /// Workload.
    pub workload: String,
    /// Role.
    pub role: spec::workload::Role,
    /// Size.
    pub size: Bytes,
    /// Machine.
    pub vm: usize,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantInstance {
    /// Tile.
    pub tile: u32,
    /// By machine.
    pub vcpus: Vec<u32>,
    /// By disk.
    pub disks: Vec<PlantDisk>,
}

/// What a plant is made of.
#[derive(Debug, Clone, Copy)]
pub struct PlantPlan<'a> {
    /// The array.
    pub array: &'a spec::array::Array,
    /// Instances.
    pub instances: &'a [PlantInstance],
    /// Seed.
    pub seed: u64,
}

/// Why there is no plant.
#[derive(Debug, thiserror::Error)]
pub enum PlantError {
    /// A pool is too small.
    #[error("the virtual disks take {needed} of pool \"{pool}\", which holds {capacity}")]
    TooSmall {
        /// Which.
        pool: String,
        /// Bytes.
        needed: Bytes,
        /// Bytes.
        capacity: Bytes,
    },
    /// No time.
    #[error("disk \"{disk}\" answers 4 KiB in 0 s")]
    ZeroService {
        /// Which.
        disk: String,
    },
}

/// How much is warmed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Warm(());

/// What warming came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct WarmReport;

/// A station.
#[derive(Debug)]
pub struct Plant(Storage);

const CAPACITY: Bytes = Bytes::new(1 << 42);

impl Plant {
    /// A plant.
    pub fn new(plan: &PlantPlan<'_>) -> Result<Self, PlantError> {
        let sizes = plan.instances.iter().flat_map(|one| &one.disks).map(|disk| disk.size);
        let needed: Bytes = sizes.sum();
        if needed > CAPACITY {
            let pool = format!("all of {}", plan.array.name);
            return Err(PlantError::TooSmall { pool, needed, capacity: CAPACITY });
        }
        let stream = Stream::derive(plan.seed, &[], Purpose::User);
        let time = ServiceTime::Exponential(Nanos::from_micros(200), stream);
        let station = Station::new(1, time, None)
            .map_err(|_| PlantError::ZeroService { disk: "all".to_owned() })?;
        let mut parts = Parts::new();
        let entry = parts.add(station);
        for instance in plan.instances {
            let volume = |disk: &PlantDisk| Volume { entry, base: 0, size: disk.size };
            let volumes: Vec<Volume> = instance.disks.iter().map(volume).collect();
            parts.add_instance(&volumes);
        }
        Ok(Self(Storage::new(parts)))
    }

    /// Nothing to warm.
    pub fn warm<M: Machine>(&mut self, _: &mut [SimInstance<M>], _: &Warm) -> WarmReport {
        WarmReport
    }

    /// Measured time begins.
    pub fn mark(&mut self, _: Nanos) {}

    /// Since the mark.
    pub fn facts(&mut self, _: Nanos) -> ModelFacts {
        ModelFacts::default()
    }

    /// A second has ended.
    pub fn tick(&mut self, _: Nanos) {}

    /// Bytes of disks that it holds.
    pub fn capacity(_: &spec::array::Array, _: u32) -> Bytes {
        CAPACITY
    }
}

impl Model for Plant {
    type Alarm = device::Alarm;

    fn submit(
        &mut self,
        now: Nanos,
        of: (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<device::Alarm>,
    ) {
        self.0.submit(now, of, request, fx);
    }

    fn wake(&mut self, now: Nanos, alarm: device::Alarm, fx: &mut ModelEffects<device::Alarm>) {
        self.0.wake(now, alarm, fx);
    }
}
