use indexmap::IndexMap;
use run_store::run::{Labels, Origin};
use spec::Answering;
use spec::events::{PlannedEvent, Restart};
use spec::expect::Expectation;
use spec::meter::Meter;
use spec::named::NamedMachine;
use spec::plan::{Plan, Profile};
use spec::workload::CpuMode;
use units::{Bytes, Nanos};

/// Plan values someone gave; absent ones are left to whoever comes after.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values {
    /// `dir:PATH`, `file:PATH` or `block:PATH`.
    pub datastore: Option<String>,
    /// A second datastore, of the same form; `pool:NAME` in a simulation.
    pub second: Option<String>,
    /// A shipped tile's name or a path.
    pub tile: Option<String>,
    /// How long and how often.
    pub profile: Option<Profile>,
    /// `"4"` or `"1..8"`.
    pub tiles: Option<String>,
    /// The search goes no further.
    pub tiles_max: Option<u32>,
    /// Runs of a step.
    pub repeats: Option<u32>,
    /// Shortest warm-up.
    pub warm_up_min: Option<Nanos>,
    /// Longest warm-up.
    pub warm_up_max: Option<Nanos>,
    /// Measured time, before rounding to whole burst periods.
    pub duration: Option<Nanos>,
    /// Width of one row of the series.
    pub slice: Option<Nanos>,
    /// Disk sizes are multiplied by this.
    pub footprint: Option<f64>,
    /// Schedule times are multiplied by this.
    pub time: Option<f64>,
    /// Worker threads.
    pub workers: Option<u32>,
    /// Through the page cache.
    pub buffered: Option<bool>,
    /// Every block is stamped and checked.
    pub verify: Option<bool>,
    /// Overrides the workloads' own choice.
    pub cpu: Option<CpuMode>,
    /// Most bytes written as files.
    pub space_max: Option<Bytes>,
    /// What answers endpoints, by name.
    pub endpoints: IndexMap<String, Answering>,
    /// Infrastructure operations: a shipped group's name or a path.
    pub operations: Option<String>,
    /// The hosts that drive the tiles, as `--host` has them; none is this one.
    pub hosts: Option<Vec<String>>,
    /// On which of them each tile runs.
    pub placement: Option<String>,
    /// What happens to the hosts in every step.
    pub events: Option<Vec<PlannedEvent>>,
    /// What becomes of the tiles of a lost host.
    pub restart: Option<Restart>,
    /// Meters of watts.
    pub meters: Option<Vec<Meter>>,
    /// What the run is called and what is noted of it; no part of the plan.
    pub labels: Option<Labels>,
    /// What is expected of the run.
    pub expect: Option<Vec<Expectation>>,
    /// Machines of the user's that operations may be carried out on.
    pub machines: Option<Vec<NamedMachine>>,
    /// Seed of every random stream.
    pub seed: Option<u64>,
}

/// Values and who gave them. Earlier layers override later ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Who gave them.
    pub origin: Origin,
    /// What they gave.
    pub values: Values,
}

impl Layer {
    /// What a plan file says. A switch that is off and the standard profile are the
    /// language's defaults, and indistinguishable from absent ones.
    pub fn of_plan(plan: &Plan) -> Self {
        let (ladder, measure) = (&plan.ladder, &plan.measure);
        let values = Values {
            datastore: Some(plan.datastore.clone()),
            second: plan.second.clone(),
            tile: Some(plan.tile.clone()),
            profile: (plan.profile != Profile::default()).then_some(plan.profile),
            tiles: ladder.tiles.clone(),
            tiles_max: ladder.tiles_max,
            repeats: ladder.repeats,
            warm_up_min: measure.warm_up_min,
            warm_up_max: measure.warm_up_max,
            duration: measure.duration,
            slice: measure.slice,
            footprint: plan.scale.footprint,
            time: plan.scale.time,
            workers: plan.engine.workers,
            buffered: plan.engine.buffered.then_some(true),
            verify: plan.engine.verify.then_some(true),
            cpu: plan.engine.cpu,
            space_max: plan.engine.space_max,
            endpoints: plan.endpoints.clone(),
            operations: plan.operations.clone(),
            hosts: (!plan.hosts.members.is_empty()).then(|| plan.hosts.members.clone()),
            placement: plan.hosts.placement.clone(),
            events: (!plan.events.is_empty()).then(|| plan.events.clone()),
            restart: plan.restart,
            meters: (!plan.meters.is_empty()).then(|| plan.meters.clone()),
            labels: None,
            expect: (!plan.expect.is_empty()).then(|| plan.expect.clone()),
            machines: (!plan.machines.is_empty()).then(|| plan.machines.clone()),
            seed: plan.seed,
        };
        Self { origin: Origin::Plan, values }
    }
}
