use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use run_store::run::{SIMULATED, TargetFacts, ToolFacts};
use run_store::rundir::{RunDir, RunId, files, sha256_hex};
use spec::array::Array;
use units::Nanos;

use crate::error::BenchError;
use crate::plan::{
    ARRAY_PREFIX, PlanError, ResolvedPlan, modelled_events, store_tile, with_traces,
};
use crate::progress::{Control, Observer};
use crate::rig::{Rig, SimRig};
use crate::run::ahead::{Ahead, Ending, Foresee};
use crate::run::document::RunFacts;
use crate::run::{FinishedRun, Reporter, TileLoad, first_step, run_on, second};
use crate::score::References;

/// Options of a simulation.
#[derive(Debug, Clone)]
pub struct SimulateOptions {
    /// Directory in which the run directory is created.
    pub base: PathBuf,
    /// Changes to the array as the user wrote them. The result contains them.
    pub changes: Vec<String>,
    /// Version of this program.
    pub tool: ToolFacts,
    /// Generator of the report for people, if a report is wanted.
    pub reporter: Option<Arc<dyn Reporter>>,
    /// Limit of the real time. The owner of the control ends the run with
    /// [`Control::end_for_time`].
    pub within: Option<Nanos>,
}

impl SimulateOptions {
    /// Returns a text such as `simulated: 20 disks, with tier.fast.size=92GiB`.
    fn summary(&self, array: &Array) -> String {
        let changes = match self.changes.as_slice() {
            [] => String::new(),
            changes => format!(", with {}", changes.join(", ")),
        };
        format!("{SIMULATED}: {}{changes}", array.title)
    }
}

/// Runs a plan on a modelled array in virtual time, with the same run directory as a real run. The
/// stored `plan.toml` refers to the stored `array.toml`, so it can be run again unchanged.
///
/// # Errors
///
/// The simulation cannot begin: the tiles do not fit the array, or the run directory cannot be
/// created. After the ladder has begun, errors are in the [`FinishedRun`].
pub fn simulate(
    plan: &ResolvedPlan,
    array: &Array,
    options: &SimulateOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, BenchError> {
    on(plan, array, options, None, control, observer)
}

/// Runs a plan as [`simulate`] does, but `by` simulates the steps of a range in advance. The result
/// is exactly the same. Steps beyond the last one of the run are wasted. The steps of a search are
/// not known in advance, so a search is simulated as usual.
///
/// # Errors
///
/// Errors of [`simulate`].
pub fn simulate_ahead(
    plan: &ResolvedPlan,
    array: &Array,
    options: &SimulateOptions,
    by: &dyn Foresee,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, BenchError> {
    let Some(ahead) = Ahead::of(plan, by.threads(), control) else {
        return simulate(plan, array, options, control, observer);
    };
    std::thread::scope(|scope| {
        for _ in 0..by.threads().get() {
            scope.spawn(|| ahead.work(by));
        }
        let _ending = Ending(&ahead, by);
        on(plan, array, options, Some(&ahead), control, observer)
    })
}

fn on(
    plan: &ResolvedPlan,
    array: &Array,
    options: &SimulateOptions,
    ahead: Option<&Ahead<'_>>,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, BenchError> {
    modelled_events(plan, array)?;
    let plan = &*with_traces(plan)?;
    let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
        .map_err(|source| BenchError::Random { source })?;
    let references = References::of(plan)?;
    let load = TileLoad::of(plan)?;
    second::is_used(plan, &load)?;
    let array_toml =
        toml::to_string_pretty(array).map_err(|error| PlanError::Unwritable(error.to_string()))?;
    let mut rig = SimRig::new(array, plan).obeying(control);
    if let Some(ahead) = ahead {
        rig = rig.foreseen_by(ahead);
    }
    holds_first_step(plan, load, &rig)?;
    let target = TargetFacts {
        datastore: plan.datastore.clone(),
        kind: SIMULATED.to_owned(),
        summary: options.summary(array),
        capacity_bytes: Some(rig.capacity().get()),
        provisioned_bytes: None,
        array_sha256: Some(sha256_hex(array_toml.as_bytes())),
        second: second::modelled(plan, array).map(Box::new),
        tier: None,
        over: None,
    };
    let stored = stored_plan(plan);
    let mut facts = RunFacts::new(&stored, &references, load, &options.tool, &id, target)?;
    facts.calibration.clone_from(&array.calibration);
    facts.reporter.clone_from(&options.reporter);
    facts.within = options.within;
    let directory = RunDir::create(&options.base, &id)?;
    directory.write_text(files::PLAN, &stored.to_toml()?)?;
    store_tile(plan, &directory)?;
    directory.write_text(files::ARRAY, &array_toml)?;
    run_on(plan, facts, &mut rig, directory, control, observer)
}

fn holds_first_step(
    plan: &ResolvedPlan,
    load: TileLoad,
    rig: &SimRig<'_>,
) -> Result<(), BenchError> {
    let tiles = first_step(plan);
    if rig.tiles_that_fit(&load) >= tiles {
        return Ok(());
    }
    rig.has_room(tiles, load.bytes)
}

/// Returns a plan that can be run again from within the run directory.
fn stored_plan(plan: &ResolvedPlan) -> ResolvedPlan {
    let mut stored = plan.clone();
    stored.datastore = format!("{ARRAY_PREFIX}{}", files::ARRAY);
    stored
}
