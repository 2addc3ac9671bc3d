//! The figures of `/metrics`, pushed by OTLP/HTTP with JSON (OpenTelemetry protocol 1.x).
//!
//! Written out rather than made with the `opentelemetry` crates: what is pushed is ten gauges in
//! one document, and they would bring a gRPC library for its types and an HTTP client besides.
//! Only `http://`: for a collector elsewhere there is one beside the program, as is usual.

mod document;
mod settings;
mod transport;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::SystemTime;

use crate::provider::Provider;
pub use settings::{Settings, SettingsError};

/// Nice value: telling comes after measuring.
const PRIORITY: i32 = 5;

/// Pushes figures on a thread of its own until it is dropped, at once and then again and again.
/// Dropping it does not wait for a push that is under way.
#[derive(Debug)]
pub struct Pusher(#[expect(dead_code, reason = "the thread ends when it is dropped")] Sender<()>);

impl Pusher {
    /// Starts pushing what a provider knows. `tell` hears why a push failed, once for as long
    /// as they fail, and why, if that changes.
    pub fn start(
        settings: Settings,
        provider: Arc<dyn Provider>,
        tell: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, ended) = channel();
        std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
            let mut told = None;
            loop {
                let failed = push(&settings, provider.as_ref()).err();
                if let Some(reason) =
                    failed.as_ref().filter(|reason| told.as_ref() != Some(*reason))
                {
                    tell(reason);
                }
                told = failed;
                if ended.recv_timeout(settings.interval) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        })?;
        Ok(Self(sender))
    }
}

fn push(settings: &Settings, provider: &dyn Provider) -> Result<(), String> {
    let runs = provider.current().map_err(|error| error.to_string())?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let body = document::of(&runs, &settings.service, now);
    transport::post(settings, body.to_string().as_bytes())
        .map_err(|error| format!("pushing figures to {}: {error}", settings.endpoint))
}
