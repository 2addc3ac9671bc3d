use run_store::slice::{ActionRow, InstanceEntry, IoRow, Slice, Topology};
use spec::ResolvedTile;
use spec::workload::{Counted, Metric};
use units::Nanos;
use workload::moving::KINDS;

use crate::fleet::Member;
use crate::score::SliceWork;

/// Returns the count of a metric in these rows of one instance: successful actions, I/Os or bytes.
/// If the metric has a list of names, only these count.
pub fn metric_count<'a>(
    metric: &Metric,
    names: &InstanceEntry,
    actions: impl Iterator<Item = &'a ActionRow>,
    io: impl Iterator<Item = &'a IoRow>,
) -> f64 {
    let actions: f64 = actions.map(|row| of_action(metric, names, row)).sum();
    let io: f64 = io.map(|row| of_io(metric, names, row)).sum();
    actions + io
}

/// Returns the count of every instance's metric in a slice, indexed by instance.
pub fn slice_work(
    tile: &ResolvedTile,
    members: &[Member],
    topology: &Topology,
    slice: &Slice,
) -> SliceWork {
    let metric = |instance: usize| &tile.at(members[instance].workload).0.metric;
    let mut work = vec![0.0; members.len()];
    for row in &slice.actions {
        let at = row.instance.0 as usize;
        work[at] += of_action(metric(at), &topology.instances[at], row);
    }
    for row in &slice.io {
        let at = topology.vms[row.vm.0 as usize].instance.0 as usize;
        work[at] += of_io(metric(at), &topology.instances[at], row);
    }
    work
}

/// Divides a count by a time, in the metric's unit.
pub fn metric_rate(metric: &Metric, count: f64, duration: Nanos) -> f64 {
    count / (duration.as_secs_f64() / metric.per.as_secs_f64()) / metric.divide_by
}

fn of_action(metric: &Metric, names: &InstanceEntry, row: &ActionRow) -> f64 {
    if metric.count == Counted::Actions && is_named(metric, &names.actions, row.action) {
        as_f64(row.response.count())
    } else {
        0.0
    }
}

fn of_io(metric: &Metric, names: &InstanceEntry, row: &IoRow) -> f64 {
    match metric.count {
        Counted::Io if is_named(metric, &names.kinds, row.kind) => as_f64(row.service.count()),
        Counted::Bytes if is_named(metric, &names.kinds, row.kind) => row.bytes.as_f64(),
        _ => 0.0,
    }
}

fn is_named(metric: &Metric, names: &[String], id: u16) -> bool {
    let Some(name) = names.get(usize::from(id)) else { return metric.of.is_none() };
    match &metric.of {
        Some(of) => of.contains(name),
        // I/O of moving the disk is no work of the VM.
        None => KINDS.iter().all(|(own, _)| own != name),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
const fn as_f64(count: u64) -> f64 {
    count as f64
}
