//! Raises the limit on open files: every virtual disk in a directory is one, so a long ladder needs
//! many.

use bench::ladder::Climb;
use bench::plan::ResolvedPlan;
use datastore::Target;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::exit::Exit;
use crate::failure::Failure;

/// Allowance for files other than disks: rings, results, libraries. About 30 are needed; our
/// choice.
const OTHERS: u64 = 64;

/// Raises the soft limit on open files to the hard limit, and returns the new limit.
///
/// The soft limit is low only for programs that use `select(2)` (see `getrlimit(2)` and systemd's
/// notes on `RLIMIT_NOFILE`); this program does not.
pub fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let granted = setrlimit(Resource::Nofile, raised).map_or(limit.current, |()| limit.maximum);
    granted.unwrap_or(u64::MAX)
}

/// Refuses a ladder of steps that would run out of open files.
pub fn check(plan: &ResolvedPlan, allowed: u64) -> Result<(), Failure> {
    let target: Option<Target> = plan.datastore.parse().ok();
    let is_file_per_disk = target.is_some_and(|target| target.facts().is_file_per_disk);
    let Some(tiles) = most_tiles(plan).filter(|_| is_file_per_disk) else { return Ok(()) };
    let needed = u64::from(tiles) * disks_per_tile(plan) + OTHERS;
    if needed <= allowed {
        return Ok(());
    }
    let message = format!(
        "{} need {needed} open files, one for each virtual disk and {OTHERS} more, but this \
         process may open only {allowed}",
        crate::text::count(u64::from(tiles), "tile"),
    );
    let hint = format!("raise the hard limit: ulimit -Hn {needed}; or use fewer tiles");
    Err(Failure::new(Exit::Refused, message).hint(Some(hint)))
}

/// Returns the largest number of tiles that the plan asks for; `None` if only the datastore limits
/// it.
fn most_tiles(plan: &ResolvedPlan) -> Option<u32> {
    match plan.climb {
        Climb::Range { last, .. } | Climb::Every { last, .. } => Some(last),
        Climb::Search | Climb::Bisect => plan.settings.ladder.tiles_max,
    }
}

fn disks_per_tile(plan: &ResolvedPlan) -> u64 {
    let disks = |workload: &spec::workload::Workload| {
        workload.vms.iter().map(|vm| vm.disks.len() as u64).sum::<u64>()
    };
    plan.tile_set
        .workloads
        .iter()
        .map(|(workload, copies)| disks(workload) * u64::from(*copies))
        .sum()
}
