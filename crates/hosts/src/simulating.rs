use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use bench::progress::Control;
use spec::study::ResolvedConfiguration;
use study::{PartOutcome, Point, Simulate, Simulated};

use crate::under_way::held;
use crate::wire::SimulatePoint;

/// Points of one study, simulated on this host, each on a thread of its own.
#[derive(Debug)]
pub(crate) struct Simulating {
    configurations: Vec<ResolvedConfiguration>,
    simulated: Simulated,
    control: Control,
    /// By number; nothing while it goes on.
    points: Mutex<BTreeMap<u64, Option<PartOutcome>>>,
}

/// So many points go on at the same time, for each processor: the controller asks for one.
const POINTS_MAX: usize = 2;

impl Simulating {
    /// None yet.
    pub fn new(configurations: Vec<ResolvedConfiguration>) -> Arc<Self> {
        Arc::new(Self {
            simulated: Simulated::new(&configurations),
            configurations,
            control: Control::default(),
            points: Mutex::default(),
        })
    }

    /// Begins a point; asked again, the same is not begun again.
    pub fn begin(self: &Arc<Self>, asked: SimulatePoint) -> Result<(), String> {
        let mut points = held(&self.points);
        points.retain(|number, _| !asked.received.contains(number));
        if points.contains_key(&asked.number) {
            return Ok(());
        }
        let going = points.values().filter(|outcome| outcome.is_none()).count();
        if going >= POINTS_MAX * available_parallelism().map_or(1, Into::into) {
            return Err(format!("{going} points go on here"));
        }
        if asked.index >= self.configurations.len() || asked.repeat == 0 {
            return Err(format!("there is no configuration {}", asked.index));
        }
        points.insert(asked.number, None);
        let own = Arc::clone(self);
        let work = move || {
            let outcome = own.outcome_of(&asked);
            held(&own.points).insert(asked.number, Some(outcome));
        };
        let spawned = std::thread::Builder::new().name("point".to_owned()).spawn(work);
        spawned.map(drop).map_err(|error| format!("starting a thread: {error}"))
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

    /// What a point came to; nothing while it goes on.
    pub fn outcome(&self, number: u64) -> Result<Option<PartOutcome>, String> {
        let points = held(&self.points);
        points.get(&number).cloned().ok_or_else(|| format!("point {number} was not begun here"))
    }

    /// Ends what goes on.
    pub fn stop(&self) {
        self.control.interrupt();
    }
}
