//! The figures of `/metrics`, pushed by OTLP/HTTP with JSON (OpenTelemetry protocol 1.x).
//!
//! Written out rather than made with the `opentelemetry` crates: what is pushed is gauges in one
//! document, and they would bring a gRPC library for its types and an HTTP client besides.
//! Only `http://`: for a collector elsewhere there is one beside the program, as is usual.

mod address;
mod document;
mod settings;
mod transport;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

use crate::ProviderError;
use crate::provider::Provider;
pub use settings::{Settings, SettingsError};

/// Nice value: telling comes after measuring.
const PRIORITY: i32 = 5;

/// How long the end waits for the last figures to be pushed.
const LAST_WITHIN: Duration = Duration::from_secs(2);

/// Pushes figures on a thread of its own, at once and then again and again, until it is dropped:
/// then once more, so that a collector has what a run ended with. Dropping waits for that, two
/// seconds at most; what hangs longer is left behind.
#[derive(Debug)]
pub struct Pusher {
    /// The thread ends when it is gone.
    going_on: Option<Sender<()>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Pusher {
    /// Starts pushing what a provider knows. `tell` hears why a push failed, once for as long
    /// as they fail, and why, if that changes.
    pub fn start(
        settings: Settings,
        provider: Arc<dyn Provider>,
        tell: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let (going_on, is_over) = channel();
        let (ending, ended) = channel();
        std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            let _ending = ending;
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
            let mut told = None;
            let mut push = |settings: &Settings| {
                let failed = push(settings, provider.as_ref()).err().map(|error| error.to_string());
                if let Some(reason) =
                    failed.as_ref().filter(|reason| told.as_ref() != Some(*reason))
                {
                    tell(reason);
                }
                told = failed;
            };
            push(&settings);
            while is_over.recv_timeout(settings.interval) == Err(RecvTimeoutError::Timeout) {
                push(&settings);
            }
            let timeout = settings.timeout.min(LAST_WITHIN);
            push(&Settings { timeout, ..settings });
        })?;
        Ok(Self { going_on: Some(going_on), ended })
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        self.going_on.take();
        let _ = self.ended.recv_timeout(LAST_WITHIN);
    }
}

/// Reason why figures are not pushed.
#[derive(Debug, thiserror::Error)]
enum PushError {
    #[error(transparent)]
    Figures(#[from] ProviderError),
    #[error("pushing figures to {endpoint}: {source}")]
    Post { endpoint: String, source: io::Error },
}

fn push(settings: &Settings, provider: &dyn Provider) -> Result<(), PushError> {
    let runs = provider.current()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let body = document::of(&runs, &settings.service, now);
    transport::post(settings, body.to_string().as_bytes())
        .map_err(|source| PushError::Post { endpoint: settings.endpoint.clone(), source })
}
