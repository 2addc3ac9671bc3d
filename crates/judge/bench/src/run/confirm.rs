//! Larger disks in a quick search, after the edge is roughly known.
//!
//! With small disks a search reaches the edge in minutes, but caches hold a larger share of them
//! than of real ones. So the search stops when twice the held number of tiles is too many. Then
//! disks are recreated, as large as space and time allow, and the edge is searched again from the
//! held number. Both results are reported. If that is impossible, disks keep their size, and the
//! reason is reported: see [`Reason`].

use std::cell::OnceCell;

use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::ladder::{Ladder, LadderOptions};
use crate::plan::{ResolvedPlan, ladder_options};
use crate::rig::Rig;
use crate::run::climber::Climber;
use crate::run::larger::{Larger, Reason};
use crate::run::{RunOptions, is_open};
use crate::tile_load::TileLoad;

/// Divisor of the remaining time: filling larger disks may take one half, because the steps after
/// it need the other half. Our choice.
const FILL_SHARE: u64 = 2;
/// Minimum number of steps that must fit into the time after the fill: one at each end of the edge.
/// Our choice.
const STEPS_LEAST: u64 = 2;

/// Returns the reason that prevents a run from ever making its disks larger. `None` if there is
/// none, and also for a run whose disk size was requested.
pub fn obstacle(plan: &ResolvedPlan, options: &RunOptions) -> Option<Reason> {
    let found = [
        (plan.settings.engine.verify, Reason::Verified),
        (options.reuse.is_some(), Reason::Reused),
        (plan.settings.second.is_some(), Reason::Second),
        (options.through.is_some(), Reason::Tier),
        (plan.settings.operations.is_some(), Reason::Operations),
        (!plan.settings.hosts.members.is_empty(), Reason::Hosts),
    ];
    found.into_iter().find(|(is_so, _)| *is_so).map(|(_, reason)| reason)
}

/// Observations so far, from which the size is chosen.
#[derive(Debug, Clone, Copy)]
pub struct SizeEvidence {
    /// Smallest number of tiles that failed.
    pub failed: u32,
    /// Time until the run must end.
    pub left: Nanos,
    /// Mean duration of a step of the search.
    pub step: Nanos,
    /// Speed of the first write of disks, in bytes per second.
    pub fill_bytes_per_s: f64,
}

/// Doubles the size of the disks as long as the disks of `seen.failed` tiles fit, and can be filled
/// in half of the remaining time.
///
/// # Errors
///
/// A tile cannot be built at such a scale.
pub fn larger(
    plan: &ResolvedPlan,
    seen: SizeEvidence,
    fits: impl Fn(&TileLoad) -> u32,
) -> Result<Result<Larger, Reason>, BenchError> {
    let for_fill = Nanos(seen.left.0 / FILL_SHARE);
    if seen.left.saturating_sub(for_fill) < Nanos(seen.step.0.saturating_mul(STEPS_LEAST)) {
        return Ok(Err(Reason::Time));
    }
    if seen.fill_bytes_per_s <= 0.0 {
        return Ok(Err(Reason::Speed));
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
    let seconds = for_fill.0 as f64 / 1e9;
    let mut found = Err(Reason::Room);
    let mut next = plan.clone();
    while next.footprint < 1.0 {
        next.footprint = (next.footprint * 2.0).min(1.0);
        let load = TileLoad::of(&next)?;
        let (fits, needed) = (fits(&load), load.needed(seen.failed));
        let stop = match (fits < seen.failed, is_slow(needed, seen.fill_bytes_per_s, seconds)) {
            (true, _) => Reason::Room,
            (_, true) => Reason::Time,
            _ => {
                found = Ok(Larger { plan: next.clone(), load, fits });
                continue;
            }
        };
        return Ok(found.or(Err(stop)));
    }
    Ok(found)
}

fn is_slow(bytes: Bytes, per_s: f64, seconds: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "a share of time needs no full precision")]
    let bytes = bytes.get() as f64;
    bytes / per_s > seconds
}

/// Climbs the ladder. A quick search that may make its disks larger does so during the climb. The
/// returned ladder is then the ladder with the larger disks.
pub fn climb<'a, R: Rig>(
    climber: &mut Climber<'a, R>,
    ladder: &mut Ladder,
    plan: &'a ResolvedPlan,
    grown: &'a OnceCell<Larger>,
) -> Result<(), BenchError> {
    if !is_open(plan) || plan.footprint >= 1.0 {
        return ladder.climb(climber);
    }
    if let Some(reason) = climber.obstacle() {
        climber.keep_size(reason);
        return ladder.climb(climber);
    }
    ladder.climb_until(climber, |ladder| ladder.bracket().is_some())?;
    let Some((held, failed)) = ladder.bracket() else {
        climber.keep_size(Reason::Open);
        return Ok(());
    };
    let left = climber.time_left(plan.method.budget.unwrap_or(Nanos(u64::MAX)));
    let step = ladder.mean_step().unwrap_or_default();
    let seen = SizeEvidence { failed, left, step, fill_bytes_per_s: climber.fill_bytes_per_s() };
    let larger = match larger(plan, seen, |load| climber.tiles_that_fit(load))? {
        Ok(larger) => larger,
        Err(reason) => {
            climber.keep_size(reason);
            return ladder.climb(climber);
        }
    };
    if !climber.renew_disks()? {
        climber.keep_size(Reason::Rig);
        return ladder.climb(climber);
    }
    let larger = grown.get_or_init(|| larger);
    let tiles_max = larger.load.tiles_max(larger.plan.settings.ladder.tiles_max, larger.fits);
    let options = ladder_options(&larger.plan, tiles_max, climber.can_rest());
    let options = LadderOptions { first: held, budget: options.budget.map(|_| left), ..options };
    climber.confirm(larger, std::mem::replace(ladder, Ladder::new(options)), (held, failed))?;
    ladder.climb(climber)
}
