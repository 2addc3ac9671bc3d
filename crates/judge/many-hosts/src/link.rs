use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bench::BenchError;
use cluster::{ClockOffset, Event, Hub, Name, RemoteError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::under_way::held;

/// Connection to the hosts of a run.
pub(crate) struct Link {
    pub hub: Hub,
    pub events: Mutex<Receiver<Event>>,
    pub members: Vec<Name>,
    pub names: Vec<String>,
    pub lease: Duration,
    /// Hosts that are away in a simulated power loss, each with the end of its absence.
    pub away: Mutex<BTreeMap<usize, Instant>>,
}

/// Maximum uncertainty of a usable clock: a hundredth of a slice. Our choice.
const CLOCK_UNCERTAINTY_MAX: Duration = Duration::from_millis(10);
/// Maximum time for a host to return after a simulated power loss. Our choice.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// Maximum time of requests that need no work.
pub(crate) const SOON: Duration = Duration::from_secs(10);

impl Link {
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Sends a request to a host, and reads its answer.
    pub fn ask<Q: Serialize, A: DeserializeOwned>(
        &self,
        host: usize,
        topic: &str,
        question: &Q,
        within: Duration,
    ) -> Result<A, BenchError> {
        let bytes = self.ask_bytes(host, topic, question, within)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| host_error(&self.names[host], format!("answered {topic}: {error}")))
    }

    /// Sends a request to a host.
    pub fn ask_bytes<Q: Serialize>(
        &self,
        host: usize,
        topic: &str,
        question: &Q,
        within: Duration,
    ) -> Result<Vec<u8>, BenchError> {
        let question = serde_json::to_vec(question).expect("questions are JSON");
        self.ask_raw(host, topic, &question, within)
    }

    fn ask_raw(
        &self,
        host: usize,
        topic: &str,
        question: &[u8],
        within: Duration,
    ) -> Result<Vec<u8>, BenchError> {
        let name = &self.names[host];
        if !self.hub.present().contains(&self.members[host]) {
            return Err(self.lost(name));
        }
        self.hub.ask(&self.members[host], topic, question, within).map_err(|error| match error {
            cluster::ClusterError::Refused { error, .. } => host_error_of(name, error),
            // The hub may learn only later that the host left.
            cluster::ClusterError::Gone { .. } => self.lost(name),
            _ if !self.hub.present().contains(&self.members[host]) => self.lost(name),
            other => host_error(name, other.to_string()),
        })
    }

    /// Sends a binary request to a host, and reads a binary answer.
    pub fn ask_data<Q: Serialize, A: DeserializeOwned>(
        &self,
        host: usize,
        topic: &str,
        question: &Q,
        within: Duration,
    ) -> Result<A, BenchError> {
        let wrong = |error: postcard::Error| {
            host_error(
                &self.names[host],
                format!("the message {topic} cannot be converted: {error}"),
            )
        };
        let question = postcard::to_stdvec(question).map_err(wrong)?;
        let bytes = self.ask_raw(host, topic, &question, within)?;
        postcard::from_bytes(&bytes).map_err(wrong)
    }

    /// Sends requests to several hosts concurrently. Returns the first error in the order of the
    /// hosts.
    pub fn ask_all<Q: Serialize + Sync, A: DeserializeOwned + Send>(
        &self,
        topic: &str,
        questions: &[(usize, Q)],
        within: Duration,
    ) -> Result<Vec<A>, BenchError> {
        std::thread::scope(|scope| {
            let ask = |(host, question): &'_ (usize, Q)| {
                let (host, question) = (*host, question);
                self.ask(host, topic, question, within)
            };
            let asked: Vec<_> = questions.iter().map(|one| scope.spawn(move || ask(one))).collect();
            asked
                .into_iter()
                .map(|one| one.join().expect("the asking thread does not panic"))
                .collect()
        })
    }

    /// Sends a host a notice in the background. A failure is ignored.
    pub fn tell(self: &Arc<Self>, host: usize, topic: &'static str, epoch: u64) {
        let own = Arc::clone(self);
        std::thread::spawn(move || own.ask::<_, ()>(host, topic, &epoch, SOON));
    }

    /// Waits for the next event.
    pub fn event(&self, within: Duration) -> Result<Event, RecvTimeoutError> {
        held(&self.events).recv_timeout(within)
    }

    /// Measures the offset of a host's clock with this many probes.
    pub fn clock(&self, host: usize, probes: u32) -> Result<ClockOffset, BenchError> {
        let found = self.hub.clock(&self.members[host], probes);
        let found = found.map_err(|error| host_error(&self.names[host], error.to_string()))?;
        let (uncertainty, max) = (found.uncertainty(), CLOCK_UNCERTAINTY_MAX);
        if Duration::from_nanos(uncertainty.0) > max {
            let what = format!(
                "its clock is only known within {uncertainty} (limit {} ms): the network path is \
                too slow",
                max.as_millis()
            );
            return Err(host_error(&self.names[host], what));
        }
        Ok(found)
    }

    /// Returns true if a host is present.
    pub fn is_present(&self, host: usize) -> bool {
        self.hub.present().contains(&self.members[host])
    }

    /// Returns true if a host that did not respond is lost. This is known after its lease at the
    /// latest.
    pub fn is_gone(&self, host: usize) -> bool {
        let until = Instant::now() + self.lease * 2;
        while self.is_present(host) {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Waits until hosts are back after a simulated power loss.
    pub fn wait_for_away(&self) -> Result<(), BenchError> {
        let mut away = held(&self.away);
        if let Some(until) = away.values().max() {
            // Until then a host may only seem present.
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        let missing: Vec<Name> = away.keys().map(|host| self.members[*host].clone()).collect();
        if let Some(first) = self.hub.wait_for(&missing, BACK_WITHIN).first() {
            let what = format!("did not come back within {} s", BACK_WITHIN.as_secs());
            return Err(host_error(first.as_str(), what));
        }
        away.clear();
        Ok(())
    }

    /// Returns the error for a lost host.
    pub fn lost(&self, name: &str) -> BenchError {
        let lease = self.lease.as_secs_f64();
        host_error(name, format!("gone: its agent ended, or nothing came from it for {lease} s"))
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("hub", &self.hub).finish_non_exhaustive()
    }
}

pub(crate) fn host_error(host: &str, what: impl Into<String>) -> BenchError {
    BenchError::Host { host: host.to_owned(), what: what.into(), hint: None }
}

/// Converts an error that a host sent.
pub(crate) fn host_error_of(
    host: &str,
    RemoteError { text: what, hint }: RemoteError,
) -> BenchError {
    BenchError::Host { host: host.to_owned(), what, hint }
}

/// Returns the error of a host, with a hint.
pub(crate) fn host_error_with(
    host: &str,
    what: impl Into<String>,
    hint: &'static str,
) -> BenchError {
    BenchError::Host { host: host.to_owned(), what: what.into(), hint: Some(hint.to_owned()) }
}
