//! Figures that are pushed while something is served, if the environment says where to.

use std::sync::Arc;

use page_server::Library;
use page_server::otlp::{Pusher, Settings};

/// Pushes for as long as it lives, and once more at its end, for which two seconds are waited at most.
#[derive(Debug)]
pub struct Pushing {
    _pusher: Option<Pusher>,
}

impl Pushing {
    /// Begins, if an endpoint is named. A push that fails never ends anything.
    pub fn begin(library: &Arc<Library>) -> Self {
        let settings = Settings::from_variables(|name| std::env::var(name).ok());
        let settings = settings.unwrap_or_else(|error| {
            crate::say!("no figures are pushed: {error}");
            None
        });
        let tell = |reason: &str| crate::say!("{reason}");
        let pusher = settings.and_then(|settings| {
            Pusher::start(settings, library.clone(), tell)
                .inspect_err(|error| crate::say!("no figures are pushed: {error}"))
                .ok()
        });
        Self { _pusher: pusher }
    }
}
