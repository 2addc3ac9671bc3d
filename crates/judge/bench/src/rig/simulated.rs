use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use std::vec;

use run_store::gauge::{GaugeSource, Readings};
use run_store::run::{MeterEnergy, MeterFacts, ModelFacts};
use run_store::slice::Slice;
use sim::plant::{Plant, PlantDisk, PlantError, PlantInstance, PlantPlan, TierState, Warm};
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
    Clocks, Foreseen, ForeseenSlice, Foresight, Load, LoadOutcome, PrefillSoFar, Prefilled,
    Received, Rig, SharedState,
};
use crate::tile_load::TileLoad;

/// What moves the data of a simulation, as results name it.
pub const VIRTUAL_TIME: &str = "virtual time";

/// Most tiles that are tried on an array with a pool of its own for every tile, which has room
/// for any number of them. Our choice: 65,536 virtual machines are the most a model numbers,
/// and no published result is near a thousand tiles.
const TILES_MAX: u32 = 1000;

/// A modelled array in virtual time. Its disks are there as soon as they are named, and its
/// clock moves only while a load is driven.
#[derive(Debug)]
pub struct SimRig<'a> {
    array: &'a Array,
    plan: &'a ResolvedPlan,
    now: Rc<Cell<Nanos>>,
    /// What tiers and memories held when they were last warmed, and for how many tiles: the
    /// repeats of a step begin with the same.
    warmed: Option<(u32, TierState)>,
    /// The same, shared with other rigs.
    shared: Option<SharedState>,
    /// Who may know what a step comes to.
    foresight: Option<&'a dyn Foresight>,
    /// What loads say is written down here.
    told: Option<Rc<RefCell<Foreseen>>>,
    /// Ends the filling of tiers early.
    control: Option<&'a Control>,
}

/// The round in which machines fill tiers before time begins: none that is measured, so that
/// a tier knows what is popular, but no sequence by heart.
const WARMING: u64 = u64::MAX;

impl<'a> SimRig<'a> {
    /// A rig at time 0. The plan's seed is that of everything the model itself draws, too.
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

    /// The same, which stops filling tiers when the run is asked to stop: that takes minutes on large arrays.
    pub(crate) fn obeying(self, control: &'a Control) -> Self {
        Self { control: Some(control), ..self }
    }

    /// The same, which begins with this state of warmed tiers: it makes it if nobody has, and
    /// goes without if it does not fit. For one number of tiles only.
    pub(crate) fn sharing(self, state: SharedState) -> Self {
        Self { shared: Some(state), ..self }
    }

    /// The same, which drives no load whose course is known.
    pub(crate) fn foreseen_by(self, foresight: &'a dyn Foresight) -> Self {
        Self { foresight: Some(foresight), ..self }
    }

    /// The same, which writes down what its load says.
    pub(crate) fn telling(self, told: Rc<RefCell<Foreseen>>) -> Self {
        Self { told: Some(told), ..self }
    }

    /// Bytes of disks that the array holds when there are so many tiles.
    pub fn capacity_with(&self, tiles: u32) -> Bytes {
        Plant::capacity(self.array, tiles)
    }

    /// Whether every disk of so many tiles finds room in the pool in which it would lie.
    ///
    /// # Errors
    ///
    /// [`BenchError::ArrayTooSmall`] if all pools together are too small, else
    /// [`BenchError::Plant`] with the pool that is.
    pub fn has_room(&self, tiles: u32, per_tile: Bytes) -> Result<(), BenchError> {
        let capacity = self.capacity_with(tiles);
        let array = self.array.name.clone();
        if per_tile * u64::from(tiles) > capacity {
            return Err(BenchError::ArrayTooSmall { array, tiles, per_tile, capacity });
        }
        // Pools that every tile has for itself are all alike.
        let is_alone = self.array.pools.iter().all(|pool| pool.per_tile);
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
        // Operations are there once.
        let instances = (0..counted).flat_map(of).chain(plants(beside));
        let instances: Vec<PlantInstance> = instances.collect();
        Plant::has_room(self.array, &instances)
            .map_err(|source| BenchError::Plant { array, source })
    }

    fn plant(&self, instances: &[Driven]) -> Result<Plant, BenchError> {
        let instances = instances.iter().map(|one| plant_instance(self.plan, &one.instance));
        let instances: Vec<PlantInstance> = instances.collect();
        let seed = self.plan.seed;
        let plan = PlantPlan { array: self.array, instances: &instances, seed };
        Plant::new(&plan)
            .map_err(|source| BenchError::Plant { array: self.array.name.clone(), source })
    }

    /// Three accesses for each page that a tile has, between 50,000 and what [`Warm`] says:
    /// its default is that for 250 GiB in pages of 64 KiB.
    fn warming(&self, tile: Bytes) -> Warm {
        let memory = self.array.controller.as_ref().and_then(|own| own.read_memory.as_ref());
        let pages = self.array.tiers.iter().map(|tier| tier.page);
        let page = pages.chain(memory.map(|memory| memory.page)).min();
        let pages = tile.get() / page.map_or(64 << 10, Bytes::get).max(1);
        let most = Warm::default().accesses_per_tile_max;
        Warm { accesses_per_tile_max: (3 * pages).clamp(50_000, most), ..Warm::default() }
    }

    /// Fills tiers and memories as the same tiles would have filled them before.
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
        // Two of them need not be held at once.
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

/// A pool of a modelled array in the place of a second datastore.
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
        // What belongs to no tile lies where the first tile's would, if each has a pool.
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

    /// The most tiles whose disks fit, counted with the pools that so many tiles have: in all
    /// pools together, and each disk in the pool in which it would lie.
    fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        let (per_tile, beside) = (load.bytes, load.beside);
        let fits = |tiles: u32| per_tile * u64::from(tiles) + beside <= self.capacity_with(tiles);
        let most = (1..=TILES_MAX).take_while(|tiles| fits(*tiles)).last().unwrap_or(0);
        // What an array that names nothing known has no room for is told when it is built.
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
            let Foreseen { slices, model, energy, outcome } = told;
            let (slices, readings) = (slices.into_iter(), Readings::default());
            let told = Told { slices, readings, model, energy, outcome, begun, now };
            return Ok(SimLoad::Told(Box::new(told)));
        }
        let instances = driven(plan, order)?;
        let mut plant = self.plant(&instances)?;
        let name = |one: &Driven| (one.instance.workload.clone(), one.instance.member.tile);
        let names = instances.iter().map(name).collect();
        // Users and tiers are far apart in memory and seldom met twice in a row.
        engine::heap::in_huge_pages();
        self.warm(&mut plant, &instances);
        if !self.goes_on() {
            return Err(BenchError::Interrupted);
        }
        engine::heap::in_huge_pages();
        // What warming did is nobody's.
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

/// The modelled services that a plan names, and who calls which.
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
    /// It is driven: time passes while the next slice is waited for.
    Driven(Box<Driving>),
    /// It was driven before, and says now what it said then.
    Told(Box<Told>),
}

/// What a load says that was driven before.
#[derive(Debug)]
pub struct Told {
    slices: vec::IntoIter<ForeseenSlice>,
    /// Beside the slice that was handed out last.
    readings: Readings,
    model: Option<ModelFacts>,
    energy: Vec<MeterEnergy>,
    outcome: LoadOutcome,
    begun: Nanos,
    now: Rc<Cell<Nanos>>,
}

impl Told {
    fn next(&mut self) -> Received {
        let Some(ForeseenSlice { slice, readings, at }) = self.slices.next() else {
            return Received::Ended;
        };
        self.now.set(self.begun + at);
        self.readings = readings;
        Received::Slice(slice)
    }
}

/// A load under way.
#[derive(Debug)]
pub struct Driving {
    simulation: Simulation<InstanceMachine, Plant>,
    /// On the rig's clock, which goes on from load to load.
    begun: Nanos,
    now: Rc<Cell<Nanos>>,
    told: Option<Rc<RefCell<Foreseen>>>,
    /// Workload and tile of each instance.
    names: Vec<(String, Option<u32>)>,
    array: String,
    /// Whole seconds that the model has been told of.
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
            let now = load.simulation.now();
            load.simulation.model_mut().mark(now);
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
