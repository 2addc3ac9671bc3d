//! Figures that are pushed while something is served, if this program was built to do so and the
//! environment says where to.

use std::sync::Arc;

use server::Library;

/// Pushes for as long as it lives, and once more at its end, for which two seconds are waited at most.
#[derive(Debug)]
pub struct Pushing {
    #[cfg(feature = "otlp")]
    _pusher: Option<server::otlp::Pusher>,
}

impl Pushing {
    /// Begins, if an endpoint is named. A push that fails never ends anything.
    #[cfg(feature = "otlp")]
    pub fn begin(library: &Arc<Library>) -> Self {
        use server::otlp::{Pusher, Settings};

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

    /// Nothing, without the feature `otlp`.
    #[cfg(not(feature = "otlp"))]
    pub const fn begin(_: &Arc<Library>) -> Self {
        Self {}
    }
}
