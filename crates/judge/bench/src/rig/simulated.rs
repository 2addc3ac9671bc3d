use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use std::vec;

use run_store::gauge::{GaugeSource, Readings};
use run_store::run::{MeterEnergy, MeterFacts, ModelFacts};
use run_store::slice::Slice;
use sim::plant::{
    HostEvents, Plant, PlantDisk, PlantError, PlantEvent, PlantInstance, PlantPlan, TierState, Warm,
};
use sim::{Options, ServiceParameters, Services, SimError, SimInstance, Simulation};
use spec::ServiceModel;
use spec::array::Array;
use units::{Bytes, Nanos};
use workload::InstanceMachine;

use crate::error::BenchError;
use crate::fleet::{DiskNeed, Driven, FleetInstance, StepOrder, driven, fleet};
use crate::plan::{ResolvedPlan, endpoints};
use crate::progress::{Control, Request};
use crate::rig::{
    Clocks, Foreseen, ForeseenSlice, Foresight, HostEvent, Load, LoadOutcome, PrefillSoFar,
    Prefilled, Received, Rig, SharedState,
};
use crate::tile_load::TileLoad;

/// Name of a simulation's backend in results.
pub const VIRTUAL_TIME: &str = "virtual time";

/// Maximum number of tiles on an array with a separate pool for every tile, which has room for any
/// number of them. Our choice: a model numbers at most 65,536 virtual machines, and no published
/// result has nearly a thousand tiles.
const TILES_MAX: u32 = 1000;

/// A modelled array in virtual time. Its disks exist as soon as they are named, and its clock only
/// advances while a load is driven.
#[derive(Debug)]
pub struct SimRig<'a> {
    array: &'a Array,
    plan: &'a ResolvedPlan,
    now: Rc<Cell<Nanos>>,
    /// State of tiers and memories after the last warming, and its number of tiles. All repeats of
    /// a step start with the same state.
    warmed: Option<(u32, TierState)>,
    /// State of warmed tiers that other rigs share.
    shared: Option<SharedState>,
    /// Source of loads that were already simulated.
    foresight: Option<&'a dyn Foresight>,
    /// Recorder for the messages of the load.
    told: Option<Rc<RefCell<Foreseen>>>,
    /// Control that can end the filling of tiers early.
    control: Option<&'a Control>,
}

/// Round in which state machines fill tiers before the measurement. No step measures this round, so
/// a tier learns which pages are popular, but not the sequence of a measured step.
const WARMING: u64 = u64::MAX;

impl<'a> SimRig<'a> {
    /// Creates a rig at time 0. The plan's seed is also the seed of all random numbers of the
    /// model.
    pub fn new(array: &'a Array, plan: &'a ResolvedPlan) -> Self {
        Self {
            array,
            plan,
            now: Rc::default(),
            warmed: None,
            shared: None,
            foresight: None,
            told: None,
            control: None,
        }
    }

    /// Sets the control that can stop the filling of tiers, which takes minutes on large arrays.
    pub(crate) fn obeying(self, control: &'a Control) -> Self {
        Self { control: Some(control), ..self }
    }

    /// Sets a shared state of warmed tiers to start with. The rig creates the state if it is
    /// missing, and ignores it if it does not fit. Only valid for one number of tiles.
    pub(crate) fn sharing(self, state: SharedState) -> Self {
        Self { shared: Some(state), ..self }
    }

    /// Sets a source of simulated loads to use instead of driving them.
    pub(crate) fn foreseen_by(self, foresight: &'a dyn Foresight) -> Self {
        Self { foresight: Some(foresight), ..self }
    }

    /// Sets a recorder for the messages of the load.
    pub(crate) fn telling(self, told: Rc<RefCell<Foreseen>>) -> Self {
        Self { told: Some(told), ..self }
    }

    /// Returns the capacity of the array for disks with this many tiles.
    pub fn capacity_with(&self, tiles: u32) -> Bytes {
        Plant::capacity(self.array, tiles)
    }

    /// Checks that every disk of this many tiles has room in its pool.
    ///
    /// # Errors
    ///
    /// [`BenchError::ArrayTooSmall`] if all pools together are too small, otherwise
    /// [`BenchError::Plant`] with the pool that is too small.
    pub fn has_room(&self, tiles: u32, per_tile: Bytes) -> Result<(), BenchError> {
        let capacity = self.capacity_with(tiles);
        let array = self.array.name.clone();
        if per_tile * u64::from(tiles) > capacity {
            return Err(BenchError::ArrayTooSmall { array, tiles, per_tile, capacity });
        }
        // If every tile has pools of its own, all of these are alike, and one tile is enough. Events
        // that move disks name single tiles.
        let events = &self.plan.settings.events;
        let is_alone = self.array.pools.iter().all(|pool| pool.per_tile)
            && events.iter().all(|event| event.pool.is_none());
        let has_pools = !self.array.pools.is_empty();
        let counted = if is_alone && has_pools { tiles.min(1) } else { tiles };
        let one = fleet(self.plan, StepOrder::whole(self.plan, 1, WARMING))?;
        let (of_tile, beside): (Vec<_>, Vec<_>) =
            one.instances.iter().partition(|own| own.member.tile.is_some());
        let plants = |all: Vec<&FleetInstance>| -> Vec<PlantInstance> {
            all.into_iter().map(|own| plant_instance(self.plan, own)).collect()
        };
        let one = plants(of_tile);
        let of = |tile| one.iter().map(move |first| PlantInstance { tile, ..first.clone() });
        // Infrastructure operations exist once.
        let instances = (0..counted).flat_map(of).chain(plants(beside));
        let instances: Vec<PlantInstance> = instances.collect();
        Plant::has_room(self.array, &instances, events)
            .map_err(|source| BenchError::Plant { array, source })
    }

    fn plant(&self, instances: &[Driven]) -> Result<Plant, BenchError> {
        let instances = instances.iter().map(|one| plant_instance(self.plan, &one.instance));
        let instances: Vec<PlantInstance> = instances.collect();
        let seed = self.plan.seed;
        let plan = PlantPlan { array: self.array, instances: &instances, seed };
        let (events, restart) = (&self.plan.settings.events[..], self.plan.settings.restart);
        let built = match events {
            [] if !self.array.is_balanced() => Plant::new(&plan),
            _ => Plant::eventful(&plan, &HostEvents { events, restart }),
        };
        built.map_err(|source| BenchError::Plant { array: self.array.name.clone(), source })
    }

    /// Returns the number of warming accesses: three for each page of a tile, between 50,000 and
    /// the default of [`Warm`], which suits 250 GiB in pages of 64 KiB.
    fn warming(&self, tile: Bytes) -> Warm {
        let memory = self.array.controller.as_ref().and_then(|own| own.read_memory.as_ref());
        let pages = self.array.tiers.iter().map(|tier| tier.page);
        let page = pages.chain(memory.map(|memory| memory.page)).min();
        let pages = tile.get() / page.map_or(64 << 10, Bytes::get).max(1);
        let most = Warm::default().accesses_per_tile_max;
        Warm { accesses_per_tile_max: (3 * pages).clamp(50_000, most), ..Warm::default() }
    }

    /// Fills tiers and memories as if the same tiles had run before.
    fn warm(&mut self, plant: &mut Plant, instances: &[Driven]) {
        if let Some(shared) = self.shared.clone() {
            let mut is_warm = false;
            let state = shared.get_or_init(|| {
                self.run_warming(plant, instances);
                is_warm = true;
                plant.snapshot()
            });
            if !is_warm && plant.restore(state).is_err() {
                self.run_warming(plant, instances);
            }
            return;
        }
        let tiles = tiles_of(instances);
        if let Some((_, state)) = self.warmed.as_ref().filter(|(known, _)| *known == tiles)
            && plant.restore(state).is_ok()
        {
            return;
        }
        // The old state is dropped first, to never hold two of them.
        self.warmed = None;
        self.run_warming(plant, instances);
        if self.plan.repeats > 1 {
            self.warmed = Some((tiles, plant.snapshot()));
        }
    }

    fn run_warming(&self, plant: &mut Plant, instances: &[Driven]) {
        let disks = instances.iter().flat_map(|one| &one.instance.disks);
        let bytes: Bytes = disks.map(|disk| disk.size).sum();
        let options = self.warming(Bytes::new(bytes.get() / u64::from(tiles_of(instances).max(1))));
        let in_round = |one: &Driven| SimInstance {
            machine: one.machine.in_round(WARMING),
            shape: one.instance.shape.clone(),
        };
        let mut machines: Vec<_> = instances.iter().map(in_round).collect();
        plant.warm_while(&mut machines, &options, &|| self.goes_on());
    }

    fn goes_on(&self) -> bool {
        self.control.is_none_or(|control| control.request() == Request::GoOn)
    }
}

fn tiles_of(instances: &[Driven]) -> u32 {
    instances.iter().filter_map(|one| Some(one.instance.member.tile? + 1)).max().unwrap_or(0)
}

fn machine(one: Driven) -> SimInstance<InstanceMachine> {
    SimInstance { machine: one.machine, shape: one.instance.shape }
}

/// Prefix of a second datastore that is a pool of the modelled array.
const POOL_PREFIX: &str = "pool:";

fn plant_instance(plan: &ResolvedPlan, instance: &FleetInstance) -> PlantInstance {
    let second = plan.settings.second.as_ref();
    let second = second.map(|text| text.strip_prefix(POOL_PREFIX).unwrap_or(text).to_owned());
    let disk = |disk: &DiskNeed| PlantDisk {
        name: disk.disk.clone(),
        workload: instance.workload.clone(),
        role: disk.role,
        size: disk.size,
        vm: disk.vm,
        pool: second.clone().filter(|_| !disk.on.is_first()),
    };
    PlantInstance {
        // Disks without a tile are in the pool of the first tile, if each tile has a pool.
        tile: instance.member.tile.unwrap_or(0),
        vcpus: instance.vcpus.clone(),
        vms: instance.vms.clone(),
        disks: instance.disks.iter().map(disk).collect(),
        copy_kinds: instance.copy_kinds.clone(),
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

    fn is_balanced(&self) -> bool {
        self.array.is_balanced()
    }

    /// Returns the maximum number of tiles whose disks fit, in all pools together, and each disk in
    /// its pool. Considers the pools that exist with that number of tiles.
    fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        let (per_tile, beside) = (load.bytes, load.beside);
        let fits = |tiles: u32| per_tile * u64::from(tiles) + beside <= self.capacity_with(tiles);
        let most = (1..=TILES_MAX).take_while(|tiles| fits(*tiles)).last().unwrap_or(0);
        // An array with an unknown name in it is refused when it is built, not here.
        let is_full = |tiles: u32| {
            let room = self.has_room(tiles, per_tile);
            matches!(room, Err(BenchError::Plant { source: PlantError::TooSmall { .. }, .. }))
        };
        if most == 0 || !is_full(most) {
            return most;
        }
        let (mut held, mut full) = (0, most);
        while full - held > 1 {
            let tiles = held + (full - held) / 2;
            if is_full(tiles) { full = tiles } else { held = tiles }
        }
        held
    }

    fn supplies(&self) -> Vec<MeterFacts> {
        sim::plant::meters(self.array)
    }

    fn prepare(
        &mut self,
        _: &[DiskNeed],
        _: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError> {
        Ok(None)
    }

    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<SimLoad, BenchError> {
        let (begun, now) = (self.now.get(), Rc::clone(&self.now));
        if let Some(told) = self.foresight.and_then(|own| own.of(order.tiles, order.round)) {
            let Foreseen { slices, model, energy, events, outcome } = told;
            let (slices, readings) = (slices.into_iter(), Readings::default());
            let told =
                RecordedMessages { slices, readings, model, energy, events, outcome, begun, now };
            return Ok(SimLoad::Told(Box::new(told)));
        }
        let instances = driven(plan, order)?;
        let mut plant = self.plant(&instances)?;
        let name = |one: &Driven| (one.instance.workload.clone(), one.instance.member.tile);
        let names = instances.iter().map(name).collect();
        // State of users and tiers is far apart in memory, so huge pages save TLB misses.
        engine::heap::in_huge_pages();
        self.warm(&mut plant, &instances);
        if !self.goes_on() {
            return Err(BenchError::Interrupted);
        }
        engine::heap::in_huge_pages();
        // Counters of warming are dropped.
        drop(plant.tiers());
        let services = services(plan, &instances)?;
        let instances = instances.into_iter().map(machine).collect();
        let slice = self.plan.slice;
        let options = Options { until: Nanos::MAX, slice, ..Options::default() };
        Ok(SimLoad::Driven(Box::new(Driving {
            simulation: Simulation::new(instances, plant, options).with_services(services),
            begun,
            now,
            told: self.told.clone(),
            names,
            array: self.array.name.clone(),
            seconds: 0,
            is_over: false,
        })))
    }
}

/// Returns the modelled services of a plan, with the instances that call each.
fn services(plan: &ResolvedPlan, instances: &[Driven]) -> Result<Services, BenchError> {
    let models = endpoints::models(&plan.settings.endpoints)?;
    let parameters = models.into_iter().map(|model| {
        let ServiceModel { servers, mean } = model;
        ServiceParameters { servers, mean }
    });
    let parameters: Vec<ServiceParameters> = parameters.collect();
    let position = |name: &String| plan.settings.endpoints.get_index_of(name).unwrap_or(usize::MAX);
    let called = |one: &Driven| one.instance.endpoints.iter().map(position).collect();
    let called: Vec<Vec<usize>> = instances.iter().map(called).collect();
    Services::new(&parameters, &called, plan.seed).map_err(BenchError::Service)
}

/// A load in virtual time.
#[derive(Debug)]
pub enum SimLoad {
    /// A load that is driven now: time advances during the wait for the next slice.
    Driven(Box<Driving>),
    /// A load that was driven earlier, and whose messages are replayed.
    Told(Box<RecordedMessages>),
}

/// Recorded messages of a load.
#[derive(Debug)]
pub struct RecordedMessages {
    slices: vec::IntoIter<ForeseenSlice>,
    /// Gauge readings of the last slice that was handed out.
    readings: Readings,
    model: Option<ModelFacts>,
    energy: Vec<MeterEnergy>,
    events: Vec<HostEvent>,
    outcome: LoadOutcome,
    begun: Nanos,
    now: Rc<Cell<Nanos>>,
}

impl RecordedMessages {
    fn next(&mut self) -> Received {
        let Some(ForeseenSlice { slice, readings, at }) = self.slices.next() else {
            return Received::Ended;
        };
        self.now.set(self.begun + at);
        self.readings = readings;
        Received::Slice(slice)
    }
}

/// A load in progress.
#[derive(Debug)]
pub struct Driving {
    simulation: Simulation<InstanceMachine, Plant>,
    /// Start of the load by the rig's clock, which continues from load to load.
    begun: Nanos,
    now: Rc<Cell<Nanos>>,
    told: Option<Rc<RefCell<Foreseen>>>,
    /// Workload and tile of each instance.
    names: Vec<(String, Option<u32>)>,
    array: String,
    /// Number of whole seconds that were reported to the model.
    seconds: u64,
    is_over: bool,
}

impl Driving {
    fn next(&mut self) -> Received {
        if self.is_over {
            return Received::Ended;
        }
        match self.slice() {
            Ok(Some(slice)) => {
                let at = self.simulation.now();
                let told =
                    || ForeseenSlice { slice: slice.clone(), readings: Readings::default(), at };
                self.tell(|all| all.slices.push(told()));
                Received::Slice(slice)
            }
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

    fn tell(&self, what: impl FnOnce(&mut Foreseen)) {
        if let Some(told) = &self.told {
            what(&mut told.borrow_mut());
        }
    }

    fn read(&mut self) -> Readings {
        let now = self.simulation.now();
        let plant = self.simulation.model_mut();
        let mut readings = Readings::of_tiers(plant.tiers());
        readings.gauges.extend(plant.utilisations(now));
        readings.gauges.extend(plant.watts(now));
        self.tell(|all| {
            if let Some(last) = all.slices.last_mut() {
                last.readings.clone_from(&readings);
            }
        });
        readings
    }

    fn model(&mut self) -> ModelFacts {
        let now = self.simulation.now();
        let outcome = self.simulation.outcome();
        let facts = self.simulation.model_mut().facts(now);
        let facts = ModelFacts { events: outcome.events + outcome.alarms, ..facts };
        self.tell(|all| all.model = Some(facts.clone()));
        facts
    }

    fn energy(&mut self) -> Vec<MeterEnergy> {
        let now = self.simulation.now();
        let energy = self.simulation.model_mut().energy(now);
        self.tell(|all| all.energy.clone_from(&energy));
        energy
    }

    fn mark(&mut self) {
        let now = self.simulation.now();
        self.simulation.model_mut().mark(now);
        self.simulation.prompt(Plant::begin_events);
    }

    fn events(&mut self) -> Vec<HostEvent> {
        let told = self.simulation.model_mut().told_events().into_iter();
        let events = told.map(|PlantEvent { event, affected }| HostEvent { event, affected });
        let events: Vec<HostEvent> = events.collect();
        self.tell(|all| all.events.clone_from(&events));
        events
    }

    fn outcome(&self) -> LoadOutcome {
        let outcome = self.simulation.outcome();
        let outcome = LoadOutcome {
            submitted: outcome.submitted,
            completed: outcome.completed,
            backend: VIRTUAL_TIME.to_owned(),
            elapsed: self.simulation.now(),
            ..LoadOutcome::default()
        };
        self.tell(|all| all.outcome.clone_from(&outcome));
        outcome
    }

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
            tile: tile.map_or(0, |tile| tile + 1),
            at: now,
            events,
        }
    }
}

impl GaugeSource for SimLoad {
    fn read(&mut self) -> Readings {
        match self {
            Self::Driven(load) => load.read(),
            Self::Told(told) => std::mem::take(&mut told.readings),
        }
    }
}

impl Load for SimLoad {
    fn next(&mut self, _: Duration) -> Received {
        match self {
            Self::Driven(load) => load.next(),
            Self::Told(told) => told.next(),
        }
    }

    fn mark(&mut self) {
        if let Self::Driven(load) = self {
            load.mark();
        }
    }

    fn events(&mut self) -> Vec<HostEvent> {
        match self {
            Self::Driven(load) => load.events(),
            Self::Told(told) => std::mem::take(&mut told.events),
        }
    }

    fn model(&mut self) -> Option<ModelFacts> {
        match self {
            Self::Driven(load) => Some(load.model()),
            Self::Told(told) => told.model.take(),
        }
    }

    fn energy(&mut self) -> Vec<MeterEnergy> {
        match self {
            Self::Driven(load) => load.energy(),
            Self::Told(told) => std::mem::take(&mut told.energy),
        }
    }

    fn stop(&mut self) {
        if let Self::Driven(load) = self {
            load.simulation.stop();
        }
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        Ok(match self {
            Self::Driven(load) => load.outcome(),
            Self::Told(told) => told.outcome,
        })
    }

    fn abandon(self) {}
}
