use std::sync::{Arc, Mutex, PoisonError};

use run_store::rollup::Rollup;
use run_store::rundir::StoredRun;
use units::Nanos;

/// Most rows of the series that a zoom reads, so that a view stays within its time.
const ROWS_MAX: u64 = 60_000;
/// Number of windows that are kept, because a page requests many views of one window.
const KEPT: usize = 6;

/// A window and its rollup; `None` if it has no finer buckets.
type Zoom = ((Nanos, Nanos), Option<Arc<Rollup>>);

/// Windows that were used last.
#[derive(Debug, Default)]
pub(super) struct Zooms(Mutex<Vec<Zoom>>);

impl Zooms {
    /// Rollup of a window of a stored run in finer buckets. `None` if the series cannot be read:
    /// then the run's own rollup answers.
    pub fn get(
        &self,
        rollup: &Rollup,
        stored: &StoredRun,
        window: (Nanos, Nanos),
    ) -> Option<Arc<Rollup>> {
        // The lock is held during the read, so that concurrent views read a window only once.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().find(|(known, _)| *known == window) {
            return known.clone();
        }
        let found = rollup.zoomed(stored, window, ROWS_MAX).ok().flatten().map(Arc::new);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((window, found.clone()));
        found
    }
}
