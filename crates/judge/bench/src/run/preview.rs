use datastore::{Examination, Preflight, Refusal, Target};
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::plan::{ResolvedPlan, with_traces};
use crate::run::document::summary;
use crate::run::second::Second;
use crate::run::{
    RunOptions, TileLoad, datastore_options, first_step, first_step_fits, ladder_words, reuse,
    step_time, with_room,
};
use crate::step::runner::step_at_most;

/// What a run would do. Nothing was written to find out.
#[derive(Debug)]
pub struct Preview {
    /// What was checked about the target.
    pub preflight: Preflight,
    /// Every rule that refuses the target, the first one first; empty if it may be used.
    pub refusals: Vec<Refusal>,
    /// What was checked about the second datastore, and what refuses it.
    pub second: Option<Examination>,
    /// One line about the target a person recognises.
    pub target_summary: String,
    /// What the plan does there.
    pub outline: Outline,
}

/// What a plan does where there is so much room.
#[derive(Debug)]
pub struct Outline {
    /// Bytes of disks in one tile, after scaling.
    pub bytes_per_tile: Bytes,
    /// VMs in one tile.
    pub vms_per_tile: u32,
    /// Most tiles the ladder can reach; nothing if not even its first step fits.
    pub tiles_max: Option<u32>,
    /// Bytes written if the ladder reaches its top, and every byte of every disk is filled.
    pub bytes_at_most: Bytes,
    /// What the ladder does, in words.
    pub ladder: String,
    /// How long one run of a step takes at least and at most.
    pub step_time: (Nanos, Nanos),
    /// How long all runs of one step take at most.
    pub step_at_most: Nanos,
    /// The ladder begins no step that would end later than this; nothing: no bound.
    pub budget: Option<Nanos>,
    /// The resolved plan, as it would be stored.
    pub plan: String,
}

impl Preview {
    /// What refuses the first datastore, then what refuses the second.
    pub fn all_refusals(&self) -> impl Iterator<Item = &Refusal> {
        self.refusals.iter().chain(self.second.iter().flat_map(|own| &own.refusals))
    }
}

/// What a run of this plan would write where, and how long it would take. Reads only.
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
    let capacity = Bytes::new(examination.preflight.capacity_bytes);
    let beside = second.as_ref().map(|own| Bytes::new(own.preflight.capacity_bytes));
    let fits = load.fits(capacity, beside.filter(|_| !shares));
    Ok(Preview {
        target_summary: summary(&examination.preflight),
        preflight: examination.preflight,
        refusals: examination.refusals,
        second,
        outline: outline(plan, &load, (fits, capacity))?,
    })
}

/// What a plan does where disks of so many tiles fit into so much room.
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
