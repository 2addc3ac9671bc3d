use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use datastore::{DiskRequest, KeptRun, OwnerState, Target};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::BenchError;
use crate::fleet::{StepOrder, fleet};
use crate::plan::ResolvedPlan;
use crate::run::{RunOptions, first_step};

/// Whose disks are used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reuse {
    /// Of the run that was made last among those that have ended and left disks that fit.
    Latest,
    /// Of this run.
    Run(String),
}

impl FromStr for Reuse {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "latest" { Self::Latest } else { Self::Run(text.to_owned()) })
    }
}

impl fmt::Display for Reuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latest => "latest",
            Self::Run(run_id) => run_id,
        })
    }
}

/// A run that left disks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// By which name it is asked for: of several hosts, without the host.
    pub run_id: String,
    /// When it was made.
    pub created: Timestamp,
    /// Bytes that its disks hold here.
    pub held: u64,
}

/// The part of a run that one place holds: all of it, or that of one host.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// What its run ids end with here.
    pub suffix: &'a str,
    /// Its tiles (from 0) of those that are certain to be visited; nothing for all.
    pub tiles: Option<&'a [u32]>,
}

/// Runs that have ended and left disks here that fit; of one that is named, that one. Reads only.
///
/// Whether such a run may be taken over is for the datastore to say, and so is everything about
/// targets that are no directories: they remember no disks.
///
/// # Errors
///
/// When the target cannot be read, or the run that is named has disks of other sizes.
pub fn kept(plan: &ResolvedPlan, reuse: &Reuse, part: Part<'_>) -> Result<Vec<Kept>, BenchError> {
    let target: Target = plan.datastore.value.parse().map_err(BenchError::Target)?;
    let wanted = wanted(plan, part)?;
    let mut fitting = Vec::new();
    for kept in datastore::find_kept(&target)? {
        let Some(run_id) = kept.owned.run_id.strip_suffix(part.suffix) else { continue };
        let misfit = other_size(&kept, &wanted);
        let fits = match reuse {
            Reuse::Run(named) => named == run_id && misfit.map_or(Ok(true), Err)?,
            Reuse::Latest => misfit.is_none() && has_ended(&kept) && wanted.begins_with(&kept),
        };
        if let Ok(created) = kept.owned.created.parse::<Timestamp>()
            && fits
        {
            let held = kept.owned.bytes.get();
            fitting.push(Kept { run_id: run_id.to_owned(), created, held });
        }
    }
    Ok(fitting)
}

/// The options with a run instead of "the latest". Reads only.
///
/// Whether that run may be taken over is for the datastore to say, and so is everything about
/// targets that are no directories: they remember no disks.
pub(super) fn resolved(
    plan: &ResolvedPlan,
    options: &RunOptions,
) -> Result<RunOptions, BenchError> {
    let target: Target = plan.datastore.value.parse().map_err(BenchError::Target)?;
    let Some(reuse) = options.reuse.as_ref().filter(|_| target.facts().remembers_disks) else {
        return Ok(options.clone());
    };
    let all = kept(plan, reuse, Part { suffix: "", tiles: None })?;
    let run_id = match reuse {
        Reuse::Run(run_id) => run_id.clone(),
        Reuse::Latest => match all.into_iter().max_by_key(|kept| kept.created) {
            Some(newest) => newest.run_id,
            None => return Err(nothing(plan, datastore::find_kept(&target)?.len())),
        },
    };
    Ok(RunOptions { reuse: Some(Reuse::Run(run_id)), ..options.clone() })
}

/// That no run left disks that fit.
pub fn nothing(plan: &ResolvedPlan, looked_at: usize) -> BenchError {
    let (datastore, tiles) = (plan.datastore.value.clone(), first_step(plan));
    BenchError::NothingToReuse { datastore, tiles, looked_at }
}

/// The disks of its first tile, and of all tiles that are certain to be visited.
struct Wanted {
    first_tile: Vec<DiskRequest>,
    all: Vec<DiskRequest>,
}

impl Wanted {
    fn begins_with(&self, kept: &KeptRun) -> bool {
        self.first_tile.iter().all(|disk| kept.disks.contains(disk))
    }
}

fn wanted(plan: &ResolvedPlan, part: Part<'_>) -> Result<Wanted, BenchError> {
    let tiles = plan.climb.value.range().map_or_else(|| first_step(plan), |(_, last)| last);
    let is_own = |tile: Option<u32>| match (part.tiles, tile) {
        (Some(own), Some(tile)) => own.contains(&tile),
        (Some(_), None) => false,
        (None, _) => true,
    };
    let disks = |tiles| -> Result<Vec<DiskRequest>, BenchError> {
        let all = fleet(plan, StepOrder::whole(plan, tiles, 0))?;
        // Those of the second datastore are looked for there when it is taken over.
        let own = all.disks().filter(|disk| disk.on.is_first() && is_own(disk.tile));
        Ok(own.map(|disk| DiskRequest { name: disk.name.clone(), size: disk.size }).collect())
    };
    let first = part.tiles.map_or(1, |own| own.iter().min().map_or(0, |tile| tile + 1));
    Ok(Wanted { first_tile: disks(first)?, all: disks(tiles)? })
}

fn has_ended(kept: &KeptRun) -> bool {
    // One of this process is told from one in use by its lock, when it is taken over.
    matches!(kept.owned.state, OwnerState::Dead | OwnerState::This)
}

fn other_size(kept: &KeptRun, wanted: &Wanted) -> Option<BenchError> {
    wanted.all.iter().find_map(|asked| {
        let found = kept.disks.iter().find(|found| found.name == asked.name)?;
        (found.size != asked.size).then(|| BenchError::ReuseSize {
            run_id: kept.owned.run_id.clone(),
            disk: asked.name.clone(),
            has: found.size,
            asked: asked.size,
        })
    })
}
