use record::slice::{Direction, SizeClass};
use units::Nanos;
use units::print::count;

use super::edges::{log_edges, row_of};
use super::limit;
use crate::document::{LatencyMatrix, MatrixPanel};
use crate::request::Lens;
use crate::scope::{ENOUGH, Scope, Sum};
use crate::source::Source;
use crate::words;

/// The logarithmic rows, and where they begin and end.
const ROWS: usize = 24;
const FROM: Nanos = Nanos::from_micros(20);
const TO: Nanos = Nanos::from_secs(10);

/// Where time goes: classes of sizes by service time.
pub(crate) fn matrix(source: &Source, lens: &Lens) -> LatencyMatrix {
    let scope = Scope::summary(source, lens);
    let sums = scope.by_size();
    let (limit, limit_source) = limit::of(source);
    let edges = log_edges(FROM.0, TO.0, ROWS);
    let panels = vec![
        panel(Direction::Read, &sums[..8], &edges, limit),
        panel(Direction::Write, &sums[8..16], &edges, limit),
    ];
    LatencyMatrix {
        sentence: sentence(&panels, limit),
        edges_ns: edges,
        limit_ns: limit.0,
        limit_source,
        panels,
    }
}

fn panel(direction: Direction, sums: &[Sum], edges: &[u64], limit: Nanos) -> MatrixPanel {
    let p99: Vec<Option<u64>> = sums.iter().map(|sum| sum.percentile(0.99)).collect();
    let is_over =
        |sum: &Sum| sum.count() >= ENOUGH && sum.percentile(0.99).is_some_and(|p99| p99 > limit.0);
    let first = sums.iter().position(is_over);
    MatrixPanel {
        direction: direction.name().to_owned(),
        cells: sums.iter().map(|sum| cells(sum, edges)).collect(),
        p99_ns: p99,
        count: sums.iter().map(Sum::count).collect(),
        first_break: first.and_then(|class| u8::try_from(class).ok()),
    }
}

/// Below the first edge, between edges, above the last.
fn cells(sum: &Sum, edges: &[u64]) -> Vec<u64> {
    let mut cells = vec![0; edges.len() + 1];
    for (value, count) in sum.buckets() {
        let row = match value.0 {
            low if low <= edges[0] => 0,
            high if high > edges[edges.len() - 1] => edges.len(),
            inner => row_of(edges, inner) + 1,
        };
        cells[row] += u64::from(count);
    }
    cells
}

fn sentence(panels: &[MatrixPanel], limit: Nanos) -> String {
    let total: u64 = panels.iter().flat_map(|panel| &panel.count).sum();
    if total < ENOUGH {
        return words::too_few(total);
    }
    if panels.iter().flat_map(|panel| &panel.p99_ns).all(Option::is_none) {
        return words::NO_LATENCIES.to_owned();
    }
    let broken: Vec<String> = panels.iter().filter_map(first_break).collect();
    if broken.is_empty() {
        return format!("No class of sizes has a p99 above {limit} ({}).", count(total, "I/O"));
    }
    format!("p99 first breaks {limit} with {}.", broken.join(", and with "))
}

/// `writes of 64 to below 128 KiB: 38 ms (1,234 I/Os)`.
fn first_break(panel: &MatrixPanel) -> Option<String> {
    let class = usize::from(panel.first_break?);
    let label = SizeClass::all()[class];
    debug_assert_eq!(usize::from(label.index()), class);
    let name = words::sizes(&panel.direction, class, class);
    let p99 = Nanos(panel.p99_ns[class]?);
    Some(format!("{name}: {p99} ({})", count(panel.count[class], "I/O")))
}
