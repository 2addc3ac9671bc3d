use std::sync::{Arc, Mutex, PoisonError};

use run_store::rollup::Rollup;
use run_store::rundir::StoredRun;
use units::Nanos;

/// Rows of the series that a zoom reads at most, so that a view stays within its time.
const ROWS_MAX: u64 = 60_000;
/// Windows that are kept: a page asks many views of one.
const KEPT: usize = 6;

/// A window and what was found of it; nothing if it has no finer buckets.
type Zoom = ((Nanos, Nanos), Option<Arc<Rollup>>);

/// The windows that were looked at last.
#[derive(Debug, Default)]
pub(super) struct Zooms(Mutex<Vec<Zoom>>);

impl Zooms {
    /// A window of a stored run in finer buckets. A series that cannot be read has none: the
    /// rollup still answers.
    pub fn get(
        &self,
        rollup: &Rollup,
        stored: &StoredRun,
        window: (Nanos, Nanos),
    ) -> Option<Arc<Rollup>> {
        // Held while it is read, so that views asked for together read it once.
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
