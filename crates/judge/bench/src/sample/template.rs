use run_store::slice::{InstanceId, Slice};
use sim::{Instant, SimInstance};
use units::Nanos;
use workload::InstancePlan;

use crate::error::BenchError;
use crate::fleet::shape;
use crate::plan::ResolvedPlan;

/// Virtual time for which a workload is observed: twice the burst period of the shipped tiles at a
/// time scale of 1/5.
const WATCHED: Nanos = Nanos::from_secs(120);

/// Returns the slices of each workload of one tile on storage without delay, indexed by position.
pub fn templates(plan: &ResolvedPlan) -> Result<Vec<Vec<Slice>>, BenchError> {
    (0..plan.tile_set.workloads.len()).map(|position| template(plan, position)).collect()
}

fn template(plan: &ResolvedPlan, position: usize) -> Result<Vec<Slice>, BenchError> {
    let (workload, _) = &plan.tile_set.workloads[position];
    let built = workload::build(&InstancePlan {
        workload,
        seed: plan.seed,
        round: 0,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: plan.footprint,
        time_scale: plan.time,
        cpu: None,
        schedule: plan.traces.schedule(position),
    })
    .map_err(|source| BenchError::Build { tile: workload.name.clone(), source })?;
    let shape = shape(InstanceId(0), 0, &built);
    let mut instances = [SimInstance { machine: built.machine, shape }];
    let slice = plan.slice;
    let options =
        sim::Options { until: WATCHED.max(Nanos(slice.0 * 2)), slice, ..sim::Options::default() };
    let mut slices = Vec::new();
    sim::run(&mut instances, &mut Instant, &options, &mut |slice| slices.push(slice))?;
    // In the first slice not all users have begun, and the last one may be cut short.
    slices.retain(|own: &Slice| own.start > Nanos::ZERO && own.width == slice);
    if slices.is_empty() {
        slices.push(Slice { width: slice, ..Slice::default() });
    }
    Ok(slices)
}
