use super::rows::WAYS;
use crate::document::TimeRow;
use crate::fold::Slim;
use crate::material::{Material, class_name};

pub(crate) fn rows(material: &Material) -> Vec<TimeRow> {
    if !material.has_times() {
        return Vec::new();
    }
    let slices = &material.fold.slices;
    let row = |row: &crate::fold::Row| {
        let mut latency = Slim::default();
        slices.add_latencies(row, &mut latency);
        TimeRow {
            start_ns: row.slice.saturating_mul(slices.width().0),
            vm: material.vm_name(row.vm()),
            direction: WAYS[row.way()].to_owned(),
            class: class_name(usize::from(row.class())),
            count: row.count,
            bytes: row.bytes,
            wait_ns: row.wait_ns,
            p50_ns: latency.percentile(0.5).map(|value| value.0),
            p99_ns: latency.percentile(0.99).map(|value| value.0),
            max_ns: (row.timed > 0).then_some(row.longest_ns),
        }
    };
    slices.rows().iter().map(row).collect()
}
