//! Stairs of a lab: spans of time in which every request is slower than before.

use std::fmt::Write;
use std::time::Duration;

/// Time on a fast disk, at the begin and between both kinds of stairs, so that waiting requests are
/// completed.
const FAST: Duration = Duration::from_secs(40);
const STAIR: Duration = Duration::from_secs(20);
/// Begin of each stair that is not judged, because the stair takes effect on the load only after a
/// while.
pub(super) const SETTLING: Duration = Duration::from_secs(5);
/// Delays, in ms. Flushes are not delayed: a loop device carries out one flush at a time and lets
/// nothing pass it, so that with slow flushes it would answer only one request at a time.
const DELAYS_MS: [u32; 7] = [10, 20, 30, 45, 65, 90, 130];
/// Reads and writes per second; providers of storage do not count flushes.
const RATES: [u32; 8] = [1200, 900, 680, 510, 380, 290, 220, 160];

/// Stairs of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// Reads and writes alike: more latency, then fewer per second.
    Alike,
    /// More latency of one direction: first reads, then writes.
    Apart,
}

/// Delay of requests on a stair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Fast,
    Delay(u32),
    Rate(u32),
    ReadDelay(u32),
    WriteDelay(u32),
}

impl Kind {
    /// Returns true for stairs of one kind, which differ only in their height.
    pub(super) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// A stair, in time since the mount.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stair {
    pub kind: Kind,
    pub from: Duration,
    pub until: Duration,
}

/// All stairs of a walk.
#[derive(Debug)]
pub(super) struct Stairs {
    all: Vec<Stair>,
}

impl Stairs {
    /// Returns stairs that begin when the load must have begun.
    pub(super) fn after(begin: Duration, set: Set) -> Self {
        let (first, second) = match set {
            Set::Alike => (DELAYS_MS.map(Kind::Delay), RATES.map(Kind::Rate).to_vec()),
            Set::Apart => {
                (DELAYS_MS.map(Kind::ReadDelay), DELAYS_MS.map(Kind::WriteDelay).to_vec())
            }
        };
        let kinds = std::iter::once(Kind::Fast).chain(first).chain([Kind::Fast]).chain(second);
        let mut from = begin;
        let all = kinds
            .map(|kind| {
                let until = from + if kind == Kind::Fast { FAST } else { STAIR };
                let stair = Stair { kind, from, until };
                from = until;
                stair
            })
            .collect();
        Self { all }
    }

    pub(super) fn all(&self) -> &[Stair] {
        &self.all
    }

    pub(super) fn end(&self) -> Duration {
        self.all.last().map_or(Duration::ZERO, |stair| stair.until)
    }

    pub(super) fn fast_until(&self) -> Duration {
        self.all.first().map_or(Duration::ZERO, |stair| stair.until)
    }

    /// Returns the schedule of faults for the lab.
    pub(super) fn schedule(&self) -> String {
        let mut text = String::new();
        for stair in &self.all {
            const BOTH: &str = r#""read", "write""#;
            let (on, what) = match stair.kind {
                Kind::Fast => continue,
                Kind::Delay(ms) => (BOTH, format!("by = \"{ms}ms\"")),
                Kind::ReadDelay(ms) => (r#""read""#, format!("by = \"{ms}ms\"")),
                Kind::WriteDelay(ms) => (r#""write""#, format!("by = \"{ms}ms\"")),
                Kind::Rate(rate) => (BOTH, format!("at-most = \"{rate}/s\"")),
            };
            let span = (stair.until - stair.from).as_secs();
            let _ = writeln!(
                text,
                "[[fault]]\nkind = \"delay\"\non = [{on}]\n{what}\nfrom = \"{}s\"\nfor = \"{span}s\"\n",
                stair.from.as_secs()
            );
        }
        text
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fast => f.pad("fast"),
            Self::Delay(ms) => f.pad(&format!("+{ms} ms")),
            Self::ReadDelay(ms) => f.pad(&format!("reads +{ms} ms")),
            Self::WriteDelay(ms) => f.pad(&format!("writes +{ms} ms")),
            Self::Rate(rate) => f.pad(&format!("{rate} IOPS")),
        }
    }
}
