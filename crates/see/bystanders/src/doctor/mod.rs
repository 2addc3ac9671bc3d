//! Checks whether this host is fit for measuring. Reads `/proc` and `/sys`, changes nothing.
//!
//! Every finding has the value seen, the value's effect on a measurement, and a hint. An unreadable
//! value is reported as unknown, never as good.

mod checks;

use std::time::Duration;

use run_store::run::Disturbance;
use schemars::JsonSchema;
use serde::Serialize;

use crate::HostWatch;
use crate::disturbance::WindowSums;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good value.
    Good,
    /// Unreadable value.
    Unknown,
    /// Value that makes results vary more than necessary.
    Noise,
    /// Value that changes the meaning of results.
    Harmful,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable identifier of the check.
    pub id: &'static str,
    /// Severity of the finding.
    pub severity: Severity,
    /// The value seen, with its unit.
    pub found: String,
    /// Effect on a measurement; empty when good.
    pub why: String,
    /// Hint; empty when good.
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

/// Directory that contains `proc` and `sys`; tests use a directory of their own.
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

/// Samples the host for a moment, and compares other work with the bounds of a run. Values beyond
/// these bounds make a run inconclusive.
pub fn watch(time: Duration) -> Vec<Finding> {
    const ID: &str = "other-work";
    let mut watch = HostWatch::default();
    let seen = watch.look().and_then(|()| {
        std::thread::sleep(time);
        watch.look()
    });
    if seen.is_err() {
        return vec![Finding::unknown(ID, "load of other processes")];
    }
    let found = WindowSums::of(watch.seconds(), watch.device()).disturbances(0.0);
    if found.is_empty() && watch.seconds().iter().any(|second| second.hides_bytes) {
        let what = "nothing else uses processors; I/O of other users' processes";
        return vec![Finding::unknown(ID, what)];
    }
    if found.is_empty() {
        return vec![Finding::good(ID, "nothing else uses processors or storage noticeably")];
    }
    let finding = |disturbance: Disturbance| {
        let why = "steps that break a limit beside it are inconclusive";
        let try_next = "stop it, or wait for its end, then measure";
        Finding::harmful(ID, disturbance.to_string(), why, try_next)
    };
    found.into_iter().map(finding).collect()
}

/// Returns finding and hint for programs that need io_uring, after a refusal.
pub fn without_ring(root: &Root, refusal: &str) -> Finding {
    checks::io_uring(root, Some(refusal))
}

/// Examines the host; `refusal` is the kernel's answer if a trial of io_uring was refused.
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
