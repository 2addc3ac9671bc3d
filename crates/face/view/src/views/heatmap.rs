use std::collections::BTreeMap;

use units::Nanos;
use units::print::count;

use super::edges::{around, row_of};
use crate::document::HeatMap;
use crate::request::Lens;
use crate::scope::{ENOUGH, Points, Scope, Sum};
use crate::source::Source;
use crate::words;

/// Makes view `heatmap`: I/Os by time and service time.
pub(crate) fn heatmap(source: &Source, lens: &Lens) -> HeatMap {
    let scope = Scope::course(source, lens);
    let points = scope.frame.points(lens.points as usize);
    let columns = columns(&scope, &points);
    let bounds = bounds(&columns);
    let edges = around(bounds.0, bounds.1, lens.rows as usize);
    let cells: Vec<Vec<u32>> = columns.iter().map(|column| cells(column, &edges)).collect();
    let counts = cells.iter().flat_map(|column| column.iter().skip(1).step_by(2));
    HeatMap {
        sentence: match source.has_latencies() {
            true => sentence(&columns, &points),
            false => words::NO_LATENCIES.to_owned(),
        },
        at_ns: points.at_ns(),
        width_ns: points.width_ns(),
        most: counts.copied().max().unwrap_or(0),
        max_ns: columns.iter().map(|column| column.max).collect(),
        p99_ns: columns.iter().map(|column| column.p99).collect(),
        edges_ns: edges,
        columns: cells,
    }
}

/// Histogram of a point, compacted.
struct Column {
    buckets: Vec<(Nanos, u32)>,
    count: u64,
    max: Option<u64>,
    p99: Option<u64>,
}

fn columns(scope: &Scope<'_>, points: &Points) -> Vec<Column> {
    let mut columns = Vec::with_capacity(points.len());
    let mut sum = Sum::default();
    for (bucket, row) in scope.rows() {
        while points.of[bucket] > columns.len() {
            columns.push(close(&mut sum));
        }
        sum.add(row);
    }
    while columns.len() < points.len() {
        columns.push(close(&mut sum));
    }
    columns
}

fn close(sum: &mut Sum) -> Column {
    let column = Column {
        buckets: sum.buckets(),
        count: sum.count(),
        max: sum.max(),
        p99: sum.percentile(0.99),
    };
    sum.clear();
    column
}

/// Returns the shortest and the longest time of all columns.
fn bounds(columns: &[Column]) -> (u64, u64) {
    let least = columns.iter().filter_map(|column| Some(column.buckets.first()?.0.0)).min();
    let most = columns.iter().filter_map(|column| column.max).max();
    (least.unwrap_or(10_000), most.unwrap_or(1_000_000_000))
}

fn cells(column: &Column, edges: &[u64]) -> Vec<u32> {
    let mut rows: BTreeMap<u32, u32> = BTreeMap::new();
    for (value, count) in &column.buckets {
        let row = u32::try_from(row_of(edges, value.0)).unwrap_or(u32::MAX);
        let cell = rows.entry(row).or_default();
        *cell = cell.saturating_add(*count);
    }
    rows.into_iter().flat_map(|(row, count)| [row, count]).collect()
}

fn sentence(columns: &[Column], points: &Points) -> String {
    let total: u64 = columns.iter().map(|column| column.count).sum();
    if total < ENOUGH {
        return words::too_few(total);
    }
    let longest = columns.iter().enumerate().max_by_key(|(_, column)| column.max);
    let enough = columns.iter().enumerate().filter(|(_, column)| column.count >= ENOUGH);
    let slowest = enough.max_by_key(|(_, column)| column.p99);
    let at = |point: usize| points.clock(point);
    let mut text = count(total, "I/O");
    if let Some((point, Column { max: Some(max), .. })) = longest {
        text += &format!("; the longest took {} at {}", Nanos(*max), at(point));
    }
    if let Some((point, Column { p99: Some(p99), .. })) = slowest {
        text += &format!("; the slowest column is at {}, p99 {}", at(point), Nanos(*p99));
    }
    text + "."
}
