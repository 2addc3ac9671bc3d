use std::sync::Arc;

use run_store::run::{SIMULATED, TargetFacts, ToolFacts};
use run_store::rundir::{RunDir, RunId, files};

use crate::error::BenchError;
use crate::progress::{Control, NoObserver};
use crate::run::document::RunFacts;
use crate::run::{FinishedRun, Reporter, TileLoad, run_on};
use crate::sample::{SampleOptions, SampleRig, plan_of};
use crate::score::References;

/// Start time of every sample, so that equal options give equal files.
const STARTED: &str = "20261122T080000Z";

/// Generates and stores an artificial run, see [`crate::sample`]. Equal options give the same
/// files, byte by byte. The description of its target says that it is artificial.
///
/// # Errors
///
/// The tile or an option is invalid, or the directory cannot be created, for example because it
/// exists.
pub fn sample(
    options: &SampleOptions,
    reporter: Option<Arc<dyn Reporter>>,
) -> Result<FinishedRun, BenchError> {
    let plan = plan_of(options)?;
    let name = plan.tile_set.tile.name.clone();
    let id = RunId::parse(&format!("{STARTED}-{name}-sample"));
    let id = id.expect("a time, a tile's name and six letters are an id");
    let references = References::of(&plan)?;
    let load = TileLoad::of(&plan)?;
    let target = TargetFacts {
        datastore: plan.datastore.clone(),
        kind: SIMULATED.to_owned(),
        summary: format!("{SIMULATED}: sample data, made up by rule; nothing was measured"),
        capacity_bytes: None,
        provisioned_bytes: None,
        array_sha256: None,
        second: None,
        tier: None,
        over: None,
    };
    let tool = ToolFacts { version: env!("CARGO_PKG_VERSION").to_owned(), commit: None };
    let mut facts = RunFacts::new(&plan, &references, load, &tool, &id, target)?;
    facts.started = id.started();
    facts.reporter = reporter;
    let mut rig = SampleRig::new(&plan, options, id.started())?;
    let directory = RunDir::create(&options.base, &id)?;
    directory.write_text(files::PLAN, &plan.to_toml()?)?;
    run_on(&plan, facts, &mut rig, directory, &Control::default(), &mut NoObserver)
}
