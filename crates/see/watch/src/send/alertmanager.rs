//! Sends alarms to Alertmanager, which requires active alarms to be sent repeatedly.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http_client::Address;
use rustix::time::{ClockId, clock_gettime};

use super::document::{Alert, seconds};
use super::receiver::{Reports, Timing};
use super::trouble::{Problem, SendError};
use crate::{Alarm, Change, End};

/// Path of the API below the path of the server.
const PATH: &str = "/api/v2/alerts";
/// Maximum number of alerts in one request.
const ALERTS_MAX: usize = 200;
/// Maximum number of ended alarms that wait for a server that does not answer.
const ENDED_MAX: usize = 1_000;
/// Number of sending periods after which an active alert ends if it is not sent again. Prometheus
/// uses the same number (`rules.Manager`, resend delay).
const PERIODS: u64 = 4;

/// Sends the state of the alarms to a server repeatedly.
#[derive(Debug)]
pub(crate) struct Alertmanager {
    shared: Arc<Shared>,
    reports: Reports,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    active: Vec<Alarm>,
    /// Ended alarms that were not delivered to the server yet.
    ended: VecDeque<(Alarm, End)>,
    lost: u64,
    is_changed: bool,
    is_ending: bool,
    has_ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Alertmanager {
    /// Starts the thread of a server.
    pub fn start(
        address: Address,
        host: &str,
        timing: Timing,
        reports: Reports,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let worker = Worker {
            path: address.path().trim_end_matches('/').to_owned() + PATH,
            address,
            host: host.to_owned(),
            timing,
            reports: reports.clone(),
            shared: Arc::clone(&shared),
        };
        std::thread::Builder::new().name("alarms".to_owned()).spawn(move || worker.run())?;
        Ok(Self { shared, reports })
    }

    /// Replaces the active alarms, and adds the ended ones.
    pub fn tell(&self, changes: &[Change], active: &[Alarm]) {
        let mut state = self.shared.state();
        // After a restart alarms are active without having begun.
        state.is_changed |= !changes.is_empty() || state.active.len() != active.len();
        state.active = active.to_vec();
        let ended = changes.iter().filter_map(|own| Some((own.alarm.clone(), own.end?)));
        state.ended.extend(ended);
        let mut lost = 0;
        while state.ended.len() > ENDED_MAX {
            state.ended.pop_front();
            lost += 1;
        }
        state.lost += lost;
        let told = (lost > 0).then_some(state.lost);
        drop(state);
        self.shared.changed.notify_all();
        if let Some(lost) = told {
            self.reports.tell(Problem::Full { lost });
        }
    }

    /// Sends the last changes, until a time, and then gives up. Active alarms are not ended,
    /// because the storage is no better when nobody watches it.
    pub fn finish(self, until: Instant) {
        let mut state = self.shared.state();
        state.is_ending = true;
        self.shared.changed.notify_all();
        while !state.has_ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let open = state.ended.len() as u64;
        drop(state);
        if open > 0 {
            self.reports.tell(Problem::Unsent(open));
        }
    }
}

struct Worker {
    address: Address,
    path: String,
    host: String,
    timing: Timing,
    reports: Reports,
    shared: Arc<Shared>,
}

impl Worker {
    fn run(&self) {
        let mut is_failing = false;
        let mut pause = self.timing.period;
        loop {
            let (active, ended, is_last) = self.next(pause, is_failing);
            match self.send(&active, &ended) {
                Ok(()) => {
                    // Only this thread takes from the front, but for those that were too many.
                    let mut state = self.shared.state();
                    state.ended.retain(|own| !ended.contains(own));
                    drop(state);
                    if std::mem::take(&mut is_failing) {
                        self.reports.tell(Problem::Works);
                    }
                    pause = self.timing.period;
                }
                Err(error) => {
                    pause = if is_failing { pause * 2 } else { self.timing.pause };
                    pause = pause.min(self.timing.period);
                    if !std::mem::replace(&mut is_failing, true) {
                        self.reports.tell(Problem::Failing(error));
                    }
                }
            }
            if is_last {
                break;
            }
        }
        self.shared.state().has_ended = true;
        self.shared.changed.notify_all();
    }

    /// Waits for a change or the end of a pause. While the server does not answer, only the end of
    /// the pause counts, so that changes do not make attempts more frequent.
    fn next(&self, pause: Duration, is_failing: bool) -> (Vec<Alarm>, Vec<(Alarm, End)>, bool) {
        let is_waiting = |state: &mut State| !state.is_ending && (is_failing || !state.is_changed);
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, pause, is_waiting);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.is_changed = false;
        (state.active.clone(), state.ended.iter().cloned().collect(), state.is_ending)
    }

    fn send(&self, active: &[Alarm], ended: &[(Alarm, End)]) -> Result<(), SendError> {
        let now_s = u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0);
        let period_s = seconds(self.timing.period.into()).max(1);
        let until_s = now_s + PERIODS * period_s;
        let mut alerts: Vec<Alert> =
            active.iter().map(|alarm| Alert::new(&self.host, alarm, until_s)).collect();
        for (alarm, end) in ended {
            let alert = Alert::new(&self.host, alarm, end.at_s.min(now_s));
            // An alarm that began again is not over.
            if !alerts.iter().any(|own| own.has_labels_of(&alert)) {
                alerts.push(alert);
            }
        }
        for part in alerts.chunks(ALERTS_MAX) {
            let body = serde_json::to_vec(part).expect("texts");
            self.address.post(&self.path, &body, self.timing.patience)?;
        }
        Ok(())
    }
}
