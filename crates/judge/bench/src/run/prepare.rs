use std::path::PathBuf;

use datastore::{Datastore, Target, Warning};
use jiff::Timestamp;
use run_store::run::{LoadHost, Prefill};
use run_store::rundir::RunId;
use units::Bytes;

use crate::error::BenchError;
use crate::fleet::{DiskNeed, StepOrder, fleet};
use crate::plan::{ResolvedPlan, with_traces};
use crate::progress::{Control, Observer};
use crate::rig::RealRig;
use crate::run::climber::fill;
use crate::run::second::{self, Second};
use crate::run::{RunOptions, TileLoad, datastore_options, reuse};

/// Disks that were filled and are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Identifier with which a later run selects them.
    pub run_id: String,
    /// Path of the sub-directory, file or device that holds them; with several hosts, the path on
    /// the first host.
    pub path: PathBuf,
    /// Description of the target in one line.
    pub target_summary: String,
    /// Hosts that created them, with the paths, if not only this host did.
    pub hosts: Vec<LoadHost>,
    /// Number of tiles.
    pub tiles: u32,
    /// Number of virtual machines in all tiles.
    pub vms: u32,
    /// Number of virtual disks in all tiles.
    pub disks: usize,
    /// Total size of all disks.
    pub bytes: Bytes,
    /// Figures of the prefill; `None` if the tile has no disk.
    pub prefill: Option<Prefill>,
    /// True if a later run can use them without filling. Only a directory keeps a record of its
    /// disks; on other targets they are filled again.
    pub can_be_reused: bool,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

/// Creates and fills the disks for as many tiles as the plan's last step has, and keeps them.
///
/// With [`RunOptions::reuse`], adds missing disks to the disks of an earlier run.
/// [`RunOptions::keep`] has no effect.
///
/// # Errors
///
/// The plan is a search, does not fit, or the target is refused; or filling fails or is
/// interrupted. Then nothing remains on the target. An exception is disks that were added to an
/// earlier run: all of these remain, and a disk that is not completely filled is filled when it is
/// used.
pub fn prepare(
    plan: &ResolvedPlan,
    options: &RunOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Prepared, BenchError> {
    let Some((_, tiles)) = plan.climb.range() else {
        return Err(BenchError::PrepareSearch);
    };
    let plan = &*with_traces(plan)?;
    let options = &reuse::resolved(plan, options)?;
    let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
        .map_err(|source| BenchError::Random { source })?;
    let target: Target = plan.datastore.parse().map_err(BenchError::Target)?;
    let load = TileLoad::of(plan)?;
    let needed = load.needed_first(tiles);
    let second = Second::of(plan, options, (&target, &load, tiles), id.as_str())?;
    let store_options = datastore_options(plan, options, id.as_str());
    datastore::preflight(&target, needed, &store_options)?;
    second.as_ref().map_or(Ok(()), Second::preflight)?;
    let disks: Vec<DiskNeed> =
        fleet(plan, StepOrder::whole(plan, tiles, 0))?.disks().cloned().collect();
    let store = Datastore::open(&target, needed, &store_options)?;
    let (store, other) = second::open(second.as_ref(), store)?;
    let mut prepared = Prepared {
        run_id: options.reuse.as_ref().map_or_else(|| id.to_string(), ToString::to_string),
        path: store.path().to_owned(),
        target_summary: second::both(&store, other.as_ref()),
        hosts: Vec::new(),
        tiles,
        vms: load.vms.saturating_mul(tiles),
        disks: disks.len(),
        bytes: disks.iter().map(|disk| disk.size).sum(),
        prefill: None,
        can_be_reused: target.facts().remembers_disks,
        warnings: Vec::new(),
    };
    let state = options.base.join(format!("{id}.verify"));
    // Until all disks are filled, only those of an earlier run are kept.
    let second_state = options.base.join(format!("{id}.verify-second"));
    let mut rig = RealRig::new(store, plan, options.reuse.is_some(), state)?
        .with_second(other, second_state)?;
    rig.check_operations(plan)?;
    prepared.prefill = fill(&mut rig, &disks, control, observer)?.map(|done| done.document());
    prepared.warnings = rig.datastore().warnings().to_vec();
    rig.keep();
    Ok(prepared)
}
