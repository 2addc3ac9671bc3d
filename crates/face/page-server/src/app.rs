use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::listen::Access;
use crate::live::Hub;
use crate::problem::{Kind, Problem};
use crate::provider::{Provider, ProviderError};

/// Maximum number of requests that are answered at the same time; others wait.
const WORKERS: usize = 2;
/// Longest time that a request waits for a free place among the [`WORKERS`].
const PATIENCE: Duration = Duration::from_secs(10);

/// State shared by all requests.
pub struct App {
    pub(crate) access: Access,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) hub: Hub,
    turns: Arc<Semaphore>,
    begun: Instant,
    /// Time of the last visitor's request, in milliseconds after `begun` plus one; 0 means none.
    seen: AtomicU64,
    watching: AtomicUsize,
}

impl App {
    pub(crate) fn new(access: Access, provider: Arc<dyn Provider>) -> Self {
        Self {
            access,
            hub: Hub::new(Arc::clone(&provider)),
            provider,
            turns: Arc::new(Semaphore::new(WORKERS)),
            begun: Instant::now(),
            seen: AtomicU64::new(0),
            watching: AtomicUsize::new(0),
        }
    }

    /// Records a visit. Requests of programs that collect metrics do not count.
    pub(crate) fn note(&self, path: &str) {
        if path != "/metrics" && path != "/healthz" {
            let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.seen.store(now.saturating_add(1), Ordering::Relaxed);
        }
    }

    /// Returns the time since the last visit: zero while a visitor watches, `None` if there was no
    /// visit.
    pub(crate) fn idle(&self) -> Option<Duration> {
        if self.is_watched() {
            return Some(Duration::ZERO);
        }
        let seen = self.seen.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.begun.elapsed().saturating_sub(Duration::from_millis(seen)))
    }

    /// Returns true while a visitor watches a run.
    pub(crate) fn is_watched(&self) -> bool {
        self.watching.load(Ordering::Relaxed) > 0
    }

    /// Counts a watching visitor until the result is dropped.
    pub(crate) fn watch(self: &Arc<Self>) -> Watching {
        self.watching.fetch_add(1, Ordering::Relaxed);
        Watching(Arc::clone(self))
    }

    /// Calls the provider on a blocking thread.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Provider) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Problem::new(
                Kind::Busy,
                "the server is busy with other requests; try again",
            ));
        };
        let provider = Arc::clone(&self.provider);
        let answer = tokio::task::spawn_blocking(move || {
            let answer = question(provider.as_ref());
            drop(turn);
            answer
        });
        match answer.await {
            Ok(answer) => answer.map_err(Problem::from),
            Err(_) => Err(Problem::new(
                Kind::Internal,
                "the request could not be answered; this is a bug",
            )),
        }
    }
}

/// Counts one visitor that watches a run, until dropped.
pub struct Watching(Arc<App>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.watching.fetch_sub(1, Ordering::Relaxed);
        self.0.note("/live");
    }
}
