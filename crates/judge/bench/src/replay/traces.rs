use std::sync::Arc;

use spec::ResolvedTile;
use trace::OpenOptions;
use workload::replay::Schedule;

use crate::replay::{Recording, ReplayError, load};

/// Traces of a tile's workloads, indexed by position; `None` for a workload without a trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traces(Vec<Option<Arc<Recording>>>);

impl Traces {
    /// Reads every trace of a tile.
    ///
    /// # Errors
    /// A trace cannot be read or replayed.
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

    /// Creates the trace list of a tile with one workload.
    pub fn one(recording: Recording) -> Self {
        Self(vec![Some(Arc::new(recording))])
    }

    /// Returns the trace of the workload at a position.
    pub fn recording(&self, position: usize) -> Option<&Recording> {
        self.0.get(position)?.as_deref()
    }

    /// Returns the schedule of the workload at a position.
    pub fn schedule(&self, position: usize) -> Option<&Arc<Schedule>> {
        Some(&self.recording(position)?.schedule)
    }

    /// Returns all traces, with the positions of their workloads.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Recording)> {
        let all = self.0.iter().enumerate();
        all.filter_map(|(position, one)| Some((position, one.as_deref()?)))
    }

    /// Returns the tile with digests of its traces' contents in place of their paths. It is the
    /// identity of the load.
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
