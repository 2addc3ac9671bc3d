//! Columns of one slice, built directly from the driver's report.

use stats::Compact;

use super::SeriesError;
use super::column::Columns;
use super::record::{ACTION, CALL, START, StepKey};
use crate::gauge::Gauge;
use crate::slice::{InstanceEntry, Slice, Topology, Unfinished};

pub(super) fn common(columns: &mut Columns, key: &StepKey, slice: &Slice, rows: usize) {
    let repeat = |value| std::iter::repeat_n(value, rows);
    columns.u32("step", repeat(key.step));
    columns.u32("tiles", repeat(key.tiles));
    columns.u32("repeat", repeat(key.repeat));
    columns.text("phase", std::iter::repeat_n(key.phase.name(), rows));
    columns.u64("start_ns", std::iter::repeat_n(slice.start.0, rows));
    columns.u64("width_ns", std::iter::repeat_n(slice.width.0, rows));
}

pub(super) fn instances(columns: &mut Columns, instances: &[&InstanceEntry]) {
    columns.maybe_u32("tile", instances.iter().map(|entry| entry.tile));
    columns.text("workload", instances.iter().map(|entry| entry.workload.as_str()));
    columns.u32("copy", instances.iter().map(|entry| entry.copy));
    columns.maybe_text("host", instances.iter().map(|own| own.host.as_deref()));
}

pub(super) fn lookup<'a, T>(
    what: &'static str,
    all: &'a [T],
    index: usize,
) -> Result<&'a T, SeriesError> {
    all.get(index).ok_or(SeriesError::UnknownId { what, index, count: all.len() })
}

pub(super) fn io(
    key: &StepKey,
    topology: &Topology,
    slice: &Slice,
) -> Result<Columns, SeriesError> {
    let (mut entries, mut vms, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    for row in &slice.io {
        let vm = lookup("VM", &topology.vms, row.vm.0 as usize)?;
        let entry = lookup("instance", &topology.instances, vm.instance.0 as usize)?;
        entries.push(entry);
        vms.push(vm.name.as_str());
        kinds.push(lookup("kind of I/O", &entry.kinds, row.kind.into())?.as_str());
    }
    let rows = &slice.io;
    let mut columns = Columns::default();
    common(&mut columns, key, slice, rows.len());
    instances(&mut columns, &entries);
    columns.text("vm", vms.into_iter());
    columns.text("direction", rows.iter().map(|row| row.direction.name()));
    columns.text("kind", kinds.into_iter());
    columns.text("size_class", rows.iter().map(|row| row.class.name()));
    columns.u64("count", rows.iter().map(|row| row.service.count()));
    columns.u64("errors", rows.iter().map(|row| row.errors));
    columns.u64("bytes", rows.iter().map(|row| row.bytes.get()));
    columns.latency("service", &rows.iter().map(|row| &row.service).collect::<Vec<_>>());
    columns.latency("response", &rows.iter().map(|row| &row.response).collect::<Vec<_>>());
    Ok(columns)
}

pub(super) fn actions(
    key: &StepKey,
    topology: &Topology,
    slice: &Slice,
) -> Result<Columns, SeriesError> {
    let (mut entries, mut actions, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for row in &slice.actions {
        let entry = lookup("instance", &topology.instances, row.instance.0 as usize)?;
        entries.push(entry);
        actions.push(lookup("action", &entry.actions, row.action.into())?.as_str());
        groups.push(lookup("group", &entry.groups, row.group.into())?.as_str());
    }
    let rows = &slice.actions;
    let mut columns = Columns::default();
    common(&mut columns, key, slice, rows.len());
    instances(&mut columns, &entries);
    columns.text("action", actions.into_iter());
    columns.text("group", groups.into_iter());
    columns.u64("count", rows.iter().map(|row| row.service.count()));
    columns.u64("errors", rows.iter().map(|row| row.errors));
    columns.u64("dropped", rows.iter().map(|row| row.dropped));
    columns.latency("service", &rows.iter().map(|row| &row.service).collect::<Vec<_>>());
    columns.latency("response", &rows.iter().map(|row| &row.response).collect::<Vec<_>>());
    Ok(columns)
}

pub(super) fn open(
    key: &StepKey,
    topology: &Topology,
    slice: &Slice,
) -> Result<Columns, SeriesError> {
    let (mut entries, mut names) = (Vec::new(), Vec::new());
    for row in &slice.open {
        let entry = lookup("instance", &topology.instances, row.instance.0 as usize)?;
        entries.push(entry);
        names.push(match row.what {
            Unfinished::Action(action) | Unfinished::Start(action) => {
                lookup("action", &entry.actions, action.into())?
            }
            Unfinished::Io(kind, _) | Unfinished::Call(kind) => {
                lookup("kind", &entry.kinds, kind.into())?
            }
        });
    }
    let rows = &slice.open;
    let mut columns = Columns::default();
    common(&mut columns, key, slice, rows.len());
    instances(&mut columns, &entries);
    columns.text("name", names.into_iter().map(String::as_str));
    columns.text(
        "on",
        rows.iter().map(|row| match row.what {
            Unfinished::Action(_) => ACTION,
            Unfinished::Start(_) => START,
            Unfinished::Io(_, direction) => direction.name(),
            Unfinished::Call(_) => CALL,
        }),
    );
    columns.u64("count", rows.iter().map(|row| row.ages.count()));
    columns.latency("age", &rows.iter().map(|row| &row.ages).collect::<Vec<_>>());
    Ok(columns)
}

pub(super) fn gauges(key: &StepKey, slice: &Slice, gauges: &[Gauge]) -> Columns {
    let mut columns = Columns::default();
    common(&mut columns, key, slice, gauges.len());
    columns.text("name", gauges.iter().map(|gauge| gauge.name.name()));
    columns.text("unit", gauges.iter().map(|gauge| gauge.name.unit().name()));
    columns.text("scope", gauges.iter().map(|gauge| gauge.scope.as_str()));
    columns.text("source", gauges.iter().map(|gauge| gauge.name.source()));
    columns.f64("value", gauges.iter().map(|gauge| gauge.value));
    columns
}

pub(super) fn generator(key: &StepKey, slice: &Slice) -> Columns {
    let row = [&slice.generator];
    let lateness: [&Compact; 1] = [&slice.generator.lateness];
    let mut columns = Columns::default();
    common(&mut columns, key, slice, 1);
    columns.u64("submitted", row.iter().map(|row| row.submitted));
    columns.u64("completed", row.iter().map(|row| row.completed));
    columns.u64("in_flight", row.iter().map(|row| row.in_flight));
    columns.f64("in_flight_seconds", row.iter().map(|row| row.in_flight_seconds));
    columns.u64("queued", row.iter().map(|row| row.queued));
    columns.f64_lists("worker_cpu", row.iter().map(|row| &row.worker_cpu));
    columns.u64("away_ns", row.iter().map(|row| row.away.0));
    columns.latency("lateness", &lateness);
    columns
}
