use std::sync::Arc;

use spec::ResolvedTile;
use trace::OpenOptions;
use workload::replay::Schedule;

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
