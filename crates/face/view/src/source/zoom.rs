use std::sync::{Arc, Mutex, PoisonError};

use run_store::rollup::Rollup;
use run_store::rundir::StoredRun;
use units::Nanos;

use super::watched::Watched;

/// Maximum number of series rows that a zoom reads, so that a view is answered in time.
const ROWS_MAX: u64 = 60_000;
/// Number of windows that are kept, because a page requests many views of one window.
const KEPT: usize = 6;

/// Begin and end on the axis of a run.
type Window = (Nanos, Nanos);

/// Window with its rollup; `None` if the window has no finer buckets.
type Zoom = (Window, Option<Arc<Rollup>>);

/// The most recently used windows.
#[derive(Debug, Default)]
pub(super) struct Zooms(Mutex<Vec<Zoom>>);

impl Zooms {
    /// Returns the rollup of a window of a stored run in finer buckets. `None` if the series cannot
    /// be read; the run's own rollup is then used.
    pub fn of_run(
        &self,
        whole: &Rollup,
        stored: &StoredRun,
        window: Window,
    ) -> Option<Arc<Rollup>> {
        self.get(window, || whole.zoomed(stored, window, ROWS_MAX).ok().flatten())
    }

    /// Returns the rollup of a window of a watched host in finer buckets, if the store has finer
    /// slices.
    pub fn of_watched(
        &self,
        whole: &Rollup,
        store: &Watched,
        window: Window,
    ) -> Option<Arc<Rollup>> {
        self.get(window, || store.zoomed(whole, window).ok().flatten())
    }

    fn get(&self, window: Window, read: impl FnOnce() -> Option<Rollup>) -> Option<Arc<Rollup>> {
        // The lock is held during the read, so that concurrent views read a window only once.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().find(|(known, _)| *known == window) {
            return known.clone();
        }
        let found = read().map(Arc::new);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((window, found.clone()));
        found
    }
}
