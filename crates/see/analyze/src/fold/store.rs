use trace::TraceError;
use trace::store::{Columns, Store, StorePart};

use super::work::{Fold, Settings};

impl Fold {
    /// Folds all complete parts of a store on several threads. The number of threads does not
    /// change the result. A thread reads consecutive parts, so that there are few borders to merge.
    ///
    /// # Errors
    ///
    /// If a part cannot be read.
    pub fn of_store(
        store: &Store,
        settings: &Settings,
        threads: usize,
    ) -> Result<Self, TraceError> {
        let parts = store.parts();
        let each = parts.len().div_ceil(threads).max(1);
        let runs: Vec<&[StorePart]> = parts.chunks(each).collect();
        let folds = parallel::map(&runs, threads, |parts| of_parts(parts, settings));
        let mut whole = Self::new(settings);
        for fold in folds {
            whole.merge(fold?);
        }
        Ok(whole)
    }
}

fn of_parts(parts: &[StorePart], settings: &Settings) -> Result<Fold, TraceError> {
    let mut fold = Fold::new(settings);
    for part in parts {
        fold.read(&mut part.source(Columns::ALL))?;
    }
    Ok(fold)
}
