use stats::Histogram;
use units::Nanos;

use super::rows::WAYS;
use crate::classes::{ENOUGH, ROWS_NS, first_over};
use crate::document::{BreakRow, LatencyCell, OutstandingCell};
use crate::fold::{Class, DEPTHS};
use crate::material::{Material, Scope, class_name};

pub(crate) fn latency(material: &Material) -> Vec<LatencyCell> {
    let mut cells = Vec::new();
    for scope in &material.scopes {
        for (classes, direction) in scope.vm.classes.iter().zip(WAYS) {
            for (at, class) in classes.iter().enumerate() {
                let counts = class.part().rows();
                for (row, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    cells.push(LatencyCell {
                        vm: scope.name.clone(),
                        direction: direction.to_owned(),
                        class: class_name(at),
                        from_ns: row.checked_sub(1).map_or(0, |before| ROWS_NS[before]),
                        to_ns: ROWS_NS.get(row).copied(),
                        count: *count,
                    });
                }
            }
        }
    }
    cells
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
    let parts = || scope.vm.classes[way].iter().map(Class::part);
    let limit = Nanos(material.limit.ns);
    let found = first_over(parts(), limit);
    let part = found.and_then(|at| parts().nth(at));
    let depths = DEPTHS.len();
    let breaks_at = |class: usize| {
        let cells = scope.vm.depths.get((way * 8 + class) * depths..)?;
        let is_over = |slim: &crate::fold::Slim| {
            slim.count() >= ENOUGH && slim.percentile(0.99).is_some_and(|p99| p99 > limit)
        };
        let at = cells.iter().take(depths).position(|slim| slim.as_ref().is_some_and(is_over))?;
        Some(DEPTHS[at])
    };
    BreakRow {
        vm: scope.name.clone(),
        direction: WAYS[way].to_owned(),
        class: found.map(class_name),
        p99_ns: part.and_then(|part| part.percentile(0.99)),
        count: part.and_then(|part| part.times).map_or(0, Histogram::count),
        outstanding_from: found.and_then(breaks_at),
    }
}
