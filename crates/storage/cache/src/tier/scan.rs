/// Maximum number of open runs of one VM.
const RUNS: usize = 8;

/// Detector of sequential runs in one VM's accesses, reads and writes alike.
///
/// An access that begins where one of the last eight runs ended continues that run. Any other
/// access begins a new run, which replaces the run without an access for the longest time.
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    runs: [Run; RUNS],
    clock: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Run {
    end: u64,
    bytes: u64,
    touched: u64,
}

impl Scan {
    /// Records an access. Returns the length of its run in bytes, this access included.
    pub(super) fn observe(&mut self, offset: u64, length: u32) -> u64 {
        self.clock += 1;
        let bytes = u64::from(length);
        let carried = self.runs.iter().position(|run| run.bytes > 0 && run.end == offset);
        let at = carried.unwrap_or_else(|| {
            let oldest = (0..RUNS).min_by_key(|at| self.runs[*at].touched).unwrap_or(0);
            self.runs[oldest].bytes = 0;
            oldest
        });
        let run = &mut self.runs[at];
        run.end = offset.saturating_add(bytes);
        run.bytes = run.bytes.saturating_add(bytes);
        run.touched = self.clock;
        run.bytes
    }
}
