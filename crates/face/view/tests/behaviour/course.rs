//! Views over time: points, their percentiles and ranges, heat maps, moments.

use proptest::prelude::*;
use run_store::slice::Direction;
use units::Nanos;
use view::{Breakdown, Lens, Measure};

use crate::model::{self, Plain, Row, SLICE};

/// True if a row belongs to a line of a breakdown by direction.
fn is_of(row: &Row, key: &str) -> bool {
    match key {
        "r" => row.direction == Direction::Read,
        "w" => row.direction == Direction::Write,
        "f" => row.direction == Direction::Flush,
        _ => true,
    }
}

fn point_rows<'a>(
    plain: &'a Plain,
    lens: &'a Lens,
    from: u64,
    width: u64,
) -> impl Iterator<Item = &'a Row> {
    plain.rows(lens, false).filter(move |row| (from..from + width).contains(&row.at))
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn close(found: Option<f64>, wanted: u64) -> bool {
    found.is_some_and(|found| (found - wanted as f64).abs() <= 1e-6 * (1.0 + wanted as f64))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_point_of_latency_is_the_merged_histogram_of_its_slices(
        plain in model::plain(), lens in model::lens(), points in 1_u32..12,
    ) {
        let lens = Lens { measure: Measure::Latency, points, ..lens };
        let found = model::series(&plain.source(), &lens);
        for group in &found.groups {
            for point in 0..found.at_ns.len() {
                let (at, width) = (found.at_ns[point], found.width_ns[point]);
                let rows = point_rows(&plain, &lens, at, width);
                let all = model::merged(rows.filter(|row| is_of(row, &group.key)));
                prop_assert_eq!(group.count[point], all.count());
                prop_assert_eq!(group.p99[point].is_some(), all.count() > 0);
                if let Some(p99) = model::p99(&all) {
                    prop_assert!(close(group.p99[point], p99));
                    prop_assert!(close(group.max[point], all.max().unwrap().0));
                    let mean = all.mean_ns().unwrap();
                    prop_assert!((group.mean[point].unwrap() - mean).abs() <= 1e-9 * mean);
                }
            }
        }
        let shares = |point: usize| found.groups.iter().filter_map(|g| g.wait_share[point]).sum::<f64>();
        for point in 0..found.at_ns.len() {
            prop_assert!(shares(point) == 0.0 || (shares(point) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn rate_is_completions_per_time_and_between_its_slices(
        plain in model::plain(), lens in model::lens(), points in 1_u32..12,
    ) {
        let lens = Lens { points, ..lens };
        let found = model::series(&plain.source(), &lens);
        for group in &found.groups {
            for point in 0..found.at_ns.len() {
                let (at, width) = (found.at_ns[point], found.width_ns[point]);
                let rows = || point_rows(&plain, &lens, at, width).filter(|r| is_of(r, &group.key));
                let count: usize = rows().map(|row| row.latencies.len()).sum();
                let mean = count as f64 / Nanos(width).as_secs_f64();
                prop_assert!((group.mean[point].unwrap() - mean).abs() < 1e-9);
                let in_slice = |at: u64| {
                    rows().filter(|row| row.at == at).map(|row| row.latencies.len()).sum::<usize>()
                };
                let slices = (at..at + width).step_by(usize::try_from(SLICE).unwrap());
                let most = slices.clone().map(in_slice).max().unwrap() as f64;
                let least = slices.map(in_slice).min().unwrap() as f64;
                // Slices are as long as the finest bucket here, so the range is exact.
                prop_assert_eq!(group.max[point], Some(most));
                prop_assert_eq!(group.min[point], Some(least));
            }
        }
    }

    #[test]
    fn fewer_points_keep_every_spike_and_no_point_crosses_a_span(
        plain in model::plain(), points in 1_u32..12,
    ) {
        let lens = Lens { measure: Measure::Latency, breakdown: Breakdown::None, ..Lens::default() };
        let source = plain.source();
        let fine = model::series(&source, &lens);
        let coarse = model::series(&source, &Lens { points, ..lens });
        let spans = source.rollup().spans();
        prop_assert!(coarse.at_ns.len() <= spans.len().max(points as usize));
        for (at, width) in coarse.at_ns.iter().zip(&coarse.width_ns) {
            let inside = |span: &run_store::rollup::Span| span.from.0 <= *at && at + width <= span.to.0;
            prop_assert!(spans.iter().any(inside));
        }
        let most = |found: &view::document::Series| {
            let values = found.groups.iter().flat_map(|group| group.max.iter().flatten());
            values.copied().fold(0.0, f64::max)
        };
        prop_assert_eq!(most(&fine), most(&coarse));
    }

    #[test]
    fn the_lines_of_any_breakdown_add_up_to_the_whole(
        plain in model::plain(), lens in model::lens(),
    ) {
        let source = plain.source();
        for breakdown in [Breakdown::None, Breakdown::Direction, Breakdown::Workload, Breakdown::Tile] {
            let found = model::series(&source, &Lens { breakdown, ..lens.clone() });
            let sum: u64 = found.groups.iter().flat_map(|group| &group.count).sum();
            let all: usize = plain.rows(&lens, false).map(|row| row.latencies.len()).sum();
            prop_assert_eq!(sum, all as u64);
        }
        // A flush has no size, so it is in no line of sizes.
        for breakdown in [Breakdown::Size, Breakdown::Selection] {
            let found = model::series(&source, &Lens { breakdown, ..lens.clone() });
            let sum: u64 = found.groups.iter().flat_map(|group| &group.count).sum();
            let sized = plain.rows(&lens, false).filter(|row| row.direction != Direction::Flush);
            prop_assert_eq!(sum, sized.map(|row| row.latencies.len() as u64).sum::<u64>());
        }
    }

    #[test]
    fn the_heat_map_holds_every_io_in_the_row_of_its_time(
        plain in model::plain(), lens in model::lens(), points in 1_u32..12, rows in 1_u32..60,
    ) {
        let lens = Lens { points, rows, ..lens };
        let found = model::heatmap(&plain.source(), &lens);
        prop_assert_eq!(found.edges_ns.len(), rows as usize + 1);
        for (point, column) in found.columns.iter().enumerate() {
            let (at, width) = (found.at_ns[point], found.width_ns[point]);
            let all = model::merged(point_rows(&plain, &lens, at, width));
            let counts: u64 = column.chunks(2).map(|cell| u64::from(cell[1])).sum();
            prop_assert_eq!(counts, all.count());
            prop_assert_eq!(found.max_ns[point], all.max().map(|max| max.0));
            prop_assert_eq!(found.p99_ns[point], model::p99(&all));
            for cell in column.chunks(2) {
                let (low, high) = (found.edges_ns[cell[0] as usize], found.edges_ns[cell[0] as usize + 1]);
                let buckets = all.compact().buckets().collect::<Vec<_>>();
                let inside = buckets.iter().filter(|(value, _)| low < value.0 && value.0 <= high);
                let count: u32 = inside.map(|(_, count)| count).sum();
                // The first row also holds values up to its lower boundary.
                prop_assert!(count == cell[1] || (cell[0] == 0 && count < cell[1]));
            }
        }
    }

    #[test]
    fn a_moment_is_one_slice_and_its_parts_add_up(
        plain in model::plain(), lens in model::lens(), at in 0_u64..40,
    ) {
        let lens = Lens { at: Some(Nanos::from_secs(at)), ..lens };
        let found = model::moment(&plain.source(), &lens);
        let here: u64 = found.counts.iter().sum();
        let all: u64 = found.counts_of_all.iter().sum();
        let rows = point_rows(&plain, &lens, found.at_ns, found.width_ns);
        prop_assert_eq!(here, rows.map(|row| row.latencies.len() as u64).sum::<u64>());
        let rows = plain.rows(&lens, false);
        prop_assert_eq!(all, rows.map(|row| row.latencies.len() as u64).sum::<u64>());
        prop_assert_eq!(found.top.iter().map(|item| item.count).sum::<u64>(), here);
        prop_assert!(found.top.windows(2).all(|pair| pair[0].count > 0 && pair[1].count > 0));
    }
}
