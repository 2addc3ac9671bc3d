//! How a run goes, told to everybody who watches it: asked once a second, however many do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use run_store::rundir::RunId;
use tokio::sync::watch;
use view::document::{LivePhase, LiveState};

use crate::provider::{Provider, ProviderError};

/// Between two looks at a run.
const PERIOD: Duration = Duration::from_secs(1);

/// What is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// Nothing yet.
    Nothing,
    /// A state, as JSON.
    State(Arc<str>),
    /// It has ended; the last state, if there was one.
    End(Option<Arc<str>>),
}

/// One teller for each run that is watched.
pub struct Hub {
    provider: Arc<dyn Provider>,
    tellers: Mutex<HashMap<RunId, watch::Receiver<Told>>>,
    wake: watch::Sender<()>,
}

impl Hub {
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider, tellers: Mutex::default(), wake: watch::Sender::new(()) }
    }

    /// What is told about a run from now on. A reader that is slow sees fewer states, and always
    /// the newest; nothing is kept for it.
    pub fn subscribe(&self, run: &RunId) -> watch::Receiver<Told> {
        let mut tellers = self.tellers.lock().unwrap_or_else(PoisonError::into_inner);
        tellers.retain(|_, told| told.has_changed().is_ok());
        if let Some(told) = tellers.get(run) {
            return told.clone();
        }
        let (sender, told) = watch::channel(Told::Nothing);
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

    /// Has every run looked at now.
    pub fn wake(&self) {
        let _ = self.wake.send(());
    }
}

struct Teller {
    provider: Arc<dyn Provider>,
    run: RunId,
    sender: watch::Sender<Told>,
    wake: watch::Receiver<()>,
}

impl Teller {
    /// Until the run has ended, or nobody watches any more (one receiver is the hub's).
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
                    self.sender.send_replace(Told::State(text));
                }
                Ok(None) => break,
                // It may be readable a second later.
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
        self.sender.send_replace(Told::End(last));
    }

    async fn look(&self) -> Result<Option<LiveState>, ProviderError> {
        let (provider, run) = (Arc::clone(&self.provider), self.run.clone());
        let looked = tokio::task::spawn_blocking(move || provider.live(&run)).await;
        looked.unwrap_or_else(|error| Err(ProviderError::Unreadable(error.to_string())))
    }
}
