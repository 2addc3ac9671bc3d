use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use run_store::run::{SIMULATED, TargetFacts, ToolFacts};
use run_store::rundir::{RunDir, RunId, files, sha256_hex};
use spec::array::Array;
use units::Nanos;

use crate::error::BenchError;
use crate::plan::{ARRAY_PREFIX, PlanError, ResolvedPlan, store_tile, with_traces};
use crate::progress::{Control, Observer};
use crate::rig::{Rig, SimRig};
use crate::run::ahead::{Ahead, Ending, Foresee};
use crate::run::document::RunFacts;
use crate::run::{FinishedRun, Reporter, TileLoad, first_step, run_on, second};
use crate::score::References;

/// Where a simulation leaves its results.
#[derive(Debug, Clone)]
pub struct SimulateOptions {
    /// The run directory is made in here.
    pub base: PathBuf,
    /// What was changed in the array, as a person wrote it; the result says so.
    pub changes: Vec<String>,
    /// The program.
    pub tool: ToolFacts,
    /// What makes the report for people, if one is wanted.
    pub reporter: Option<Arc<dyn Reporter>>,
    /// Real time it may take; who gives the control ends it by [`Control::end_for_time`].
    pub within: Option<Nanos>,
}

impl SimulateOptions {
    /// `simulated: 20 disks, with tier.fast.size=92GiB`.
    fn summary(&self, array: &Array) -> String {
        let changes = match self.changes.as_slice() {
            [] => String::new(),
            changes => format!(", with {}", changes.join(", ")),
        };
        format!("{SIMULATED}: {}{changes}", array.title)
    }
}

/// Runs a plan on a modelled array in virtual time, with the same run directory as a real run;
/// `plan.toml` in it names the `array.toml` beside it, so that it runs again as it is.
///
/// # Errors
///
/// When it cannot begin: the tiles do not fit the array, the run directory cannot be made.
/// Once the ladder is begun, whatever ends it is in the [`FinishedRun`].
pub fn simulate(
    plan: &ResolvedPlan,
    array: &Array,
    options: &SimulateOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, BenchError> {
    on(plan, array, options, None, control, observer)
}

/// The same where steps of a range are simulated ahead, by others: with the same result, to the bit. What
/// they simulate beyond the last step of the run is lost; a search has no steps that are known before, and is
/// simulated as ever.
///
/// # Errors
///
/// As [`simulate`].
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

/// The plan that runs again from within the run directory.
fn stored_plan(plan: &ResolvedPlan) -> ResolvedPlan {
    let mut stored = plan.clone();
    stored.datastore = format!("{ARRAY_PREFIX}{}", files::ARRAY);
    stored
}
