use units::Nanos;

use super::build::{Material, Scope, class_name};
use super::rows::{WAYS, percentile};
use crate::document::{BreakRow, LatencyCell, OutstandingCell};
use crate::fold::DEPTHS;

/// Fewest I/Os that say anything about a percentile here.
pub(crate) const ENOUGH: u64 = 30;

/// Upper ends of the rows of latency: 24 of them, evenly on a scale of logarithms from 20 us to
/// 10 s, rounded to two digits.
const ROWS_US: [u64; 24] = [
    20, 35, 62, 110, 200, 350, 610, 1100, 1900, 3300, 5800, 10_000, 18_000, 32_000, 56_000, 99_000,
    170_000, 310_000, 540_000, 960_000, 1_700_000, 3_000_000, 5_200_000, 10_000_000,
];

pub(crate) fn latency(material: &Material) -> Vec<LatencyCell> {
    let mut cells = Vec::new();
    for scope in &material.scopes {
        for (classes, direction) in scope.vm.classes.iter().zip(WAYS) {
            for (at, class) in classes.iter().enumerate() {
                let Some(latency) = class.latency.as_deref() else { continue };
                let counts = rows_of(&latency.compact());
                for (row, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    cells.push(LatencyCell {
                        vm: scope.name.clone(),
                        direction: direction.to_owned(),
                        class: class_name(at),
                        from_ns: row.checked_sub(1).map_or(0, |before| ROWS_US[before] * 1000),
                        to_ns: ROWS_US.get(row).map(|us| us * 1000),
                        count: *count,
                    });
                }
            }
        }
    }
    cells
}

fn rows_of(latency: &stats::Compact) -> [u64; ROWS_US.len() + 1] {
    let mut counts = [0; ROWS_US.len() + 1];
    for (value, count) in &latency.buckets {
        let row = ROWS_US.partition_point(|us| Nanos::from_micros(*us) < *value);
        counts[row] += u64::from(*count);
    }
    counts
}

pub(crate) fn outstanding(material: &Material) -> Vec<OutstandingCell> {
    material.scopes.iter().flat_map(outstanding_of).collect()
}

fn outstanding_of(scope: &Scope) -> Vec<OutstandingCell> {
    let mut cells = Vec::new();
    for (at, slim) in scope.vm.depths.iter().enumerate() {
        let Some(slim) = slim else { continue };
        let (way, class, depth) = (at / DEPTHS.len() / 8, at / DEPTHS.len() % 8, at % DEPTHS.len());
        let count = slim.count();
        cells.push(OutstandingCell {
            vm: scope.name.clone(),
            direction: WAYS[way].to_owned(),
            class: class_name(class),
            outstanding_from: DEPTHS[depth],
            outstanding_to: DEPTHS.get(depth + 1).map(|next| next - 1),
            count,
            p50_ns: slim.percentile(0.5).map(|value| value.0),
            p99_ns: slim.percentile(0.99).map(|value| value.0),
            is_enough: count >= ENOUGH,
        });
    }
    cells
}

pub(crate) fn breaks(material: &Material) -> Vec<BreakRow> {
    let mut rows = Vec::new();
    for scope in &material.scopes {
        for way in 0..2 {
            if scope.vm.classes[way].iter().any(|class| class.latency.is_some()) {
                rows.push(break_of(material, scope, way));
            }
        }
    }
    rows
}

fn break_of(material: &Material, scope: &Scope, way: usize) -> BreakRow {
    let p99 = |at: usize| {
        let latency = scope.vm.classes[way][at].latency.as_deref()?;
        let p99 = percentile(latency, 99.0).filter(|_| latency.count() >= ENOUGH)?;
        (p99 > material.limit.ns).then_some((at, p99, latency.count()))
    };
    let found = (0..8).find_map(p99);
    let depths = DEPTHS.len();
    let breaks_at = |(class, ..): (usize, u64, u64)| {
        let cells = scope.vm.depths.get((way * 8 + class) * depths..)?;
        let is_over = |slim: &crate::fold::Slim| {
            slim.count() >= ENOUGH
                && slim.percentile(0.99).is_some_and(|p99| p99.0 > material.limit.ns)
        };
        let at = cells.iter().take(depths).position(|slim| slim.as_ref().is_some_and(is_over))?;
        Some(DEPTHS[at])
    };
    BreakRow {
        vm: scope.name.clone(),
        direction: WAYS[way].to_owned(),
        class: found.map(|(at, ..)| class_name(at)),
        p99_ns: found.map(|(_, p99, _)| p99),
        count: found.map_or(0, |(.., count)| count),
        outstanding_from: found.and_then(breaks_at),
    }
}
