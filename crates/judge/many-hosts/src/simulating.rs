use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use bench::plan::{Layer, Origin, Surroundings, resolve_simulated};
use bench::progress::Control;
use bench::run::{Foresee, Here};
use spec::study::ResolvedConfiguration;
use study::{PartOutcome, Point, Simulate, Simulated};

use crate::refusal::{AgentError, remote};
use crate::under_way::held;
use crate::wire::{SimulatePoint, SimulateStep, Simulation};
use cluster::RemoteError;

/// Simulations for a controller, keyed by number, each on a separate thread; `None` while running.
#[derive(Debug)]
struct Going<O>(Mutex<BTreeMap<u64, Option<O>>>);

/// Maximum number of concurrent simulations per CPU. The controller requests only one.
const GOING_MAX: usize = 2;

impl<O: Clone + Send + 'static> Going<O> {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// Starts a simulation. A repeated request changes nothing. Drops results that the controller
    /// has received.
    fn begin(
        self: &Arc<Self>,
        number: u64,
        received: &[u64],
        work: impl FnOnce() -> O + Send + 'static,
    ) -> Result<(), AgentError> {
        let mut all = held(&self.0);
        all.retain(|number, _| !received.contains(number));
        if all.contains_key(&number) {
            return Ok(());
        }
        let going = all.values().filter(|outcome| outcome.is_none()).count();
        if going >= GOING_MAX * available_parallelism().map_or(1, Into::into) {
            return Err(AgentError::refused(format!(
                "{going} simulations are already running here"
            )));
        }
        all.insert(number, None);
        let own = Arc::clone(self);
        let work = move || {
            let outcome = work();
            held(&own.0).insert(number, Some(outcome));
        };
        let spawned = std::thread::Builder::new().name("simulation".to_owned()).spawn(work);
        spawned.map(drop).map_err(AgentError::Thread)
    }

    /// Returns the result of a simulation; `None` while it runs.
    fn outcome(&self, number: u64) -> Result<Option<O>, AgentError> {
        let all = held(&self.0);
        let unknown =
            || AgentError::refused(format!("simulation number {number} was not started here"));
        all.get(&number).cloned().ok_or_else(unknown)
    }
}

/// Points of one study, simulated on this host.
#[derive(Debug)]
pub(crate) struct Simulating {
    configurations: Vec<ResolvedConfiguration>,
    simulated: Simulated,
    control: Control,
    points: Arc<Going<PartOutcome>>,
}

impl Simulating {
    /// Creates the state of a study without points.
    pub fn new(configurations: Vec<ResolvedConfiguration>) -> Arc<Self> {
        Arc::new(Self {
            simulated: Simulated::new(&configurations),
            configurations,
            control: Control::default(),
            points: Going::new(),
        })
    }

    /// Starts a point.
    pub fn begin(self: &Arc<Self>, asked: SimulatePoint) -> Result<(), AgentError> {
        if asked.index >= self.configurations.len() || asked.repeat == 0 {
            return Err(AgentError::refused(format!("there is no configuration {}", asked.index)));
        }
        let own = Arc::clone(self);
        let (number, received) = (asked.number, asked.received.clone());
        self.points.begin(number, &received, move || own.outcome_of(&asked))
    }

    fn outcome_of(&self, asked: &SimulatePoint) -> PartOutcome {
        let point = Point {
            index: asked.index,
            configuration: &self.configurations[asked.index],
            tiles: asked.tiles,
            repeat: asked.repeat,
            seed: asked.seed,
        };
        self.simulated.step(&point, &self.control).into()
    }

    /// Returns the result of a point; `None` while it runs.
    pub fn outcome(&self, number: u64) -> Result<Option<PartOutcome>, AgentError> {
        self.points.outcome(number)
    }

    /// Stops running points.
    pub fn stop(&self) {
        self.control.interrupt();
    }
}

/// Steps of one run, simulated on this host.
#[derive(Debug)]
pub(crate) struct Foreseeing {
    here: Here,
    steps: Arc<Going<Result<(), RemoteError>>>,
}

impl Foreseeing {
    /// Creates the state of a run without steps.
    pub fn new(asked: Simulation) -> Result<Arc<Self>, AgentError> {
        let layers = [Layer { origin: Origin::Plan, ..Layer::of_plan(&asked.plan) }];
        let here = Surroundings { entropy: 0, cores: 1 };
        let plan = resolve_simulated(&layers, asked.tile, here)?;
        let here = Here::new(&plan, asked.array, NonZeroUsize::MIN)?;
        Ok(Arc::new(Self { here, steps: Going::new() }))
    }

    /// Starts a step. Passes its result to `offer`.
    pub fn begin(
        self: &Arc<Self>,
        asked: &SimulateStep,
        offer: impl FnOnce(Vec<u8>) -> Result<(), AgentError> + Send + 'static,
    ) -> Result<(), AgentError> {
        let own = Arc::clone(self);
        let &SimulateStep { number, tiles, repeat, ref received } = asked;
        self.steps.begin(number, received, move || {
            let foreseen = own.here.step(tiles, repeat).map_err(|error| remote(&error))?;
            offer(crate::wire::write_step(&foreseen)).map_err(|error| error.to_remote())
        })
    }

    /// Returns the state of a step: `None` while it runs, an error if it failed.
    pub fn outcome(&self, number: u64) -> Result<Option<Result<(), RemoteError>>, AgentError> {
        self.steps.outcome(number)
    }
}

impl Drop for Foreseeing {
    fn drop(&mut self) {
        self.here.end();
    }
}
