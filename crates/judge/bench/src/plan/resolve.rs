use run_store::run::{Labels, Origin};
use sim::plant::HostEvents;
use spec::array::Array;
use spec::events::{EventContext, EventKind, PlannedEvent, event_problems};
use spec::meter::Meter;
use spec::plan::{EngineOptions, Hosts, OutOfRange, Plan, Profile};
use spec::{Placement, ResolvedTile};
use units::Nanos;

use crate::ladder::Climb;
use crate::plan::climb::climb_of;
use crate::plan::layer::merged;
use crate::plan::{
    Layer, Origins, PlanError, ProfileValues, endpoints, profile_values, simulated_values,
    whole_periods, workloads_of,
};
use crate::replay::Traces;

/// Prefix of a modelled array in a plan or on the command line: `array:NAME`, `array:FILE.toml`.
pub const ARRAY_PREFIX: &str = "array:";

/// Inputs from the host for the resolution, so that it stays a pure function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings {
    /// 64 random bits, used if no seed is given.
    pub entropy: u64,
    /// Number of cores that this process may use.
    pub cores: u32,
}

/// A plan in which every value is known.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedPlan {
    /// All settings, each from the first layer that gives it. A field of this struct has priority
    /// over the setting of the same name, because it may have changed since.
    pub settings: Plan,
    /// Origin of each setting.
    pub origins: Origins,
    /// `dir:PATH`, `file:PATH` or `block:PATH`; `array:NAME` in a simulation.
    pub datastore: String,
    /// Name or path of the tile, as given.
    pub tile: String,
    /// Profile of the run.
    pub profile: Profile,
    /// Strategy for climbing the ladder.
    pub climb: Climb,
    /// Number of runs of a step around the edge.
    pub repeats: u32,
    /// Minimum duration of the warm-up.
    pub warm_up_min: Nanos,
    /// Maximum duration of the warm-up.
    pub warm_up_max: Nanos,
    /// Measurement time, in whole burst periods.
    pub duration: Nanos,
    /// Requested measurement time.
    pub duration_asked: Nanos,
    /// Length of a time slice.
    pub slice: Nanos,
    /// Factor applied to disk sizes.
    pub footprint: f64,
    /// Factor applied to schedule times.
    pub time: f64,
    /// Number of worker threads.
    pub workers: u32,
    /// Placement of tiles on hosts.
    pub placement: Placement,
    /// Name, tags and note of the run. They do not influence the measurement.
    pub labels: Labels,
    /// Seed of every random stream.
    pub seed: u64,
    /// Values of the profile that a plan cannot override.
    pub method: ProfileValues,
    /// The tile and its workloads.
    pub tile_set: ResolvedTile,
    /// Traces that the workloads replay, after they were read.
    pub traces: Traces,
}

impl ResolvedPlan {
    /// Returns the names of the hosts that drive the tiles: the texts before `=`.
    pub fn host_names(&self) -> Vec<String> {
        let name =
            |text: &String| text.split_once('=').map_or(text.as_str(), |(name, _)| name).to_owned();
        self.settings.hosts.members.iter().map(name).collect()
    }

    /// Returns the origin of a setting, given by its key in the plan.
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).copied().unwrap_or(Origin::Default)
    }

    /// Returns true if a tile may move to another host during a step.
    pub fn may_move(&self) -> bool {
        let moves = |event: &PlannedEvent| event.kind != EventKind::StopHost;
        self.settings.restart.is_some() || self.settings.events.iter().any(moves)
    }
}

/// Resolves every setting: the first layer with a value wins, then the profile, then the default.
/// `tile_set` is the loaded tile that the layers name.
pub fn resolve(
    layers: &[Layer],
    tile_set: ResolvedTile,
    surroundings: Surroundings,
) -> Result<ResolvedPlan, PlanError> {
    let plan = resolve_with(profile_values, layers, tile_set, surroundings)?;
    let plan = with_time_for_meters(plan);
    events(&plan)?;
    endpoints::addresses(&plan.settings.endpoints, &plan.tile_set)?;
    let workload = endpoints::of_machines(&plan.tile_set).next();
    if let Some((workload, _)) = workload.filter(|_| plan.settings.engine.verify) {
        return Err(PlanError::MachinesVerified { workload: workload.to_owned() });
    }
    Ok(plan)
}

/// Resolves every setting for a simulation. In contrast to [`resolve`], profiles have other values,
/// a range of tiles is completed regardless of results, and settings of the load generator are
/// ignored.
pub fn resolve_simulated(
    layers: &[Layer],
    tile_set: ResolvedTile,
    surroundings: Surroundings,
) -> Result<ResolvedPlan, PlanError> {
    let mut plan = resolve_with(simulated_values, layers, tile_set, surroundings)?;
    endpoints::models(&plan.settings.endpoints)?;
    endpoints::modelled(&plan.settings.endpoints, &plan.tile_set)?;
    if plan.slice > Nanos::SECOND {
        // Gauges of hosts and backlogs are per whole second.
        let (value, allowed) = (plan.slice.to_string(), "at most 1 s in a simulation".to_owned());
        return Err(OutOfRange { key: "measure.slice", value, allowed }.into());
    }
    if let Climb::Range { first, last } = plan.climb {
        plan.climb = Climb::Every { first, last };
    }
    plan.workers = 1;
    let settings = &mut plan.settings;
    settings.engine = EngineOptions::default();
    settings.hosts = Hosts::default();
    (settings.meters, settings.machines) = (Vec::new(), Vec::new());
    plan.origins.retain(|key, _| !key.starts_with("engine."));
    Ok(plan)
}

fn resolve_with(
    values: fn(Profile) -> ProfileValues,
    layers: &[Layer],
    tile_set: ResolvedTile,
    surroundings: Surroundings,
) -> Result<ResolvedPlan, PlanError> {
    // Merging takes a NaN for an absent value, so factors are checked before.
    let factors = layers.iter().flat_map(|layer| layer.plan.scale.out_of_range());
    let profile = layers.iter().find_map(|layer| layer.plan.profile).unwrap_or_default();
    let method = values(profile);
    let (settings, origins) =
        merged(&[layers, &[method.layer(), default_layer(surroundings)]].concat())?;
    if let Some(wrong) = factors.chain(settings.out_of_range()).next() {
        return Err(wrong.into());
    }
    endpoints::check(&settings.endpoints, &tile_set)?;
    for expectation in &settings.expect {
        expectation.limit(&tile_set)?;
    }
    let placement = settings.hosts.placement.as_deref().map(str::parse).transpose()?;
    let (measure, scale) = (&settings.measure, &settings.scale);
    let filled = "the method and the defaults set every key";
    let (duration, time) = (measure.duration.expect(filled), scale.time.expect(filled));
    Ok(ResolvedPlan {
        datastore: settings.datastore.clone().expect(filled),
        tile: settings.tile.clone().expect(filled),
        profile,
        climb: climb_of(settings.ladder.tiles.as_deref())?,
        repeats: settings.ladder.repeats.expect(filled),
        warm_up_min: measure.warm_up_min.expect(filled),
        warm_up_max: measure.warm_up_max.expect(filled),
        duration: whole_periods(duration, time, workloads_of(&tile_set)),
        duration_asked: duration,
        slice: measure.slice.expect(filled),
        footprint: scale.footprint.expect(filled),
        time,
        workers: settings.engine.workers.expect(filled),
        placement: placement.unwrap_or_default(),
        labels: Labels::default(),
        seed: settings.seed.expect(filled),
        method,
        tile_set,
        traces: Traces::default(),
        settings,
        origins,
    })
}

/// Returns the defaults of settings that neither a layer nor a profile has.
fn default_layer(surroundings: Surroundings) -> Layer {
    let workers = Some(surroundings.cores.clamp(1, 8));
    let plan = Plan {
        profile: Some(Profile::default()),
        engine: EngineOptions { workers, ..EngineOptions::default() },
        seed: Some(drawn_seed(surroundings.entropy)),
        ..Plan::default()
    };
    Layer { origin: Origin::Default, plan }
}

/// Checks that the events are possible with these hosts and this measurement time.
fn events(plan: &ResolvedPlan) -> Result<(), PlanError> {
    let (hosts, settings) = (plan.host_names(), &plan.settings);
    let (events, restart) = (&settings.events, settings.restart);
    if hosts.is_empty() && (restart.is_some() || !events.is_empty()) {
        let key = if events.is_empty() { "restart" } else { "events" };
        return Err(PlanError::NoHosts { key });
    }
    let duration = Some(plan.duration);
    let context = EventContext { hosts: &hosts, restart, duration, is_modelled: false };
    match event_problems(events, context).into_iter().next() {
        Some(problem) => Err(PlanError::Event(problem.to_string())),
        None if settings.engine.buffered && plan.may_move() => Err(PlanError::BufferedMoves),
        None => Ok(()),
    }
}

/// Checks that the events of a simulation are possible with the array's hosts and this measurement
/// time.
///
/// # Errors
///
/// [`PlanError::Event`] with the first problem, or [`PlanError::ModelledEvent`].
pub fn modelled_events(plan: &ResolvedPlan, array: &Array) -> Result<(), PlanError> {
    let settings = &plan.settings;
    let (events, restart) = (&settings.events, settings.restart);
    if events.is_empty() && restart.is_none() && !array.is_balanced() {
        return Ok(());
    }
    sim::plant::check_events(array, &HostEvents { events, restart })?;
    let hosts = sim::plant::host_names(array);
    let duration = Some(plan.duration);
    let context = EventContext { hosts: &hosts, restart, duration, is_modelled: true };
    match event_problems(events, context).into_iter().next() {
        Some(problem) => Err(PlanError::Event(problem.to_string())),
        None => Ok(()),
    }
}

/// Extends a warm-up from the profile to the time that the power meters need. A given warm-up is
/// kept.
fn with_time_for_meters(mut plan: ResolvedPlan) -> ResolvedPlan {
    let least = plan.settings.meters.iter().map(Meter::warm_up).max().unwrap_or(Nanos::ZERO);
    if plan.origin("measure.warm-up-max") == Origin::Profile {
        plan.warm_up_max = plan.warm_up_max.max(least);
    }
    if plan.origin("measure.warm-up-min") == Origin::Profile {
        plan.warm_up_min = plan.warm_up_min.max(least.min(plan.warm_up_max));
    }
    plan
}

/// Returns a random seed of 53 bits, so that every JSON reader keeps it exactly. Given seeds may
/// have 63 bits, the maximum in TOML.
const fn drawn_seed(entropy: u64) -> u64 {
    entropy >> 11
}
