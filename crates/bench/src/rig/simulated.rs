use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use record::run::{ModelFacts, Prefill};
use record::slice::Slice;
use sim::plant::{Plant, PlantDisk, PlantInstance, PlantPlan, Warm};
use sim::{Options, SimError, SimInstance, Simulation};
use spec::array::Array;
use units::{Bytes, Nanos};
use workload::WorkloadMachine;

use crate::error::BenchError;
use crate::rig::{Clocks, Load, LoadOutcome, PrefillSoFar, Received, Rig};
use crate::step::{DiskNeed, FleetInstance};

/// What moves the data of a simulation, as results name it.
pub const VIRTUAL_TIME: &str = "virtual time";

/// Most tiles that are tried on an array with a pool of its own for every tile, which has room
/// for any number of them. Our choice: 65,536 virtual machines are the most a model numbers,
/// and no published result is near a thousand tiles.
const TILES_MAX: u32 = 1000;

/// The round in which machines fill tiers before time begins: none that is measured, so that
/// a tier knows what is popular, but no sequence by heart.
const WARMING: u64 = u64::MAX;

/// A modelled array in virtual time. Its disks are there as soon as they are named, and its
/// clock moves only while a load is driven.
#[derive(Debug)]
pub struct SimRig<'a> {
    array: &'a Array,
    seed: u64,
    slice: Nanos,
    now: Rc<Cell<Nanos>>,
}

impl<'a> SimRig<'a> {
    /// A rig at time 0. The seed is that of everything the model itself draws.
    pub fn new(array: &'a Array, seed: u64, slice: Nanos) -> Self {
        Self { array, seed, slice, now: Rc::default() }
    }

    /// Bytes of disks that the array holds when there are so many tiles.
    pub fn capacity_with(&self, tiles: u32) -> Bytes {
        Plant::capacity(self.array, tiles)
    }

    fn plant(&self, instances: &[FleetInstance]) -> Result<Plant, BenchError> {
        let instances: Vec<PlantInstance> = instances.iter().map(plant_instance).collect();
        let plan = PlantPlan { array: self.array, instances: &instances, seed: self.seed };
        Plant::new(&plan)
            .map_err(|source| BenchError::Plant { array: self.array.name.clone(), source })
    }
}

fn plant_instance(instance: &FleetInstance) -> PlantInstance {
    let disk = |disk: &DiskNeed| PlantDisk {
        name: disk.disk.clone(),
        workload: instance.workload.clone(),
        role: disk.role,
        size: disk.size,
        vm: disk.vm,
    };
    PlantInstance {
        tile: instance.member.tile,
        vms: instance.vms.clone(),
        vcpus: instance.vcpus.clone(),
        disks: instance.disks.iter().map(disk).collect(),
    }
}

impl Rig for SimRig<'_> {
    type Load = SimLoad;

    fn clocks(&self) -> Clocks {
        let now = i128::from(self.now.get().0);
        Clocks { monotonic_ns: now, realtime_ns: now }
    }

    fn capacity(&self) -> Bytes {
        self.capacity_with(1)
    }

    /// The most tiles whose disks fit, counted with the pools that so many tiles have.
    fn tiles_that_fit(&self, per_tile: Bytes) -> u32 {
        let fits = |tiles: u32| per_tile * u64::from(tiles) <= self.capacity_with(tiles);
        (1..=TILES_MAX).take_while(|tiles| fits(*tiles)).last().unwrap_or(0)
    }

    fn prepare(
        &mut self,
        _: &[DiskNeed],
        _: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefill>, BenchError> {
        Ok(None)
    }

    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        Ok(None)
    }

    fn start(&mut self, instances: Vec<FleetInstance>) -> Result<SimLoad, BenchError> {
        let mut plant = self.plant(&instances)?;
        let names = instances.iter().map(|one| (one.workload.clone(), one.member.tile)).collect();
        let warming = |one: &FleetInstance| SimInstance {
            machine: one.machine.in_round(WARMING),
            shape: one.shape.clone(),
        };
        let mut warming: Vec<_> = instances.iter().map(warming).collect();
        plant.warm(&mut warming, &Warm::default());
        drop(warming);
        let machine = |one: FleetInstance| SimInstance { machine: one.machine, shape: one.shape };
        let instances: Vec<_> = instances.into_iter().map(machine).collect();
        let options = Options { until: Nanos::MAX, slice: self.slice, ..Options::default() };
        Ok(SimLoad {
            simulation: Simulation::new(instances, plant, options),
            begun: self.now.get(),
            now: Rc::clone(&self.now),
            names,
            array: self.array.name.clone(),
            seconds: 0,
            is_over: false,
        })
    }
}

/// A load in virtual time: time passes while the next slice is waited for.
#[derive(Debug)]
pub struct SimLoad {
    simulation: Simulation<WorkloadMachine, Plant>,
    /// On the rig's clock, which goes on from load to load.
    begun: Nanos,
    now: Rc<Cell<Nanos>>,
    /// Workload and tile of each instance.
    names: Vec<(String, u32)>,
    array: String,
    /// Whole seconds that the model has been told of.
    seconds: u64,
    is_over: bool,
}

impl SimLoad {
    fn slice(&mut self) -> Result<Option<Slice>, SimError> {
        let slice = self.simulation.next_slice()?;
        let now = self.simulation.now();
        self.now.set(self.begun + now);
        let seconds = now.0 / Nanos::SECOND.0;
        if seconds > self.seconds {
            self.seconds = seconds;
            self.simulation.model_mut().tick(now);
        }
        Ok(slice)
    }

    fn error(&self, error: SimError) -> BenchError {
        let SimError::Runaway { instance, now, events } = error else { return error.into() };
        let Some((workload, tile)) = self.names.get(instance.0 as usize) else {
            return error.into();
        };
        BenchError::Runaway {
            array: self.array.clone(),
            workload: workload.clone(),
            tile: tile + 1,
            at: now,
            events,
        }
    }
}

impl Load for SimLoad {
    fn next(&mut self, _: Duration) -> Received {
        if self.is_over {
            return Received::Ended;
        }
        match self.slice() {
            Ok(Some(slice)) => Received::Slice(slice),
            Ok(None) => {
                self.is_over = true;
                Received::Ended
            }
            Err(error) => {
                self.is_over = true;
                Received::Failed(self.error(error))
            }
        }
    }

    fn mark(&mut self) {
        let now = self.simulation.now();
        self.simulation.model_mut().mark(now);
    }

    fn model(&mut self) -> Option<ModelFacts> {
        let now = self.simulation.now();
        let outcome = self.simulation.outcome();
        let facts = self.simulation.model_mut().facts(now);
        Some(ModelFacts { events: outcome.events + outcome.alarms, ..facts })
    }

    fn stop(&mut self) {
        self.simulation.stop();
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        let outcome = self.simulation.outcome();
        Ok(LoadOutcome {
            submitted: outcome.submitted,
            completed: outcome.completed,
            backend: VIRTUAL_TIME.to_owned(),
            elapsed: self.simulation.now(),
            ..LoadOutcome::default()
        })
    }

    fn abandon(self) {}
}
