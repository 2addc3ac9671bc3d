//! Questions and answers between hosts, in postcard's encoding.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Evidence, Known, LevelState, SetRow, SetSpan, State};

/// Maximum size of an answer, below the maximum message size between hosts.
pub(crate) const ANSWER_MAX: usize = 12 << 20;
/// Maximum number of slices that can be requested.
pub(crate) const SLICES_MAX: u64 = 1000;
/// Maximum number of cells and gauges in all slices of an answer: some 100 MB in memory.
pub(crate) const CELLS_MAX: usize = 400_000;
/// Maximum number of working-set rows in an answer.
pub(crate) const SETS_MAX: usize = 200_000;
/// Maximum number of names in an answer, of VMs and of disks each.
pub(crate) const NAMES_MAX: usize = 8192;

/// Maximum number of recordings in an answer; the newest are sent.
pub(crate) const EVIDENCE_MAX: usize = 1000;

/// Question about a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// Size and age of the store.
    State,
    /// Slices that begin in a window, at most `slices_max`.
    Window { from_s: u64, to_s: u64, slices_max: u64 },
    /// Working sets of hours that begin in a window, at most one hour in each `step_s` seconds.
    Sets { from_s: u64, to_s: u64, step_s: u64 },
    /// Newest working sets of each VM.
    NewestSets,
    /// Newest recordings of broken limits, without their traces.
    Evidence,
}

/// Answer of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Question that is answered.
    pub question: Question,
    /// Time on the host's clock, in seconds since 1970.
    pub now_s: u64,
    /// Names of VMs and disks that the store knows.
    pub known: Known,
    pub content: Content,
}

/// Content of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Content {
    State(StateFacts),
    Slices(Slices),
    Sets(Vec<SetFacts>),
    Evidence(Vec<EvidenceFacts>),
}

/// Size and age of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateFacts {
    pub bytes: u64,
    /// Begin and end of the store's data, in seconds since 1970.
    pub bounds: Option<(u64, u64)>,
    /// For each level, number of segments, and begin and end.
    pub levels: Vec<(u64, Option<(u64, u64)>)>,
}

/// Slices of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slices {
    /// Usual width of a slice, in seconds.
    pub width_s: u64,
    /// Slices encoded as in a journal.
    pub frames: Vec<Vec<u8>>,
    /// Initiators in the slices that are VMs but are not listed as known VMs.
    pub vms: Vec<String>,
    /// Number of files that could not be read.
    pub unreadable: u64,
}

/// Working set, with the fields of a [`SetRow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetFacts {
    pub start_s: u64,
    pub vm: String,
    pub hours: u32,
    pub since_s: u64,
    pub used_bytes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub share: f64,
}

/// Recording of a broken limit, with the fields of an [`Evidence`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EvidenceFacts {
    pub name: String,
    pub alarm: String,
    pub vm: Option<String>,
    pub disk: String,
    /// Path of the trace on the host.
    pub trace: Option<String>,
    pub findings: Vec<String>,
    pub bytes: u64,
}

impl EvidenceFacts {
    pub fn of(own: &Evidence) -> Self {
        Self {
            name: own.name.clone(),
            alarm: own.alarm.clone(),
            vm: own.vm.clone(),
            disk: own.disk.clone(),
            trace: own.trace.as_ref().map(|path| path.display().to_string()),
            findings: own.findings.clone(),
            bytes: own.bytes,
        }
    }

    /// Converts to a recording; `None` if its name is not a time.
    pub fn evidence(self) -> Option<Evidence> {
        Some(Evidence {
            at_s: crate::evidence::at_of(&self.name)?,
            name: self.name,
            alarm: self.alarm,
            vm: self.vm,
            disk: self.disk,
            trace: self.trace.map(PathBuf::from),
            findings: self.findings,
            bytes: self.bytes,
        })
    }
}

impl SetFacts {
    pub fn of(row: &SetRow) -> Self {
        Self {
            start_s: row.start_s,
            vm: row.vm.to_string(),
            hours: row.span.hours(),
            since_s: row.since_s,
            used_bytes: row.used_bytes,
            read_bytes: row.read_bytes,
            written_bytes: row.written_bytes,
            share: row.share,
        }
    }

    /// Converts to a row; `None` if there is no such span.
    pub fn row(&self) -> Option<SetRow> {
        Some(SetRow {
            start_s: self.start_s,
            vm: Arc::from(self.vm.as_str()),
            span: SetSpan::ALL.into_iter().find(|span| span.hours() == self.hours)?,
            since_s: self.since_s,
            used_bytes: self.used_bytes,
            read_bytes: self.read_bytes,
            written_bytes: self.written_bytes,
            share: self.share,
        })
    }
}

impl StateFacts {
    pub fn of(state: &State, bounds: Option<(u64, u64)>) -> Self {
        let levels = state.levels.iter().map(|own| (own.segments as u64, own.time_s));
        Self { bytes: state.bytes, bounds, levels: levels.collect() }
    }

    pub fn state(&self) -> State {
        let level = |(segments, time_s): &(u64, Option<(u64, u64)>)| LevelState {
            segments: usize::try_from(*segments).unwrap_or(usize::MAX),
            time_s: *time_s,
        };
        State { bytes: self.bytes, levels: self.levels.iter().map(level).collect() }
    }
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("numbers, texts and lists")
}
