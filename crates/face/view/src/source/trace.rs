use std::path::Path;
use std::sync::Arc;

use run_store::gauge::{Gauge, GaugeName};
use run_store::rundir::RunId;
use trace::store::{self, Columns};
use trace::{Clock, TraceError, TraceInfo};

use super::{Facts, Source, TraceFacts};
use crate::document::RunState;
use crate::observed::observe;

impl TraceFacts {
    /// Collects facts about a trace that is, or will be, stored here. The identifier depends only
    /// on the trace's name and begin, so it is the same during the recording and afterwards.
    pub fn new(path: &Path, info: &TraceInfo, host: Option<&str>) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".tmt").unwrap_or(&name).to_owned();
        let id = RunId::following(&name, info.started_unix_ns.unwrap_or(0));
        let devices: Vec<&str> = info.devices.iter().map(|device| device.name.as_str()).collect();
        Self {
            started: info.started_unix_ns.map_or_else(String::new, |_| id.started().to_string()),
            id: id.to_string(),
            name,
            target: devices.join(", "),
            host: host.map(str::to_owned),
            size_bytes: 0,
            duration_ns: 0,
            is_order_only: info.clock == Clock::Order,
            is_watched: false,
        }
    }

    /// Reads the facts about a stored trace, but not its I/O.
    ///
    /// # Errors
    ///
    /// The path has no trace, or an unfinished one.
    pub fn of_stored(path: &Path) -> Result<(Self, u64), TraceError> {
        let stored = store::open(path)?;
        let facts = Self::new(path, stored.info(), stored.host());
        let last = stored.issued().filter(|_| !facts.is_order_only);
        let duration_ns = last.map_or(0, |(_, last)| last.0);
        Ok((Self { size_bytes: stored.bytes(), duration_ns, ..facts }, stored.records()))
    }
}

impl Source {
    /// Opens a stored trace and reads all of it.
    ///
    /// # Errors
    ///
    /// The path has no trace, an unfinished one, or it cannot be read.
    pub fn open_trace(path: &Path) -> Result<Self, TraceError> {
        let columns = Columns::LATENCY
            | Columns::VM
            | Columns::DEVICE
            | Columns::OPERATION
            | Columns::LENGTH
            | Columns::FLAGS;
        let (trace, _) = TraceFacts::of_stored(path)?;
        let mut rollup = observe(&mut store::open(path)?.source(columns))?;
        // Without them the trace is whole all the same.
        let gauges = store::gauges(path).unwrap_or_default();
        let width = gauges.width();
        rollup.observed_gauges(gauges.iter().filter_map(|(start, name, scope, value)| {
            let name = GaugeName::ALL.iter().find(|own| own.name() == name).copied()?;
            Some((start, width, Gauge { name, scope: scope.to_owned(), value }))
        }));
        let rollup = Arc::new(rollup);
        let (size_bytes, recorded) = (trace.size_bytes, Some(path.to_owned()));
        let facts = Facts { trace: Some(trace), recorded, ..Facts::default() };
        Ok(Self { size_bytes, ..Self::of(facts, rollup, RunState::Complete) })
    }
}
