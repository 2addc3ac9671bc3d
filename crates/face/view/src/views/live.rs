use std::sync::Arc;

use run_store::rollup::Rollup;
use run_store::run::Run;
use run_store::rundir::StoredRun;

use crate::document::LiveState;
use crate::source::{Source, TraceFacts};
use crate::words;

impl Source {
    /// Opens a run in progress. A state without a sentence gets one.
    pub fn live(
        directory: Option<StoredRun>,
        run: Option<Run>,
        rollup: Arc<Rollup>,
        state: LiveState,
    ) -> Self {
        Self::going_on(directory, run, rollup).told(state)
    }

    /// Opens a recorded trace; it is live if a state is given.
    pub fn trace(trace: TraceFacts, rollup: Arc<Rollup>, live: Option<LiveState>) -> Self {
        let source = Self::of_facts(trace, rollup);
        match live {
            Some(state) => source.told(state),
            None => source,
        }
    }

    fn told(self, mut state: LiveState) -> Self {
        if state.sentence.is_empty() {
            state.sentence = words::live(&self, &state);
        }
        if state.headline.is_empty() {
            state.headline = words::live_headline(&self, &state);
        }
        state.doubts.extend(words::live_doubts(&self));
        self.with_live(state)
    }
}
