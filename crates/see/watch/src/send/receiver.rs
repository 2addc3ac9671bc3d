use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::trouble::{Problem, Trouble};

/// Most troubles that wait to be told; further ones are left out, but counted by their receiver.
pub(crate) const TROUBLES_MAX: usize = 64;

/// Times of sending.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Longest wait for an answer or a program.
    pub patience: Duration,
    /// Pause after the first failure; each further one is twice as long.
    pub pause: Duration,
    /// Time after which Alertmanager is told of active alarms again.
    pub period: Duration,
}

impl Default for Timing {
    /// 10 s for an answer, 1 s after a failure and, as Prometheus does, a minute between two times.
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(10),
            pause: Duration::from_secs(1),
            period: Duration::from_secs(60),
        }
    }
}

/// Way of a receiver's thread to tell its troubles.
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
