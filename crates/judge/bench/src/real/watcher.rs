use run_store::run::ModelFacts;

use crate::plan::ResolvedPlan;
use crate::progress::{Observer, Progress};
use bystanders::HostWatch;

/// Reader of this host's CPU counters, once per slice of a step.
#[derive(Debug, Default)]
pub struct Watcher {
    watch: HostWatch,
    is_blind: bool,
}

impl Observer for Watcher {
    fn event(&mut self, event: &Progress<'_>) {
        let Progress::Tick(tick) = event else { return };
        self.is_blind |= self.watch.look().is_err();
        // The measured time begins where the last slice of the warm-up ended.
        if !tick.is_measured {
            self.watch.restart();
        }
    }
}

impl Watcher {
    /// Returns the CPU figures of the measurement window: this host as a host, and this process as
    /// a VM with one virtual CPU per worker. `None` if the system has no counters.
    pub fn facts(&self, plan: &ResolvedPlan) -> Option<ModelFacts> {
        (!self.is_blind && !self.watch.seconds().is_empty()).then(|| ModelFacts {
            hosts: vec![self.watch.host("this machine")],
            vms: vec![self.watch.vm(&name(plan), plan.workers)],
            ..ModelFacts::default()
        })
    }
}

/// Returns the name of the virtual machine that this process stands for, if the tile has only one.
fn name(plan: &ResolvedPlan) -> String {
    let workloads = plan.tile_set.workloads.iter();
    let vms = workloads.flat_map(|(workload, count)| {
        workload.vms.iter().map(move |vm| (format!("{}/{}", workload.name, vm.name), *count))
    });
    match vms.collect::<Vec<_>>().as_slice() {
        [(only, 1)] => only.clone(),
        _ => "all of them".to_owned(),
    }
}
