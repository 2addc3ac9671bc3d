use datastore::{Examination, Preflight, Refusal, Target};
use run_store::run::ServedOver;
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::plan::{ResolvedPlan, with_traces};
use crate::run::document::summary;
use crate::run::over::facts_of_export;
use crate::run::second::Second;
use crate::run::{
    CheckedOver, RunOptions, TileLoad, datastore_options, first_step, first_step_fits,
    ladder_words, reuse, step_time, with_room,
};
use crate::step::runner::step_at_most;

/// Preview of a run, made without writing anything.
#[derive(Debug)]
pub struct Preview {
    /// Result of examining the target.
    pub preflight: Preflight,
    /// All rules that refuse the target, the first one first; empty if the target may be used.
    pub refusals: Vec<Refusal>,
    /// Result of examining the second datastore, with its refusals.
    pub second: Option<Examination>,
    /// Programs of the storage protocol of `--over`; `None` for local files.
    pub over: Option<ServedOver>,
    /// Description of the target in one line.
    pub target_summary: String,
    /// Outline of the plan on this target.
    pub outline: Outline,
}

/// Outline of a plan on a target with known capacity.
#[derive(Debug)]
pub struct Outline {
    /// Size of the disks in one tile, after scaling.
    pub bytes_per_tile: Bytes,
    /// Number of VMs in one tile.
    pub vms_per_tile: u32,
    /// Maximum number of tiles that the ladder can reach; `None` if not even its first step fits.
    pub tiles_max: Option<u32>,
    /// Maximum number of bytes written, if the ladder reaches its top and every disk is filled
    /// completely.
    pub bytes_at_most: Bytes,
    /// Strategy of the ladder, in words.
    pub ladder: String,
    /// Minimum and maximum duration of one run of a step.
    pub step_time: (Nanos, Nanos),
    /// Maximum duration of all runs of one step.
    pub step_at_most: Nanos,
    /// Time by which every step must have ended; `None` if unlimited.
    pub budget: Option<Nanos>,
    /// Resolved plan, as it would be stored.
    pub plan: String,
}

impl Preview {
    /// Returns the refusals of the first datastore, then those of the second.
    pub fn all_refusals(&self) -> impl Iterator<Item = &Refusal> {
        self.refusals.iter().chain(self.second.iter().flat_map(|own| &own.refusals))
    }
}

/// Previews a run of this plan: what it would write where, and its duration. Only reads.
pub fn plan_preview(plan: &ResolvedPlan, options: &RunOptions) -> Result<Preview, BenchError> {
    let plan = &*with_traces(plan)?;
    let options = &reuse::resolved(plan, options)?;
    let target: Target = plan.datastore.parse().map_err(BenchError::Target)?;
    let store_options = datastore_options(plan, options, "preview");
    let plan = &*with_room(plan, &target, &store_options)?;
    let load = TileLoad::of(plan)?;
    let needed = load.needed_first(first_step(plan));
    let examination = datastore::examine(&target, needed, &store_options);
    let second = Second::of(plan, options, (&target, &load, first_step(plan)), "preview")?;
    let shares = second.as_ref().is_some_and(Second::shares);
    let second = second.as_ref().map(Second::examine);
    let over = CheckedOver::of(plan, options, &target)?;
    let capacity = Bytes::new(examination.preflight.capacity_bytes);
    let beside = second.as_ref().map(|own| Bytes::new(own.preflight.capacity_bytes));
    let fits = load.fits(capacity, beside.filter(|_| !shares));
    Ok(Preview {
        target_summary: summary(&examination.preflight),
        preflight: examination.preflight,
        refusals: examination.refusals,
        second,
        over: match &options.export {
            Some(export) => Some(facts_of_export(export)),
            None => over.as_ref().map(CheckedOver::facts),
        },
        outline: outline(plan, &load, (fits, capacity))?,
    })
}

/// Returns the outline of a plan on a target with room for this many tiles and bytes.
pub fn outline(
    plan: &ResolvedPlan,
    load: &TileLoad,
    (fits, room): (u32, Bytes),
) -> Result<Outline, BenchError> {
    let fits = first_step_fits(plan, *load, fits, room).ok().map(|()| fits);
    let tiles_max = fits.map(|fits| load.tiles_max(plan.settings.ladder.tiles_max, fits));
    let top = match plan.climb.range() {
        None => tiles_max,
        Some((_, last)) => tiles_max.map(|most| most.min(last)),
    };
    Ok(Outline {
        bytes_per_tile: load.bytes,
        vms_per_tile: load.vms,
        tiles_max: top,
        bytes_at_most: load.needed(top.unwrap_or(0)),
        ladder: ladder_words(plan),
        step_time: (plan.warm_up_min.saturating_add(plan.duration), step_at_most(plan)),
        step_at_most: step_time(plan),
        budget: plan.method.budget,
        plan: plan.to_toml()?,
    })
}
