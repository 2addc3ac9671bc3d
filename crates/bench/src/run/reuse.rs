use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use datastore::{DiskRequest, KeptRun, OwnerState, Target};
use jiff::Timestamp;

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
    let kept = datastore::find_kept(&target)?;
    let wanted = wanted(plan)?;
    let run_id = match reuse {
        Reuse::Run(run_id) => {
            let named = kept.iter().find(|kept| kept.owned.run_id == *run_id);
            if let Some(error) = named.and_then(|kept| other_size(kept, &wanted)) {
                return Err(error);
            }
            run_id.clone()
        }
        Reuse::Latest => latest(&kept, &wanted).ok_or_else(|| BenchError::NothingToReuse {
            datastore: plan.datastore.value.clone(),
            tiles: first_step(plan),
            looked_at: kept.len(),
        })?,
    };
    Ok(RunOptions { reuse: Some(Reuse::Run(run_id)), ..options.clone() })
}

/// The disks of the first tile, and of all tiles that are certain to be visited.
struct Wanted {
    first_tile: Vec<DiskRequest>,
    all: Vec<DiskRequest>,
}

fn wanted(plan: &ResolvedPlan) -> Result<Wanted, BenchError> {
    let tiles = plan.climb.value.range().map_or_else(|| first_step(plan), |(_, last)| last);
    let disks = |tiles| -> Result<Vec<DiskRequest>, BenchError> {
        let request = |disk: &crate::fleet::DiskNeed| DiskRequest {
            name: disk.name.clone(),
            size: disk.size,
        };
        Ok(fleet(plan, StepOrder::whole(plan, tiles, 0))?.disks().map(request).collect())
    };
    Ok(Wanted { first_tile: disks(1)?, all: disks(tiles)? })
}

fn latest(kept: &[KeptRun], wanted: &Wanted) -> Option<String> {
    let has_ended = |kept: &&KeptRun| {
        // One of this process is told from one in use by its lock, when it is taken over.
        matches!(kept.owned.state, OwnerState::Dead | OwnerState::This)
    };
    let fits = |kept: &&KeptRun| {
        wanted.first_tile.iter().all(|disk| kept.disks.contains(disk))
            && other_size(kept, wanted).is_none()
    };
    let made = |kept: &&KeptRun| kept.owned.created.parse::<Timestamp>().ok();
    let newest = kept.iter().filter(has_ended).filter(fits).max_by_key(made)?;
    Some(newest.owned.run_id.clone())
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
