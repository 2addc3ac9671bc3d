use std::borrow::Cow;

use bench::BenchError;
use bench::fleet::{StepOrder, fleet};
use bench::plan::ResolvedPlan;
use bench::progress::{Control, Observer};
use bench::rig::Rig;
use bench::run::{End, FinishedRun, Prepared, RunOptions, TileLoad, fill, run_over};
use cluster::Invitation;
use datastore::{Target, Warning};
use jiff::Timestamp;
use run_store::rundir::RunId;

use crate::controller::Controller;
use crate::options::{Options, Sharing};
use crate::rig::{Cleared, HostsRig};

/// Stored run over hosts, which holds the hosts until they are released.
#[derive(Debug)]
pub struct HostsRun {
    /// Result of the run.
    pub finished: FinishedRun,
    rig: HostsRig,
}

impl HostsRun {
    /// Removes from every host the objects that were created there, unless they are to be kept.
    pub fn clear(&mut self) -> Cleared {
        let is_evidence = matches!(
            self.finished.end,
            End::Failed(BenchError::Mismatch(_) | BenchError::Check(_))
        );
        self.rig.clear(is_evidence)
    }

    /// Releases the hosts.
    pub fn into_finished(self) -> FinishedRun {
        self.finished
    }
}

/// Runs a plan over hosts.
///
/// # Errors
///
/// If it cannot begin: hosts cannot be reached, do not see the same storage, or a host refuses the
/// target. Later errors are in the [`FinishedRun`].
pub fn run(
    plan: &ResolvedPlan,
    run_options: &RunOptions,
    options: &Options,
    control: &Control,
    observer: &mut dyn Observer,
    tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
) -> Result<HostsRun, BenchError> {
    let power = bench::run::meters(plan)?;
    let Open { plan, options, rig, id } = open(plan, run_options, options, control, tell)?;
    let mut rig = rig.with_power(power);
    let site = rig.site(&plan, id);
    let finished = run_over(&plan, site, &options, &mut rig, control, observer)?;
    Ok(HostsRun { finished, rig })
}

/// Creates and fills the disks for as many tiles as the plan's last step has, each on its host, and
/// keeps them. With [`RunOptions::reuse`] it adds missing disks to the disks of an earlier run.
///
/// # Errors
///
/// As of [`run`], if the plan is a search, and if filling fails or is interrupted. Then all new
/// files are removed, except for files that were added to an earlier run's disks.
pub fn prepare(
    plan: &ResolvedPlan,
    run_options: &RunOptions,
    options: &Options,
    control: &Control,
    observer: &mut dyn Observer,
    tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
) -> Result<Prepared, BenchError> {
    let Some((_, tiles)) = plan.climb.range() else {
        return Err(BenchError::PrepareSearch);
    };
    if options.sharing == Sharing::Local && !target(plan)?.facts().remembers_disks {
        return refused(
            "only directories keep disks for another run",
            "name a directory: dir:PATH",
        );
    }
    let keep = RunOptions { keep: run_options.reuse.is_some(), ..run_options.clone() };
    let Open { plan, options, mut rig, id } = open(plan, &keep, options, control, tell)?;
    let load = TileLoad::of(&plan)?;
    let disks: Vec<_> = fleet(&plan, StepOrder::whole(&plan, tiles, 0))?.disks().cloned().collect();
    let fits = rig.tiles_that_fit(&load);
    if tiles > fits {
        return Err(BenchError::HostsRefused {
            what: format!(
                "{tiles} tiles do not fit: there is room for {fits} of {} each",
                load.bytes
            ),
            hint: "prepare fewer tiles, or smaller ones with --footprint",
        });
    }
    let filled = fill(&mut rig, &disks, control, observer)?;
    rig.keep()?;
    let run_id = options.reuse.map_or_else(|| id.to_string(), |reuse| reuse.to_string());
    let site = rig.site(&plan, id);
    let place = site.hosts.first().map(|host| host.path.clone().into());
    Ok(Prepared {
        run_id,
        path: place.unwrap_or_default(),
        target_summary: site.target.summary,
        hosts: site.hosts,
        tiles,
        vms: load.vms.saturating_mul(tiles),
        disks: disks.len(),
        bytes: disks.iter().map(|disk| disk.size).sum(),
        prefill: filled.map(|done| done.document()),
        can_be_reused: true,
        warnings: site.warnings.into_iter().map(plain).collect(),
    })
}

fn plain(of: run_store::run::Warning) -> Warning {
    Warning { id: of.id, text: of.text }
}

/// Hosts that have opened the target.
struct Open<'a> {
    plan: Cow<'a, ResolvedPlan>,
    options: RunOptions,
    rig: HostsRig,
    id: RunId,
}

fn open<'a>(
    plan: &'a ResolvedPlan,
    run_options: &RunOptions,
    options: &Options,
    control: &Control,
    tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
) -> Result<Open<'a>, BenchError> {
    if !plan.tile_set.operations.is_empty() {
        return refused(
            "infrastructure operations run on one host only: they take turns, and hosts cannot \
             agree on turns",
            "leave out --operations, or leave out --host",
        );
    }
    if plan.settings.second.is_some() {
        return refused(
            "a second datastore is for operations, which run on one host",
            "leave out --second",
        );
    }
    if plan.tile_set.workloads.iter().any(|(workload, _)| workload.replay.is_some()) {
        return refused(
            "a tile that plays a trace runs on one host only, because the trace is a local file",
            "leave out --host, or fit a workload to the trace (tilemark analyze TRACE \
             --to-workload FILE), which can run on several hosts",
        );
    }
    let remembers = target(plan)?.facts().remembers_disks;
    if options.sharing == Sharing::Shared && !remembers {
        return refused(
            "hosts that share a file or a device would overwrite each other's data",
            "name a directory, or use --storage local if each host has its own storage",
        );
    }
    if run_options.reuse.is_some() && !remembers {
        return refused(
            "--reuse needs a directory: other datastores do not keep disks for reuse",
            "leave out --reuse",
        );
    }
    if options.sharing == Sharing::Local && plan.may_move() {
        return refused(
            "events that move tiles, and restart, need storage that all hosts see: with --storage \
             local, a tile's disks stay on their host",
            "leave out --storage local, or remove events and restart from the plan",
        );
    }
    let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
        .map_err(|source| BenchError::Random { source })?;
    let mut controller =
        Controller::gather(id.as_str(), options, &run_options.tool, control, tell)?;
    let run_options = controller.reusing(plan, run_options, &id)?;
    let room = controller.room(plan, &run_options, &id)?;
    let plan = bench::run::fitted(plan, room)?;
    let rig = HostsRig::open(&plan, &run_options, &id, controller)?;
    Ok(Open { plan, options: run_options, rig, id })
}

fn target(plan: &ResolvedPlan) -> Result<Target, BenchError> {
    plan.datastore.parse().map_err(BenchError::Target)
}

pub(crate) fn refused<T>(what: &str, hint: &'static str) -> Result<T, BenchError> {
    Err(BenchError::HostsRefused { what: what.to_owned(), hint })
}
