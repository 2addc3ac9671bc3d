use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::trouble::{Problem, Trouble};

/// Maximum number of reports of trouble that wait to be read. Further reports are dropped, but
/// their receiver counts the lost messages.
pub(crate) const TROUBLES_MAX: usize = 64;

/// Times used for sending.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Longest wait for an answer or a program.
    pub patience: Duration,
    /// Pause after the first failure; it doubles with each further failure.
    pub pause: Duration,
    /// Interval at which active alarms are sent to Alertmanager again.
    pub period: Duration,
}

impl Default for Timing {
    /// Returns 10 s for an answer, 1 s after a failure and, as in Prometheus, a minute between
    /// repeated alarms.
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(10),
            pause: Duration::from_secs(1),
            period: Duration::from_secs(60),
        }
    }
}

/// Reports the troubles of a receiver's thread.
#[derive(Debug, Clone)]
pub(crate) struct Reports {
    to: Arc<str>,
    troubles: SyncSender<Trouble>,
}

impl Reports {
    pub fn new(to: String, troubles: SyncSender<Trouble>) -> Self {
        Self { to: to.into(), troubles }
    }

    pub fn tell(&self, problem: Problem) {
        // If nobody takes them, the newest are left out: the first has the reason.
        let _ = self.troubles.try_send(Trouble { to: self.to.to_string(), problem });
    }
}
