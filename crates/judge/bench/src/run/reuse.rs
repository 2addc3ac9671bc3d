use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use datastore::{DiskRequest, KeptRun, OwnerState, Target};
use jiff::Timestamp;
use run_store::rundir::{self, RunDirError};
use serde::{Deserialize, Serialize};

use crate::error::BenchError;
use crate::fleet::{StepOrder, fleet};
use crate::plan::ResolvedPlan;
use crate::run::{RunOptions, first_step};

/// Selection of the run whose disks are reused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reuse {
    /// Position among the ended runs with suitable disks, newest first: 0 is the newest.
    Back(usize),
    /// Run with this identifier, or with an identifier that contains this text unambiguously.
    Run(String),
}

impl FromStr for Reuse {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(rundir::steps_back(text).map_or_else(|| Self::Run(text.to_owned()), Self::Back))
    }
}

impl fmt::Display for Reuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Back(0) => f.write_str(rundir::LATEST),
            Self::Back(back) => write!(f, "{}~{back}", rundir::LATEST),
            Self::Run(run_id) => f.write_str(run_id),
        }
    }
}

/// A run that left disks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusableRun {
    /// Identifier with which it is selected; with several hosts, without the host.
    pub run_id: String,
    /// Time of its creation.
    pub created: Timestamp,
    /// Size of its disks here.
    pub held: u64,
}

/// Part of a run on one host: the whole run, or the part of one of several hosts.
#[derive(Debug, Clone, Copy)]
pub struct RunPart<'a> {
    /// Suffix of run identifiers on this host.
    pub suffix: &'a str,
    /// Tiles (counted from 0) of this host among the tiles that are certain to be visited; `None`
    /// for all.
    pub tiles: Option<&'a [u32]>,
}

impl Reuse {
    /// Returns the identifier of the selected run among the runs that left disks; `None` if there
    /// is none.
    ///
    /// # Errors
    ///
    /// Several identifiers contain the given text.
    pub fn chosen(&self, mut left: Vec<&ReusableRun>) -> Result<Option<String>, BenchError> {
        let found = match self {
            Self::Back(back) => {
                left.sort_by_key(|kept| kept.created);
                left.into_iter().rev().nth(*back)
            }
            Self::Run(named) => {
                if left.iter().any(|kept| kept.run_id.starts_with(named)) {
                    left.retain(|kept| kept.run_id.starts_with(named));
                }
                if left.len() > 1 {
                    let found = left.iter().map(|kept| kept.run_id.clone()).collect();
                    let name = named.clone();
                    return Err(RunDirError::Ambiguous { name, found }.into());
                }
                left.pop()
            }
        };
        Ok(found.map(|kept| kept.run_id.clone()))
    }
}

/// Returns the ended runs that left suitable disks here. For a given text, only the run with that
/// identifier, or the runs whose identifiers contain it. Only reads.
///
/// The datastore decides if such a run may be taken over. It also handles targets that are not
/// directories, which keep no record of disks.
///
/// # Errors
///
/// The target cannot be read, or the selected run has disks of other sizes.
pub fn kept(
    plan: &ResolvedPlan,
    reuse: &Reuse,
    part: RunPart<'_>,
) -> Result<Vec<ReusableRun>, BenchError> {
    let target: Target = plan.datastore.parse().map_err(BenchError::Target)?;
    let wanted = wanted(plan, part)?;
    let all = datastore::find_kept(&target)?;
    let of_run = all.iter().filter_map(|kept| {
        let run_id = kept.owned.run_id.strip_suffix(part.suffix)?;
        let created = kept.owned.created.parse().ok()?;
        let held = kept.owned.bytes.get();
        Some((kept, ReusableRun { run_id: run_id.to_owned(), created, held }))
    });
    let mut found: Vec<(&KeptRun, ReusableRun)> = of_run.collect();
    match reuse {
        Reuse::Back(_) => found.retain(|(kept, _)| {
            other_size(kept, &wanted).is_none() && has_ended(kept) && wanted.begins_with(kept)
        }),
        Reuse::Run(named) => {
            found.retain(|(_, own)| !named.is_empty() && own.run_id.contains(named));
            if found.iter().any(|(_, own)| own.run_id == *named) {
                found.retain(|(_, own)| own.run_id == *named);
            }
            // Ambiguity is reported first: a misfit of another run does not matter here.
            if let [(only, _)] = found.as_slice() {
                other_size(only, &wanted).map_or(Ok(()), Err)?;
            }
        }
    }
    Ok(found.into_iter().map(|(_, own)| own).collect())
}

/// Returns the options with `latest`, or a part of an identifier, replaced by the identifier of a
/// run. Only reads.
///
/// The datastore decides if that run may be taken over. It also handles targets that are not
/// directories, which keep no record of disks.
pub(super) fn resolved(
    plan: &ResolvedPlan,
    options: &RunOptions,
) -> Result<RunOptions, BenchError> {
    let target: Target = plan.datastore.parse().map_err(BenchError::Target)?;
    let Some(reuse) = options.reuse.as_ref().filter(|_| target.facts().remembers_disks) else {
        return Ok(options.clone());
    };
    let all = kept(plan, reuse, RunPart { suffix: "", tiles: None })?;
    let run_id = match (reuse.chosen(all.iter().collect())?, reuse) {
        (Some(run_id), _) => run_id,
        (None, Reuse::Run(named)) => named.clone(),
        (None, Reuse::Back(_)) => {
            return Err(nothing(plan, reuse, datastore::find_kept(&target)?.len()));
        }
    };
    Ok(RunOptions { reuse: Some(Reuse::Run(run_id)), ..options.clone() })
}

/// Returns the error for a selection to which no run with suitable disks belongs.
pub fn nothing(plan: &ResolvedPlan, reuse: &Reuse, looked_at: usize) -> BenchError {
    let (datastore, tiles) = (plan.datastore.clone(), first_step(plan));
    let reuse = reuse.to_string();
    BenchError::NothingToReuse { reuse, datastore, tiles, looked_at }
}

/// Disks of the first tile, and of all tiles that are certain to be visited.
struct RequestedDisks {
    first_tile: Vec<DiskRequest>,
    all: Vec<DiskRequest>,
}

impl RequestedDisks {
    fn begins_with(&self, kept: &KeptRun) -> bool {
        self.first_tile.iter().all(|disk| kept.disks.contains(disk))
    }
}

fn wanted(plan: &ResolvedPlan, part: RunPart<'_>) -> Result<RequestedDisks, BenchError> {
    let tiles = plan.climb.range().map_or_else(|| first_step(plan), |(_, last)| last);
    let is_own = |tile: Option<u32>| match (part.tiles, tile) {
        (Some(own), Some(tile)) => own.contains(&tile),
        (Some(_), None) => false,
        (None, _) => true,
    };
    let disks = |tiles| -> Result<Vec<DiskRequest>, BenchError> {
        let all = fleet(plan, StepOrder::whole(plan, tiles, 0))?;
        // Disks of the second datastore are checked there when it is taken over.
        let own = all.disks().filter(|disk| disk.on.is_first() && is_own(disk.tile));
        Ok(own.map(|disk| DiskRequest { name: disk.name.clone(), size: disk.size }).collect())
    };
    let first = part.tiles.map_or(1, |own| own.iter().min().map_or(0, |tile| tile + 1));
    Ok(RequestedDisks { first_tile: disks(first)?, all: disks(tiles)? })
}

fn has_ended(kept: &KeptRun) -> bool {
    // The lock tells at the take-over whether a run of this process is still in use.
    matches!(kept.owned.state, OwnerState::Dead | OwnerState::This)
}

fn other_size(kept: &KeptRun, wanted: &RequestedDisks) -> Option<BenchError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> Result<Option<String>, BenchError> {
        let Ok(reuse) = text.parse::<Reuse>();
        let left = |run_id: &str, second: i64| ReusableRun {
            run_id: run_id.to_owned(),
            created: Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(second),
            held: 1,
        };
        let all = [
            left("20261128T080001Z-shop-aaaaaa", 3),
            left("20261128T080002Z-shop-bbbbbb", 1),
            left("20261128T080003Z-mail-shopaa", 2),
        ];
        reuse.chosen(
            all.iter()
                .filter(|kept| match &reuse {
                    Reuse::Run(named) => kept.run_id.contains(named),
                    Reuse::Back(_) => true,
                })
                .collect(),
        )
    }

    #[test]
    fn disks_to_reuse_are_named_as_runs_are() {
        let of = |text| chosen(text).expect("one or none");
        let ids = ["latest", "previous", "latest~2", "latest~3", "bbbb", "nobody"].map(of);
        let ends = ids.map(|id| id.map(|id| id[22..].to_owned()));
        let ends = ends.each_ref().map(Option::as_deref);
        let (first, second) = (Some("aaaaaa"), Some("bbbbbb"));
        assert_eq!(ends, [first, Some("shopaa"), second, None, second, None]);
        let several = chosen("shop").expect_err("three have it");
        assert!(several.to_string().contains("matches 3 runs"), "{several}");
    }
}
