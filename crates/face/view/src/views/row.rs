use std::path::Path;
use std::sync::Arc;

use run_store::run::{Run, Step};
use run_store::rundir::{self, RunDirError, State, StoredRun};
use units::Nanos;
use units::print::count;

use crate::document::{RunKind, RunList, RunRow, RunState};
use crate::source::{Source, TraceFacts, kind_of};
use crate::words;

/// Number of points in a row's sparkline.
const SPARK: usize = 60;
/// Maximum number of generator rows that are read for the sparkline: a week of seconds.
const SPARK_ROWS_MAX: usize = 700_000;

/// Lists everything stored in a directory, newest first.
pub fn list(base: &Path) -> Result<RunList, RunDirError> {
    let mut runs: Vec<RunRow> = rundir::list(base)?.iter().map(row_of).collect();
    runs.reverse();
    Ok(RunList { base: base.display().to_string(), runs })
}

/// Makes the row of a stored run, without reading the rollup. The row of an unreadable run has the
/// reason.
pub fn row_of(stored: &StoredRun) -> RunRow {
    let state = match stored.state() {
        State::Complete => RunState::Complete,
        State::Running => RunState::Running,
        State::Abandoned => RunState::Abandoned,
    };
    let size_bytes = stored.size_bytes().unwrap_or(0);
    let mut row = match stored.run() {
        Ok(run) => of_run(run, state),
        Err(error) => RunRow { error: Some(error.to_string()), ..nameless(state) },
    };
    row.id = stored.id().to_string();
    row.size_bytes = size_bytes;
    row.spark = spark(stored);
    row
}

impl Source {
    /// Returns the row in the list of runs.
    pub fn row(&self) -> RunRow {
        let mut row = match (self.run(), self.trace_facts()) {
            (Some(run), _) => of_run(run, self.state),
            (None, Some(trace)) => RunRow {
                started: trace.started.clone(),
                tile: trace.name.clone(),
                target: trace.target.clone(),
                ..nameless(self.state)
            },
            (None, None) => nameless(self.state),
        };
        row.id = self.id().to_owned();
        row.kind = self.kind();
        row.size_bytes = self.size_bytes;
        row.duration_ns = row.duration_ns.max(self.rollup().end().0);
        row.spark = words::spark_of(self, SPARK);
        row.sentence = words::answer(self);
        row
    }
}

impl TraceFacts {
    /// Makes the row of a trace with this number of I/Os, which were not read yet.
    pub fn row(&self, records: u64) -> RunRow {
        let mut row = Source::trace(self.clone(), Arc::default(), None).row();
        row.state = RunState::Complete;
        row.sentence = match self.is_watched {
            true => "Watched, always.".to_owned(),
            false => format!("Recorded: {}.", count(records, "I/O")),
        };
        row.duration_ns = self.duration_ns;
        row.spark = Vec::new();
        row
    }
}

fn nameless(state: RunState) -> RunRow {
    RunRow {
        id: String::new(),
        kind: RunKind::Measured,
        state,
        status: None,
        started: String::new(),
        duration_ns: 0,
        tile: String::new(),
        target: String::new(),
        sentence: String::new(),
        tiles_held: None,
        tiles: None,
        profile: None,
        scale: None,
        disturbed_steps: 0,
        score: None,
        size_bytes: 0,
        spark: Vec::new(),
        error: None,
    }
}

fn of_run(run: &Run, state: RunState) -> RunRow {
    RunRow {
        id: run.id.clone(),
        kind: kind_of(run),
        state,
        status: (state == RunState::Complete).then(|| run.answer.ending().to_owned()),
        started: run.started.to_string(),
        duration_ns: run.steps.iter().map(under_load).map(|time| time.0).sum(),
        tile: run.tile.name.clone(),
        target: run.target.summary.clone(),
        sentence: words::answer_of(run),
        tiles_held: run.answer.tiles_held,
        tiles: run.answer.tiles_held.map(|_| run.answer.tiles_text()),
        profile: Some(run.profile.clone()),
        scale: scale(run),
        disturbed_steps: disturbed(run),
        score: run.answer.score.value,
        size_bytes: 0,
        spark: Vec::new(),
        error: None,
    }
}

fn scale(run: &Run) -> Option<String> {
    let footprint = run.scale.footprint;
    (footprint > 0.0 && footprint < 1.0).then(|| format!("disks 1/{:.0}", 1.0 / footprint))
}

fn disturbed(run: &Run) -> u32 {
    let disturbed = run.steps.iter().filter(|step| !step.disturbances.is_empty());
    u32::try_from(disturbed.count()).unwrap_or(u32::MAX)
}

fn under_load(step: &Step) -> Nanos {
    Nanos(step.warm_up.duration_ns).saturating_add(Nanos(step.measured_ns))
}

/// Returns the completed I/Os per second over the run. They come from the generator's rows, which
/// are few.
fn spark(stored: &StoredRun) -> Vec<f64> {
    let Ok(rows) = stored.generator() else { return Vec::new() };
    let slices: Vec<(u64, Nanos)> = rows
        .map_while(Result::ok)
        .take(SPARK_ROWS_MAX)
        .map(|row| (row.row.completed, row.width))
        .collect();
    words::rates_of(&slices, SPARK)
}
