//! Larger disks of a quick search, and reasons against making disks larger.

use std::fmt;

use crate::plan::ResolvedPlan;
use crate::tile_load::TileLoad;

/// Reason why disks keep the size from the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Blocks are verified, and the verification state belongs to the disks.
    Verified,
    /// The disks of an earlier run are used.
    Reused,
    /// Some disks are on a second datastore.
    Second,
    /// Disks are reached through a tier, which holds their data.
    Tier,
    /// Infrastructure operations use the disks of the search.
    Operations,
    /// Several hosts drive the load.
    Hosts,
    /// The storage cannot recreate its disks during a run.
    Rig,
    /// The edge was not bracketed before the search ended.
    Open,
    /// The remaining time is too short to fill larger disks and measure with them.
    Time,
    /// Larger disks do not fit for the number of tiles that failed.
    Room,
    /// The speed of filling is unknown.
    Speed,
    /// Larger disks were created, but no step with them had a result.
    Undecided,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verified => "verified disks cannot be made again",
            Self::Reused => "the disks of an earlier run are used",
            Self::Second => "the run has a second datastore",
            Self::Tier => "they are reached through a tier",
            Self::Operations => "infrastructure operations use them",
            Self::Hosts => "several hosts drive the load",
            Self::Rig => "this storage keeps its disks until the run ends",
            Self::Open => "the search ended before the edge was known",
            Self::Time => "the time left does not suffice for larger disks",
            Self::Room => "larger disks do not fit",
            Self::Speed => "the fill rate of larger disks is unknown",
            Self::Undecided => "no step with larger disks was conclusive",
        })
    }
}

/// A plan with larger disks, and limits of its ladder.
#[derive(Debug, Clone)]
pub struct Larger {
    pub plan: ResolvedPlan,
    pub load: TileLoad,
    /// Maximum number of tiles with such disks that fit.
    pub fits: u32,
}
