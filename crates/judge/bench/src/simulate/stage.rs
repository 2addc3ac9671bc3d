use std::cell::RefCell;
use std::rc::Rc;

use jiff::Timestamp;
use run_store::run::Step;
use spec::ResolvedTile;
use spec::array::Array;
use spec::events::{PlannedEvent, Restart};

use crate::error::BenchError;
use crate::fleet::{StepOrder, fleet, round};
use crate::plan::{ResolvedPlan, modelled_events, with_traces};
use crate::progress::{Control, NoObserver};
use crate::rig::{Foreseen, SharedState, SimRig, WarmKey, Warmed};
use crate::score::References;
use crate::simulate::Settings;
use crate::step::report::StepPlace;
use crate::step::runner::StepBench;
use crate::step::sink::Nowhere;

/// A tile that is prepared for simulation on several arrays. Everything that does not depend on the
/// array is computed once.
#[derive(Debug, Clone)]
pub struct Stage {
    pub(super) plan: ResolvedPlan,
    references: References,
}

impl Stage {
    /// Prepares a tile with these settings.
    ///
    /// # Errors
    ///
    /// A setting is out of range, or a workload has no reference.
    pub fn new(tile: &ResolvedTile, settings: &Settings) -> Result<Self, BenchError> {
        Self::of(&settings.plan("any", tile)?)
    }

    /// Prepares the tile of a plan, with the settings of the plan.
    ///
    /// # Errors
    ///
    /// A workload has no reference, or a trace cannot be read.
    pub fn of(plan: &ResolvedPlan) -> Result<Self, BenchError> {
        let plan = with_traces(plan)?.into_owned();
        let references = References::of(&plan)?;
        Ok(Self { plan, references })
    }

    /// Sets a second datastore for operations: `pool:NAME`, a pool that every array must have.
    #[must_use]
    pub fn with_second(mut self, second: Option<String>) -> Self {
        self.plan.settings.second = second;
        self
    }

    /// Sets events of the hosts, which every array must have.
    #[must_use]
    pub fn with_events(mut self, events: Vec<PlannedEvent>, restart: Option<Restart>) -> Self {
        (self.plan.settings.events, self.plan.settings.restart) = (events, restart);
        self
    }

    /// Returns the plan of the steps.
    pub const fn plan(&self) -> &ResolvedPlan {
        &self.plan
    }

    /// Returns the references of the workloads.
    pub fn references(&self) -> &References {
        &self.references
    }

    /// Simulates `tiles` tiles on an array. The same array, stage, tiles, repeat (counted from 0)
    /// and seed give exactly the same step, and the same step as in `tilemark simulate`. With one
    /// seed and repeat, every array gets the same arrivals and addresses.
    ///
    /// # Errors
    ///
    /// The array cannot hold the tiles, virtual time does not advance, or `control` requests a
    /// stop, which is checked while tiers are filled and between slices.
    pub fn step(
        &self,
        array: &Array,
        (tiles, repeat): (u32, u32),
        seed: u64,
        control: &Control,
    ) -> Result<Step, BenchError> {
        self.step_warmed(array, (tiles, repeat), seed, control, None)
    }

    /// Simulates a step that starts with a shared state of warmed tiers. Other steps with the same
    /// number of tiles use the same state.
    pub fn step_warmed(
        &self,
        array: &Array,
        (tiles, repeat): (u32, u32),
        seed: u64,
        control: &Control,
        warmed: Option<SharedState>,
    ) -> Result<Step, BenchError> {
        let mut plan = self.plan.clone();
        plan.seed = seed;
        modelled_events(&plan, array)?;
        let rig = SimRig::new(array, &plan).obeying(control);
        let rig = match warmed {
            Some(state) => rig.sharing(state),
            None => rig,
        };
        self.measured(&plan, rig, (tiles, repeat), control)
    }

    /// Computes the load of such a step, with the plan's own seed. Warmed tiers are shared with
    /// other steps with the same number of tiles.
    pub(crate) fn foresee(
        &self,
        array: &Array,
        (tiles, repeat): (u32, u32),
        control: &Control,
        warmed: &Warmed,
    ) -> Result<Foreseen, BenchError> {
        let told = Rc::new(RefCell::default());
        let state = warmed.state(WarmKey::new(array, tiles, self.plan.seed, 0));
        let rig = SimRig::new(array, &self.plan).obeying(control).sharing(state);
        let rig = rig.telling(Rc::clone(&told));
        self.measured(&self.plan, rig, (tiles, repeat), control)?;
        Ok(told.take())
    }

    fn measured(
        &self,
        plan: &ResolvedPlan,
        mut rig: SimRig<'_>,
        (tiles, repeat): (u32, u32),
        control: &Control,
    ) -> Result<Step, BenchError> {
        let fleet = fleet(plan, StepOrder::whole(plan, tiles, round(tiles, repeat)))?;
        let mut bench = StepBench {
            plan,
            references: &self.references,
            rig: &mut rig,
            control,
            observer: &mut NoObserver,
            series: &mut Nowhere,
        };
        let place = StepPlace {
            step: 1,
            repeat: repeat + 1,
            order: 1,
            tiles,
            started: Timestamp::UNIX_EPOCH,
        };
        bench.alone(&fleet, &place)
    }
}

/// Simulates a single step in its first repeat, as [`Stage::step`] does.
///
/// # Errors
///
/// Errors of [`Stage::new`] and [`Stage::step`].
pub fn step(
    array: &Array,
    tile: &ResolvedTile,
    tiles: u32,
    settings: &Settings,
    seed: u64,
) -> Result<Step, BenchError> {
    Stage::new(tile, settings)?.step(array, (tiles, 0), seed, &Control::default())
}
