use run_store::run::{Labels, Origin};
use spec::events::{EventContext, EventKind, PlannedEvent, Restart, event_problems};
use spec::expect::Expectation;
use spec::meter::Meter;
use spec::named::NamedMachine;
use spec::plan::Profile;
use spec::workload::CpuMode;
use spec::{Placement, ResolvedTile};
use units::{Bytes, Nanos};

use crate::ladder::Climb;
use crate::plan::climb::climb_of;
use crate::plan::endpoints::Answers;
use crate::plan::{
    Layer, PlanError, ProfileValues, Setting, Values, endpoints, profile_values, simulated_values,
    whole_periods, workloads_of,
};
use crate::replay::Traces;

/// How a plan or a command line names a modelled array: `array:NAME`, `array:FILE.toml`.
pub const ARRAY_PREFIX: &str = "array:";

/// What resolution takes from the machine it runs on, so that it stays a plain function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings {
    /// 64 random bits, used if no seed was given.
    pub entropy: u64,
    /// Cores the program may run on.
    pub cores: u32,
}

/// A plan with every value known.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedPlan {
    /// `dir:PATH`, `file:PATH` or `block:PATH`; `array:NAME` in a simulation.
    pub datastore: Setting<String>,
    /// A second datastore, between which and the first disks move.
    pub second: Setting<Option<String>>,
    /// The tile's name or path, as given.
    pub tile: Setting<String>,
    /// How long and how often.
    pub profile: Setting<Profile>,
    /// How the ladder is climbed.
    pub climb: Setting<Climb>,
    /// Most tiles; absent: what fits.
    pub tiles_max: Setting<Option<u32>>,
    /// Runs of a step around the edge.
    pub repeats: Setting<u32>,
    /// Shortest warm-up.
    pub warm_up_min: Setting<Nanos>,
    /// Longest warm-up.
    pub warm_up_max: Setting<Nanos>,
    /// Measured time: whole burst periods.
    pub duration: Setting<Nanos>,
    /// Measured time as asked for.
    pub duration_asked: Nanos,
    /// Width of one row of the series.
    pub slice: Setting<Nanos>,
    /// Disk sizes are multiplied by this.
    pub footprint: Setting<f64>,
    /// Schedule times are multiplied by this.
    pub time: Setting<f64>,
    /// Worker threads.
    pub workers: Setting<u32>,
    /// Through the page cache.
    pub buffered: Setting<bool>,
    /// Every block is stamped and checked.
    pub verify: Setting<bool>,
    /// Overrides the workloads' own choice.
    pub cpu: Setting<Option<CpuMode>>,
    /// Most bytes written as files; absent: the datastore's own rule.
    pub space_max: Setting<Option<Bytes>>,
    /// What answers the endpoints that the tile's workloads call, by name.
    pub endpoints: Answers,
    /// Infrastructure operations, as given; what they are is in `tile_set`.
    pub operations: Setting<Option<String>>,
    /// The hosts that drive the tiles, as `--host` has them; none is this one.
    pub hosts: Setting<Vec<String>>,
    /// On which of them each tile runs.
    pub placement: Setting<Placement>,
    /// What happens to the hosts in every step.
    pub events: Setting<Vec<PlannedEvent>>,
    /// What becomes of the tiles of a lost host; absent, it voids the step.
    pub restart: Setting<Option<Restart>>,
    /// Meters of watts that are read beside the run.
    pub meters: Setting<Vec<Meter>>,
    /// What the run is called and what is noted of it; no part of the plan.
    pub labels: Labels,
    /// What is expected of the run; it changes nothing of what is run.
    pub expect: Setting<Vec<Expectation>>,
    /// Machines of the user's that operations may be carried out on, and no others.
    pub machines: Setting<Vec<NamedMachine>>,
    /// Seed of every random stream.
    pub seed: Setting<u64>,
    /// The profile's values that a plan cannot change.
    pub method: ProfileValues,
    /// The tile and its workloads.
    pub tile_set: ResolvedTile,
    /// The traces that its workloads play, once they are read.
    pub traces: Traces,
}

impl ResolvedPlan {
    /// The names of the hosts that drive the tiles: what stands before `=`.
    pub fn host_names(&self) -> Vec<String> {
        let name =
            |text: &String| text.split_once('=').map_or(text.as_str(), |(name, _)| name).to_owned();
        self.hosts.value.iter().map(name).collect()
    }

    /// Whether a tile may be driven by another host than it was placed on.
    pub fn may_move(&self) -> bool {
        let moves = |event: &PlannedEvent| event.kind != EventKind::StopHost;
        self.restart.value.is_some() || self.events.value.iter().any(moves)
    }
}

/// Fills every gap: the first layer that has a value wins, then the profile, then the
/// default. `tile_set` is the loaded tile that the layers name.
pub fn resolve(
    layers: &[Layer],
    tile_set: ResolvedTile,
    surroundings: Surroundings,
) -> Result<ResolvedPlan, PlanError> {
    let plan = resolve_with(profile_values, layers, tile_set, surroundings)?;
    let plan = with_time_for_meters(plan);
    events(&plan)?;
    endpoints::addresses(&plan.endpoints, &plan.tile_set)?;
    let workload = endpoints::of_machines(&plan.tile_set).next();
    if let Some((workload, _)) = workload.filter(|_| plan.verify.value) {
        return Err(PlanError::MachinesVerified { workload: workload.to_owned() });
    }
    Ok(plan)
}

/// Like [`resolve`], for a simulation: its profiles have other values, a range of tiles is
/// run to its end, and what says how real load is made is left out.
pub fn resolve_simulated(
    layers: &[Layer],
    tile_set: ResolvedTile,
    surroundings: Surroundings,
) -> Result<ResolvedPlan, PlanError> {
    let mut plan = resolve_with(simulated_values, layers, tile_set, surroundings)?;
    endpoints::models(&plan.endpoints)?;
    endpoints::modelled(&plan.endpoints, &plan.tile_set)?;
    if !plan.events.value.is_empty() || plan.restart.value.is_some() {
        return Err(PlanError::SimulatedEvents);
    }
    let slice = plan.slice.value;
    if slice > Nanos::SECOND {
        // Figures of hosts and backlogs are of whole seconds.
        let allowed = "at most 1 s in a simulation".to_owned();
        return Err(PlanError::Range { key: "measure.slice", value: slice.to_string(), allowed });
    }
    if let Climb::Range { first, last } = plan.climb.value {
        plan.climb.value = Climb::Every { first, last };
    }
    plan.workers = Setting { value: 1, origin: Origin::Default };
    plan.buffered = Setting { value: false, origin: Origin::Default };
    plan.verify = Setting { value: false, origin: Origin::Default };
    plan.cpu = Setting { value: None, origin: Origin::Default };
    plan.space_max = Setting { value: None, origin: Origin::Default };
    plan.hosts = Setting { value: Vec::new(), origin: Origin::Default };
    plan.meters = Setting { value: Vec::new(), origin: Origin::Default };
    plan.machines = Setting { value: Vec::new(), origin: Origin::Default };
    Ok(plan)
}

fn resolve_with(
    values: fn(Profile) -> ProfileValues,
    layers: &[Layer],
    tile_set: ResolvedTile,
    surroundings: Surroundings,
) -> Result<ResolvedPlan, PlanError> {
    let pick = Pick(layers);
    let profile = pick.or(|v| v.profile, Profile::default(), Origin::Default);
    let method = values(profile.value);
    let climb = pick.optional(|v| v.tiles.clone());
    let duration = pick.or(|v| v.duration, method.duration, Origin::Profile);
    let time = pick.or(|v| v.time, method.time, Origin::Profile);
    let whole = whole_periods(duration.value, time.value, workloads_of(&tile_set));
    let plan = ResolvedPlan {
        datastore: pick.required(|v| v.datastore.clone()).ok_or(PlanError::NoDatastore)?,
        second: pick.optional(|v| v.second.clone()),
        tile: pick.required(|v| v.tile.clone()).ok_or(PlanError::NoTile)?,
        profile,
        climb: Setting { value: climb_of(climb.value.as_deref())?, origin: climb.origin },
        tiles_max: pick.optional(|v| v.tiles_max),
        repeats: pick.or(|v| v.repeats, method.repeats, Origin::Profile),
        warm_up_min: pick.or(|v| v.warm_up_min, method.warm_up_min, Origin::Profile),
        warm_up_max: pick.or(|v| v.warm_up_max, method.warm_up_max, Origin::Profile),
        duration: Setting { value: whole, origin: duration.origin },
        duration_asked: duration.value,
        slice: pick.or(|v| v.slice, method.slice, Origin::Profile),
        footprint: pick.or(|v| v.footprint, method.footprint, Origin::Profile),
        time,
        workers: pick.or(|v| v.workers, surroundings.cores.clamp(1, 8), Origin::Default),
        buffered: pick.or(|v| v.buffered, false, Origin::Default),
        verify: pick.or(|v| v.verify, false, Origin::Default),
        cpu: pick.optional(|v| v.cpu),
        space_max: pick.optional(|v| v.space_max),
        endpoints: endpoints::of(layers, &tile_set)?,
        operations: pick.optional(|v| v.operations.clone()),
        hosts: pick.or(|v| v.hosts.clone(), Vec::new(), Origin::Default),
        placement: placement(&pick)?,
        events: pick.or(|v| v.events.clone(), Vec::new(), Origin::Default),
        restart: pick.optional(|v| v.restart),
        meters: pick.or(|v| v.meters.clone(), Vec::new(), Origin::Default),
        labels: pick.optional(|v| v.labels.clone()).value.unwrap_or_default(),
        expect: pick.or(|v| v.expect.clone(), Vec::new(), Origin::Default),
        machines: pick.or(|v| v.machines.clone(), Vec::new(), Origin::Default),
        seed: pick.or(|v| v.seed, drawn_seed(surroundings.entropy), Origin::Default),
        method,
        tile_set,
        traces: Traces::default(),
    };
    for expectation in &plan.expect.value {
        expectation.limit(&plan.tile_set)?;
    }
    check(&plan)?;
    Ok(plan)
}

/// Events that can happen to these hosts, in this time.
fn events(plan: &ResolvedPlan) -> Result<(), PlanError> {
    let (hosts, events, restart) = (plan.host_names(), &plan.events.value, plan.restart.value);
    if hosts.is_empty() && (restart.is_some() || !events.is_empty()) {
        let key = if events.is_empty() { "restart" } else { "events" };
        return Err(PlanError::NoHosts { key });
    }
    let context = EventContext { hosts: &hosts, restart, duration: Some(plan.duration.value) };
    match event_problems(events, context).into_iter().next() {
        Some(problem) => Err(PlanError::Event(problem.to_string())),
        None if plan.buffered.value && plan.may_move() => Err(PlanError::BufferedMoves),
        None => Ok(()),
    }
}

/// A warm-up that nobody chose is long enough for the meters.
fn with_time_for_meters(mut plan: ResolvedPlan) -> ResolvedPlan {
    let least = plan.meters.value.iter().map(Meter::warm_up).max().unwrap_or(Nanos::ZERO);
    let raise = |own: &mut Setting<Nanos>, to: Nanos| {
        if own.origin == Origin::Profile {
            own.value = own.value.max(to);
        }
    };
    raise(&mut plan.warm_up_max, least);
    raise(&mut plan.warm_up_min, least.min(plan.warm_up_max.value));
    plan
}

fn placement(pick: &Pick<'_>) -> Result<Setting<Placement>, PlanError> {
    let text = pick.optional(|v| v.placement.clone());
    let value = text.value.as_deref().map(str::parse).transpose()?;
    Ok(Setting { value: value.unwrap_or_default(), origin: text.origin })
}

/// A drawn seed has 53 bits, so that it survives every JSON reader; given ones may have 63,
/// the most TOML can write.
const fn drawn_seed(entropy: u64) -> u64 {
    entropy >> 11
}

struct Pick<'a>(&'a [Layer]);

impl Pick<'_> {
    fn required<T>(&self, get: impl Fn(&Values) -> Option<T>) -> Option<Setting<T>> {
        self.0.iter().find_map(|layer| {
            get(&layer.values).map(|value| Setting { value, origin: layer.origin })
        })
    }

    fn or<T>(&self, get: impl Fn(&Values) -> Option<T>, value: T, origin: Origin) -> Setting<T> {
        self.required(get).unwrap_or(Setting { value, origin })
    }

    fn optional<T>(&self, get: impl Fn(&Values) -> Option<T>) -> Setting<Option<T>> {
        self.or(|values| get(values).map(Some), None, Origin::Default)
    }
}

fn check(plan: &ResolvedPlan) -> Result<(), PlanError> {
    let range = |key, value: String, allowed: &str| {
        Err(PlanError::Range { key, value, allowed: allowed.to_owned() })
    };
    let (footprint, time) = (plan.footprint.value, plan.time.value);
    if !(footprint > 0.0 && footprint <= 1.0) {
        return range("scale.footprint", footprint.to_string(), "above 0 and at most 1");
    }
    if !(time > 0.0 && time.is_finite()) {
        return range("scale.time", time.to_string(), "above 0");
    }
    for (key, value) in [
        ("ladder.repeats", plan.repeats.value),
        ("ladder.tiles-max", plan.tiles_max.value.unwrap_or(1)),
        ("engine.workers", plan.workers.value),
    ] {
        if value == 0 {
            return range(key, value.to_string(), "at least 1");
        }
    }
    let slice = plan.slice.value;
    if slice < Nanos::from_millis(100) {
        return range("measure.slice", slice.to_string(), "at least 100 ms");
    }
    if plan.duration_asked < slice {
        let value = plan.duration_asked.to_string();
        return range("measure.duration", value, &format!("at least one slice, {slice}"));
    }
    if plan.warm_up_max.value < plan.warm_up_min.value {
        let value = plan.warm_up_max.value.to_string();
        let least = plan.warm_up_min.value;
        return range(
            "measure.warm-up-max",
            value,
            &format!("at least measure.warm-up-min, {least}"),
        );
    }
    if i64::try_from(plan.seed.value).is_err() {
        return range("seed", plan.seed.value.to_string(), "at most 2^63-1");
    }
    Ok(())
}
