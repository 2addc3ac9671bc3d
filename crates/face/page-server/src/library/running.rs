//! Opens a run that another process writes, from the run's files. They lag behind by what that
//! process still buffers.

use std::sync::Arc;

use run_store::rollup::Rollup;
use run_store::run::Phase;
use run_store::rundir::StoredRun;
use view::Source;
use view::document::{LivePhase, LiveState};

use super::unreadable;
use crate::provider::ProviderError;

/// Opens a run in progress.
pub fn open(stored: StoredRun) -> Result<Source, ProviderError> {
    let run = stored.run().ok().cloned();
    let rollup = Arc::new(Rollup::of_run(&stored).map_err(unreadable)?);
    // The document is written at the end of the first step; until then ended calls decide.
    let is_calling = run.as_ref().is_some_and(|run| !run.tile.endpoints.is_empty())
        || !rollup.calls().is_empty();
    let state = state(&rollup, is_calling);
    Ok(Source::live(Some(stored), run, rollup, state))
}

fn state(rollup: &Rollup, is_calling: bool) -> LiveState {
    let span = rollup.spans().last();
    let last = rollup.slices().last();
    let in_last = |bucket: (u32, u32)| last.is_some_and(|row| (row.span, row.bucket) == bucket);
    let rows = rollup.wide().rows.iter().filter(|row| in_last((row.span, row.bucket)));
    let (count, bytes) =
        rows.fold((0, 0), |(count, bytes), row| (count + row.count(), bytes + row.bytes));
    let calls = rollup.calls().iter().filter(|row| in_last((row.span, row.bucket)));
    let calls = calls.map(|row| row.service.count()).sum();
    let time = last.map_or(1.0, |row| row.time.as_secs_f64().max(1e-9));
    LiveState {
        version: rollup.end().0,
        phase: span.map_or(LivePhase::Preparing, |span| phase(span.phase)),
        headline: String::new(),
        sentence: String::new(),
        tiles: span.map_or(0, |span| span.tiles),
        elapsed_ns: rollup.end().0,
        left_ns: None,
        run_left: None,
        prepared: None,
        operations_per_s: float(count) / time,
        calls_per_s: is_calling.then_some(float(calls) / time),
        bytes_per_s: float(bytes) / time,
        p99_ns: None,
        limits: Vec::new(),
        doubts: Vec::new(),
        hosts: Vec::new(),
        lost_slices: 0,
    }
}

const fn phase(phase: Phase) -> LivePhase {
    match phase {
        Phase::WarmUp => LivePhase::WarmUp,
        Phase::Measured => LivePhase::Measured,
        Phase::RampDown => LivePhase::Judging,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a second are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}
