use std::borrow::Cow;
use std::sync::Arc;

use record::rundir::{RunDir, files};
use spec::ResolvedTile;
use trace::OpenOptions;
use workload::replay::Schedule;

use crate::error::BenchError;
use crate::plan::{PlanError, ResolvedPlan};
use crate::replay::{Recording, ReplayError, load};

/// The traces of a tile's workloads, by position; none where a workload plays none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traces(Vec<Option<Arc<Recording>>>);

impl Traces {
    /// Reads every trace that a tile names.
    ///
    /// # Errors
    /// When one cannot be read or played.
    pub fn of(tile: &ResolvedTile) -> Result<Self, ReplayError> {
        let read = |workload: &spec::workload::Workload| {
            let replay = workload.replay.as_ref();
            let recording = replay.map(|replay| load(replay, OpenOptions::MAX_BAD)).transpose()?;
            Ok(recording.map(Arc::new))
        };
        tile.workloads
            .iter()
            .map(|(workload, _)| read(workload))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The one trace of a tile of one workload.
    pub fn one(recording: Recording) -> Self {
        Self(vec![Some(Arc::new(recording))])
    }

    /// What the workload at a position plays.
    pub fn recording(&self, position: usize) -> Option<&Recording> {
        self.0.get(position)?.as_deref()
    }

    /// Its schedule.
    pub fn schedule(&self, position: usize) -> Option<&Arc<Schedule>> {
        Some(&self.recording(position)?.schedule)
    }

    /// All of them, with their positions.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Recording)> {
        let all = self.0.iter().enumerate();
        all.filter_map(|(position, one)| Some((position, one.as_deref()?)))
    }

    /// The tile with what its traces hold in place of where they are: what tells loads apart.
    pub fn identify(&self, tile: &ResolvedTile) -> ResolvedTile {
        let mut tile = tile.clone();
        for (position, (workload, _)) in tile.workloads.iter_mut().enumerate() {
            if let (Some(replay), Some(schedule)) = (&mut workload.replay, self.schedule(position))
            {
                replay.trace = format!("{:016x}", schedule.digest());
            }
        }
        tile
    }
}

/// The plan with the traces of its tile read, if it has any and they were not read before.
pub fn with_traces(plan: &ResolvedPlan) -> Result<Cow<'_, ResolvedPlan>, BenchError> {
    let has_replay = plan.tile_set.workloads.iter().any(|(workload, _)| workload.replay.is_some());
    if !has_replay || plan.traces != Traces::default() {
        return Ok(Cow::Borrowed(plan));
    }
    let traces = Traces::of(&plan.tile_set)?;
    Ok(Cow::Owned(ResolvedPlan { traces, ..plan.clone() }))
}

/// Writes the tile that a plan made itself, so that the stored plan runs again: one workload
/// that plays a trace, named by its whole path.
pub fn store(plan: &ResolvedPlan, directory: &RunDir) -> Result<(), BenchError> {
    let [(workload, _)] = plan.tile_set.workloads.as_slice() else { return Ok(()) };
    if plan.tile.value != files::TILE || workload.replay.is_none() {
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
