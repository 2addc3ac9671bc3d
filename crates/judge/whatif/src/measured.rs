use run_store::run::{Run, Step, Verdict};

/// Maximum number of measured tile counts that are simulated again: the two at the edge, and those
/// below.
const COUNTS_MAX: usize = 6;

/// Returns true if a step has figures of a whole measured time.
pub fn is_finished(step: &Step) -> bool {
    step.verdict != Verdict::Interrupted && step.measured_ns > 0
}

/// Returns the measured tile counts to simulate on the unchanged array: up to the first that did
/// not pass.
pub fn counts(run: &Run) -> Vec<u32> {
    let finished = run.steps.iter().filter(|step| is_finished(step));
    let mut tiles: Vec<u32> = finished.clone().map(|step| step.tiles).collect();
    tiles.sort_unstable();
    tiles.dedup();
    let failed = finished.filter(|step| step.verdict == Verdict::Failed);
    let edge = failed.map(|step| step.tiles).min().unwrap_or(u32::MAX);
    tiles.retain(|tiles| *tiles <= edge);
    let first = tiles.len().saturating_sub(COUNTS_MAX);
    tiles.split_off(first)
}
