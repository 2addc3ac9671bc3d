use analyze::OUTSTANDING;
use units::Nanos;
use units::print::count;

use super::limit;
use crate::document::{LoadCell, LoadMatrix};
use crate::request::Lens;
use crate::scope::{ENOUGH, Scope, Sum, size_slot};
use crate::source::Source;
use crate::words;

/// Number of cells in a column: size classes of reads, then of writes.
const SIZES: usize = 16;

/// Makes view `breaks`: p99 by size class and load. The load is the number of tiles if the lens has
/// several, otherwise the mean number of I/Os in flight in each time bucket.
pub(crate) fn breaks(source: &Source, lens: &Lens) -> LoadMatrix {
    let scope = Scope::summary(source, lens);
    let columns = Columns::of(&scope);
    let mut sums: Vec<Vec<Sum>> = columns.names.iter().map(|_| Vec::new()).collect();
    for (bucket, row) in scope.rows() {
        let slot = size_slot(row);
        let Some(column) = columns.of[bucket].filter(|_| slot < SIZES) else { continue };
        if sums[column].is_empty() {
            sums[column] = (0..SIZES).map(|_| Sum::default()).collect();
        }
        sums[column][slot].add(row);
    }
    let (limit, limit_source) = limit::of(source);
    let cells = cells(&sums);
    LoadMatrix {
        sentence: match source.has_latencies() {
            true => sentence(&cells, &columns, limit),
            false => words::NO_LATENCIES.to_owned(),
        },
        load: if columns.is_tiles { "tiles" } else { "outstanding" }.to_owned(),
        columns: columns.names,
        limit_ns: limit.0,
        limit_source,
        cells,
    }
}

/// Columns of the view, and the column of each time bucket.
struct Columns {
    names: Vec<String>,
    of: Vec<Option<usize>>,
    is_tiles: bool,
}

impl Columns {
    fn of(scope: &Scope<'_>) -> Self {
        let tiles = tiles(scope);
        let several = tiles.iter().flatten().any(|tiles_of| Some(*tiles_of) != tiles[0]);
        if several {
            return Self::numbered(&tiles, true, |tiles| tiles.to_string());
        }
        Self::numbered(&depths(scope), false, depth_name)
    }

    fn numbered(loads: &[Option<u32>], is_tiles: bool, name: impl Fn(u32) -> String) -> Self {
        let mut known: Vec<u32> = loads.iter().flatten().copied().collect();
        known.sort_unstable();
        known.dedup();
        let of = loads.iter().map(|load| known.iter().position(|one| Some(*one) == *load));
        Self { of: of.collect(), names: known.into_iter().map(name).collect(), is_tiles }
    }

    /// Formats a column's load, such as `3 tiles`, `8 to 15 outstanding I/Os`.
    fn words(&self, column: u32) -> String {
        let name = self.names.get(column as usize).map_or("", String::as_str);
        match (self.is_tiles, name) {
            (true, "1") => "1 tile".to_owned(),
            (true, name) => format!("{name} tiles"),
            (false, name) => format!("{} outstanding I/Os", name.replace('-', " to ")),
        }
    }
}

/// Returns the number of tiles in each time bucket.
fn tiles(scope: &Scope<'_>) -> Vec<Option<u32>> {
    let mut tiles = vec![None; scope.frame.len()];
    for (number, span) in (0_u32..).zip(scope.source.rollup().spans()) {
        for bucket in scope.frame.range(number) {
            tiles[bucket] = Some(span.tiles);
        }
    }
    tiles
}

/// Returns the load class of each time bucket, by the mean number of I/Os in flight. Classes are
/// those of `tilemark analyze`, and are represented by their smallest number. An I/O counts itself,
/// so no number is below one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn depths(scope: &Scope<'_>) -> Vec<Option<u32>> {
    let mut seconds = vec![0.0_f64; scope.frame.len()];
    let mut known = vec![false; seconds.len()];
    for row in scope.source.rollup().slices() {
        let Some((at, _)) = scope.place(row.span, row.bucket) else { continue };
        if let Some(bucket) = scope.frame.holding(row.span, at) {
            seconds[bucket] += row.in_flight_seconds;
            known[bucket] = true;
        }
    }
    let depth = |(bucket, seconds): (usize, &f64)| {
        let mean = seconds / scope.frame.load[bucket].as_secs_f64().max(1e-9);
        let whole = mean.round() as u32;
        known[bucket].then(|| OUTSTANDING[class_of(whole)])
    };
    seconds.iter().enumerate().map(depth).collect()
}

/// Returns the position of the class that contains this number.
fn class_of(outstanding: u32) -> usize {
    OUTSTANDING.partition_point(|from| *from <= outstanding.max(1)) - 1
}

/// Returns the name of a class as in `tilemark analyze`: `1`, `3-4`, `129 and more`.
fn depth_name(depth: u32) -> String {
    match OUTSTANDING.get(class_of(depth) + 1).map(|next| next - 1) {
        Some(to) if to == depth => depth.to_string(),
        Some(to) => format!("{depth}-{to}"),
        None => format!("{depth} and more"),
    }
}

fn cells(sums: &[Vec<Sum>]) -> Vec<LoadCell> {
    let mut cells = Vec::new();
    for (column, sums) in (0_u32..).zip(sums) {
        for (slot, sum) in sums.iter().enumerate() {
            let Some(p99_ns) = sum.percentile(0.99) else { continue };
            cells.push(LoadCell {
                direction: if slot < 8 { "read" } else { "write" }.to_owned(),
                class: u8::try_from(slot % 8).unwrap_or(0),
                column,
                count: sum.count(),
                p99_ns,
                is_enough: sum.count() >= ENOUGH,
            });
        }
    }
    cells
}

fn sentence(cells: &[LoadCell], columns: &Columns, limit: Nanos) -> String {
    let total: u64 = cells.iter().map(|cell| cell.count).sum();
    if total < ENOUGH {
        return words::too_few(total);
    }
    let over = cells.iter().filter(|cell| cell.is_enough && cell.p99_ns > limit.0);
    let Some(first) = over.min_by_key(|cell| (cell.column, cell.class)) else {
        return format!("No class of sizes has a p99 above {limit} at any load here.");
    };
    let class = usize::from(first.class);
    format!(
        "{} break {limit} first, at {}: p99 {} ({}).",
        words::capital(&analyze::sizes(&first.direction, class, class)),
        columns.words(first.column),
        Nanos(first.p99_ns),
        count(first.count, "I/O")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the page had 2-3, 4-7 and 8-15 where `tilemark analyze` has 3-4, 5-8 and 9-16.
    #[test]
    fn classes_of_outstanding_are_those_of_analyze() {
        let names: Vec<String> =
            [0, 1, 2, 3, 8, 9, 64, 500].map(|n| depth_name(OUTSTANDING[class_of(n)])).into();
        assert_eq!(names, ["1", "1", "2", "3-4", "5-8", "9-16", "33-64", "129 and more"]);
    }
}
