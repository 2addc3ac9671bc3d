use analyze::{ROWS_NS, first_over};
use run_store::slice::{Direction, SizeClass};
use units::Nanos;
use units::print::count;

use super::limit;
use crate::document::{LatencyMatrix, MatrixPanel};
use crate::request::Lens;
use crate::scope::{ENOUGH, Scope, Sum};
use crate::source::Source;
use crate::words;

/// Makes view `matrix`: I/Os by size class and service time.
pub(crate) fn matrix(source: &Source, lens: &Lens) -> LatencyMatrix {
    let scope = Scope::summary(source, lens);
    let sums = scope.by_size();
    let (limit, limit_source) = limit::of(source);
    let panels = vec![
        panel(Direction::Read, &sums[..8], limit),
        panel(Direction::Write, &sums[8..16], limit),
    ];
    LatencyMatrix {
        sentence: sentence(&panels, limit),
        edges_ns: ROWS_NS.to_vec(),
        limit_ns: limit.0,
        limit_source,
        panels,
    }
}

fn panel(direction: Direction, sums: &[Sum], limit: Nanos) -> MatrixPanel {
    let first = first_over(sums.iter().map(Sum::part), limit);
    MatrixPanel {
        direction: direction.name().to_owned(),
        cells: sums.iter().map(|sum| sum.part().rows().to_vec()).collect(),
        p99_ns: sums.iter().map(|sum| sum.percentile(0.99)).collect(),
        count: sums.iter().map(Sum::count).collect(),
        first_break: first.and_then(|class| u8::try_from(class).ok()),
    }
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

/// Describes the first class that breaks the limit, such as `writes of 64 to below 128 KiB: 38 ms
/// (1,234 I/Os)`.
fn first_break(panel: &MatrixPanel) -> Option<String> {
    let class = usize::from(panel.first_break?);
    let label = SizeClass::all()[class];
    debug_assert_eq!(usize::from(label.index()), class);
    let name = analyze::sizes(&panel.direction, class, class);
    let p99 = Nanos(panel.p99_ns[class]?);
    Some(format!("{name}: {p99} ({})", count(panel.count[class], "I/O")))
}
