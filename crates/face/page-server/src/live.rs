//! Publishes live states of a run to all watchers. Each state is read once a second, whatever the
//! number of watchers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use run_store::rundir::RunId;
use tokio::sync::watch;
use view::document::{LivePhase, LiveState};

use crate::provider::{Provider, ProviderError};

/// Interval of reading a run's state.
const PERIOD: Duration = Duration::from_secs(1);

/// State sent to watchers.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveUpdate {
    /// No state yet.
    Nothing,
    /// State as JSON.
    State(Arc<str>),
    /// End of the run, with the last state if there was one.
    End(Option<Arc<str>>),
}

/// Publisher of states, one task for each watched run.
pub struct Hub {
    provider: Arc<dyn Provider>,
    tellers: Mutex<HashMap<RunId, watch::Receiver<LiveUpdate>>>,
    wake: watch::Sender<()>,
}

impl Hub {
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider, tellers: Mutex::default(), wake: watch::Sender::new(()) }
    }

    /// Subscribes to the states of a run. A slow reader misses states but always gets the newest;
    /// no states are queued for it.
    pub fn subscribe(&self, run: &RunId) -> watch::Receiver<LiveUpdate> {
        let mut tellers = self.tellers.lock().unwrap_or_else(PoisonError::into_inner);
        tellers.retain(|_, told| told.has_changed().is_ok());
        if let Some(told) = tellers.get(run) {
            return told.clone();
        }
        let (sender, told) = watch::channel(LiveUpdate::Nothing);
        let teller = Teller {
            provider: Arc::clone(&self.provider),
            run: run.clone(),
            sender,
            wake: self.wake.subscribe(),
        };
        tokio::spawn(teller.tell());
        tellers.insert(run.clone(), told.clone());
        told
    }

    /// Reads every watched run now.
    pub fn wake(&self) {
        let _ = self.wake.send(());
    }
}

struct Teller {
    provider: Arc<dyn Provider>,
    run: RunId,
    sender: watch::Sender<LiveUpdate>,
    wake: watch::Receiver<()>,
}

impl Teller {
    /// Publishes until the run has ended, or until the hub's own receiver is the only one left.
    async fn tell(mut self) {
        let mut last = None;
        loop {
            match self.look().await {
                Ok(Some(state)) => {
                    let is_over = state.phase == LivePhase::Ended;
                    let text: Arc<str> = serde_json::to_string(&state).unwrap_or_default().into();
                    last = Some(Arc::clone(&text));
                    if is_over {
                        break;
                    }
                    self.sender.send_replace(LiveUpdate::State(text));
                }
                Ok(None) => break,
                // The state may be readable a second later.
                Err(_) => {}
            }
            if self.sender.receiver_count() <= 1 {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                woken = self.wake.changed() => if woken.is_err() { return },
            }
        }
        self.sender.send_replace(LiveUpdate::End(last));
    }

    async fn look(&self) -> Result<Option<LiveState>, ProviderError> {
        let (provider, run) = (Arc::clone(&self.provider), self.run.clone());
        let looked = tokio::task::spawn_blocking(move || provider.live(&run)).await;
        looked.unwrap_or_else(|error| Err(ProviderError::Unreadable(error.to_string())))
    }
}
