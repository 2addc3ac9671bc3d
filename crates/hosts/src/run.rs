use bench::BenchError;
use bench::plan::ResolvedPlan;
use bench::progress::{Control, Observer};
use bench::run::{End, FinishedRun, RunOptions, run_over};
use cluster::Invitation;
use datastore::Target;
use jiff::Timestamp;
use record::rundir::RunId;

use crate::controller::{Controller, Options, Sharing};
use crate::rig::{Cleared, HostsRig};

/// A run over hosts that is over and stored, and the hosts until they are let go.
#[derive(Debug)]
pub struct HostsRun {
    /// What it found.
    pub finished: FinishedRun,
    rig: HostsRig,
}

impl HostsRun {
    /// Removes from every host what was made there, unless it is to be kept.
    pub fn clear(&mut self) -> Cleared {
        let is_evidence = matches!(
            self.finished.end,
            End::Failed(BenchError::Mismatch(_) | BenchError::Check(_))
        );
        self.rig.clear(is_evidence)
    }

    /// Lets the hosts go.
    pub fn into_finished(self) -> FinishedRun {
        self.finished
    }
}

/// Runs a plan over hosts.
///
/// # Errors
///
/// When it cannot begin: hosts cannot be had, do not see the same storage, or one of them refuses the
/// target. Once the ladder is begun, whatever ends it is in the [`FinishedRun`].
pub fn run(
    plan: &ResolvedPlan,
    run_options: &RunOptions,
    options: &Options,
    control: &Control,
    observer: &mut dyn Observer,
    tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
) -> Result<HostsRun, BenchError> {
    let refused = |what: &str| Err(BenchError::Hosts(what.to_owned()));
    if plan.tile_set.workloads.iter().any(|(workload, _)| workload.replay.is_some()) {
        return refused("a tile that plays a trace runs on one host: its file is on this one");
    }
    if run_options.reuse.is_some() {
        return refused("--reuse is for one host: over several, every run makes its own disks");
    }
    let target: Target = plan.datastore.value.parse().map_err(BenchError::Target)?;
    if options.sharing == Sharing::Shared && !target.facts().remembers_disks {
        return refused(
            "hosts that share a file or a device would write over one another; name a directory, or \
             say --storage local if each has its own",
        );
    }
    let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
        .map_err(|source| BenchError::Random { source })?;
    let controller = Controller::gather(id.as_str(), options, &run_options.tool, control, tell)?;
    let room = controller.room(plan, run_options, &id)?;
    let plan = &*bench::run::fitted(plan, room)?;
    let mut rig = HostsRig::open(plan, run_options, &id, controller)?;
    let site = rig.site(plan, id);
    let finished = run_over(plan, site, run_options, &mut rig, control, observer)?;
    Ok(HostsRun { finished, rig })
}
