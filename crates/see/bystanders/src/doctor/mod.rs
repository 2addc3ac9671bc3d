//! Why is this machine not fit for measuring? Reads `/proc` and `/sys`, changes nothing.
//!
//! Every finding carries the value seen, what it does to a measurement and what to try.
//! A value that cannot be read is reported as unknown, never as good.

mod checks;

use std::time::Duration;

use run_store::run::Disturbance;
use schemars::JsonSchema;
use serde::Serialize;

use crate::HostWatch;
use crate::disturbance::Seen;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As it should be.
    Good,
    /// Could not be read.
    Unknown,
    /// Results vary more than they need to.
    Noise,
    /// Results mean something else than they seem to.
    Harmful,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable identifier.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The value seen, with its unit.
    pub found: String,
    /// What it does to a measurement; empty when good.
    pub why: String,
    /// What to try; empty when good.
    pub try_next: String,
}

impl Finding {
    fn good(id: &'static str, found: impl Into<String>) -> Self {
        Self {
            id,
            severity: Severity::Good,
            found: found.into(),
            why: String::new(),
            try_next: String::new(),
        }
    }

    fn unknown(id: &'static str, what: &str) -> Self {
        Self {
            severity: Severity::Unknown,
            ..Self::good(id, format!("{what} cannot be read here"))
        }
    }

    fn noise(id: &'static str, found: String, why: &str, try_next: &str) -> Self {
        Self {
            id,
            severity: Severity::Noise,
            found,
            why: why.to_owned(),
            try_next: try_next.to_owned(),
        }
    }

    fn harmful(id: &'static str, found: String, why: &str, try_next: &str) -> Self {
        Self { severity: Severity::Harmful, ..Self::noise(id, found, why, try_next) }
    }
}

/// Where the files of `/proc` and `/sys` are read from; tests use a directory of their own.
#[derive(Debug, Clone)]
pub struct Root(pub std::path::PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self("/".into())
    }
}

impl Root {
    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(path)).ok().map(|text| text.trim().to_owned())
    }
}

/// Watches the machine for a moment, and holds what others do against the bounds by which a run
/// excuses its steps: what is harmful here makes a run inconclusive.
pub fn watch(time: Duration) -> Vec<Finding> {
    const ID: &str = "other-work";
    let mut watch = HostWatch::default();
    let seen = watch.look().and_then(|()| {
        std::thread::sleep(time);
        watch.look()
    });
    if seen.is_err() {
        return vec![Finding::unknown(ID, "what other processes do")];
    }
    let found = Seen::of(watch.seconds(), watch.device()).disturbances(0.0);
    if found.is_empty() && watch.seconds().iter().any(|second| second.hides_bytes) {
        let what = "nothing else uses processors; what other users' processes do to storage";
        return vec![Finding::unknown(ID, what)];
    }
    if found.is_empty() {
        return vec![Finding::good(ID, "nothing else uses processors or storage to speak of")];
    }
    let finding = |disturbance: Disturbance| {
        let why = "steps that break a limit beside it are inconclusive";
        let try_next = "end it, or wait for it, then measure";
        Finding::harmful(ID, disturbance.to_string(), why, try_next)
    };
    found.into_iter().map(finding).collect()
}

/// Advice where io_uring was refused, for programs that cannot do without: what was found, and the way out.
pub fn without_ring(root: &Root, refusal: &str) -> Finding {
    checks::io_uring(root, Some(refusal))
}

/// Looks at the machine; `refusal` is the kernel's answer to trying io_uring, if it was refused.
pub fn examine(root: &Root, refusal: Option<&str>) -> Vec<Finding> {
    vec![
        checks::governor(root),
        checks::load(root),
        checks::steal(root),
        checks::pressure(root),
        checks::memory(root),
        checks::swap(root),
        checks::clock_source(root),
        checks::io_uring(root, refusal),
        checks::virtualised(root),
        checks::cgroup_cpu(root),
    ]
}
