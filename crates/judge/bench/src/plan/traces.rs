use std::borrow::Cow;

use run_store::rundir::{RunDir, files};

use crate::error::{BenchError, PlanError};
use crate::plan::ResolvedPlan;
use crate::replay::Traces;

/// Returns the plan with the traces of its tile. Reads them if that was not done before.
pub fn with_traces(plan: &ResolvedPlan) -> Result<Cow<'_, ResolvedPlan>, BenchError> {
    let has_replay = plan.tile_set.workloads.iter().any(|(workload, _)| workload.replay.is_some());
    if !has_replay || plan.traces != Traces::default() {
        return Ok(Cow::Borrowed(plan));
    }
    let traces = Traces::of(&plan.tile_set)?;
    Ok(Cow::Owned(ResolvedPlan { traces, ..plan.clone() }))
}

/// Stores a tile that was generated for the plan: one workload that replays a trace, given by its
/// absolute path. The stored plan can then be run again.
pub fn store_tile(plan: &ResolvedPlan, directory: &RunDir) -> Result<(), BenchError> {
    let [(workload, _)] = plan.tile_set.workloads.as_slice() else { return Ok(()) };
    if plan.tile != files::TILE || workload.replay.is_none() {
        return Ok(());
    }
    let unwritable = |error: toml::ser::Error| PlanError::Unwritable(error.to_string());
    let mut tile = plan.tile_set.tile.clone();
    for part in &mut tile.workloads {
        files::WORKLOAD.clone_into(&mut part.workload);
    }
    directory.write_text(files::TILE, &toml::to_string_pretty(&tile).map_err(unwritable)?)?;
    let workload = toml::to_string_pretty(workload).map_err(unwritable)?;
    Ok(directory.write_text(files::WORKLOAD, &workload)?)
}
