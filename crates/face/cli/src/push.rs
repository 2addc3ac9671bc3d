//! Pushes metrics while something is served, if the environment names an endpoint.

use std::sync::Arc;

use page_server::Library;
use page_server::otlp::{Pusher, Settings};

/// Pushes until dropped, and once more at the end; the last push may take at most two seconds.
#[derive(Debug)]
pub struct Pushing {
    _pusher: Option<Pusher>,
}

impl Pushing {
    /// Starts to push, if an endpoint is named. A failed push never ends the program.
    pub fn begin(library: &Arc<Library>) -> Self {
        let settings = Settings::from_variables(|name| std::env::var(name).ok());
        let settings = settings.unwrap_or_else(|error| {
            crate::say!("metrics are not pushed: {error}");
            None
        });
        let tell = |reason: &str| crate::say!("{reason}");
        let pusher = settings.and_then(|settings| {
            Pusher::start(settings, library.clone(), tell)
                .inspect_err(|error| crate::say!("metrics are not pushed: {error}"))
                .ok()
        });
        Self { _pusher: pusher }
    }
}
