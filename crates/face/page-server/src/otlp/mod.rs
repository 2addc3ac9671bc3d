//! Pushes the metrics of `/metrics` by OTLP/HTTP with JSON (OpenTelemetry protocol 1.x).
//!
//! Written by hand instead of with the `opentelemetry` crates: the push is one document of gauges,
//! and the crates would add a gRPC library and an HTTP client. Only `http://` is supported: a
//! remote collector is usually reached through a local collector.

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

/// Nice value: pushes must not disturb the measurement.
const PRIORITY: i32 = 5;

/// Longest wait at the end for the last push.
const LAST_WITHIN: Duration = Duration::from_secs(2);

/// Pushes metrics on a separate thread: at once, at each interval, and once more when dropped, so
/// that a collector gets the final values. Dropping waits at most two seconds for the last push.
#[derive(Debug)]
pub struct Pusher {
    /// Sender whose drop ends the thread.
    going_on: Option<Sender<()>>,
    /// Receiver that is disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Pusher {
    /// Starts to push a provider's metrics. `tell` gets the reason of a failure once, and again if
    /// the reason changes.
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

/// Reason why metrics are not pushed.
#[derive(Debug, thiserror::Error)]
enum PushError {
    #[error(transparent)]
    Figures(#[from] ProviderError),
    #[error("pushing metrics to {endpoint}: {source}")]
    Post { endpoint: String, source: io::Error },
}

fn push(settings: &Settings, provider: &dyn Provider) -> Result<(), PushError> {
    let runs = provider.current()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let body = document::of(&runs, &settings.service, now);
    transport::post(settings, body.to_string().as_bytes())
        .map_err(|source| PushError::Post { endpoint: settings.endpoint.clone(), source })
}
