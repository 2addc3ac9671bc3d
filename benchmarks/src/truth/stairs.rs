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
/// Delays added to each read and write, in ms. Flushes are not delayed: a loop device carries out
/// one flush at a time and lets nothing pass it, so that with slow flushes it would answer only one
/// request at a time.
const DELAYS_MS: [u32; 7] = [10, 20, 30, 45, 65, 90, 130];
/// Reads and writes per second; providers of storage do not count flushes.
const RATES: [u32; 8] = [1200, 900, 680, 510, 380, 290, 220, 160];

/// Delay of requests on a stair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Fast,
    Delay(u32),
    Rate(u32),
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
    pub(super) fn after(begin: Duration) -> Self {
        let kinds = std::iter::once(Kind::Fast)
            .chain(DELAYS_MS.map(Kind::Delay))
            .chain([Kind::Fast])
            .chain(RATES.map(Kind::Rate));
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
            let what = match stair.kind {
                Kind::Fast => continue,
                Kind::Delay(ms) => format!("by = \"{ms}ms\""),
                Kind::Rate(rate) => format!("at-most = \"{rate}/s\""),
            };
            let span = (stair.until - stair.from).as_secs();
            let _ = writeln!(
                text,
                "[[fault]]\nkind = \"delay\"\non = [\"read\", \"write\"]\n{what}\nfrom = \"{}s\"\nfor = \"{span}s\"\n",
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
            Self::Rate(rate) => f.pad(&format!("{rate} IOPS")),
        }
    }
}
