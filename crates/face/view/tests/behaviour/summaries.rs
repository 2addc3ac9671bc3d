//! Views over all measured time.

use proptest::prelude::*;
use run_store::slice::Direction;
use view::{Breakdown, Lens};

use crate::model::{self, Row};

fn count<'a>(rows: impl Iterator<Item = &'a Row>) -> u64 {
    rows.map(|row| row.latencies.len() as u64).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sizes_are_those_of_measured_time_and_shares_add_up_to_one(
        plain in model::plain(), lens in model::lens(),
    ) {
        let found = model::overview(&plain.source(), &lens);
        let all = count(plain.rows(&lens, true));
        for row in &found.sizes {
            let mine = || plain.rows(&lens, true).filter(|other| {
                other.direction.name() == row.direction && other.class == row.class
            });
            let histogram = model::merged(mine());
            prop_assert_eq!(row.count, histogram.count());
            prop_assert_eq!(row.bytes, mine().map(|row| row.bytes).sum::<u64>());
            prop_assert_eq!(row.p99_ns, model::p99(&histogram));
            prop_assert_eq!(u128::from(row.wait_ns), histogram.sum_ns());
        }
        let rows = || found.sizes.iter().chain(&found.flushes);
        prop_assert_eq!(rows().map(|row| row.count).sum::<u64>(), all);
        for share in [
            rows().map(|row| row.share_of_count).sum::<f64>(),
            rows().map(|row| row.share_of_wait).sum::<f64>(),
        ] {
            prop_assert!(all == 0 || (share - 1.0).abs() < 1e-9, "{}", share);
        }
        prop_assert_eq!(found.heroes.len(), 4);
        prop_assert!(found.findings.len() <= 3);
        // The cause is that of one step. It looks at the warm-up where that step was not measured.
        if count(plain.rows(&lens, false)) < 30 {
            prop_assert!(found.cause.contains("oo few") || found.cause.contains("o I/O"), "{}", found.cause);
            prop_assert!(found.findings.iter().all(|finding| finding.id == "limit"));
        }
    }

    #[test]
    fn a_distribution_is_the_merged_one_and_ends_with_the_longest(
        plain in model::plain(), lens in model::lens(),
    ) {
        let lens = Lens { breakdown: Breakdown::Workload, ..lens };
        let found = model::percentiles(&plain.source(), &lens);
        for curve in &found.curves {
            let mine = plain.rows(&lens, true).filter(|row| row.workload == curve.key);
            let all = model::merged(mine);
            prop_assert_eq!(curve.count, all.count());
            for point in &curve.points {
                let wanted = all.percentile(units::Ratio::new(point.share));
                prop_assert_eq!(Some(point.value_ns), wanted.map(|value| value.0));
                // Ten I/Os lie above each point, except the longest.
                prop_assert!(point.share == 1.0 || (1.0 - point.share) * curve.count as f64 > 9.9);
            }
            prop_assert_eq!(curve.points.last().map(|p| p.value_ns), all.max().map(|max| max.0));
            prop_assert!(curve.points.windows(2).all(|pair| pair[0].share < pair[1].share
                && pair[0].value_ns <= pair[1].value_ns));
        }
    }

    #[test]
    fn matrix_has_every_io_once_and_names_the_first_broken_class(
        plain in model::plain(),
    ) {
        let lens = Lens::default();
        let found = model::matrix(&plain.source(), &lens);
        for panel in &found.panels {
            let mut first = None;
            for class in 0..8_u8 {
                let mine = plain.rows(&lens, true).filter(|row| {
                    row.direction.name() == panel.direction && row.class == class
                });
                let all = model::merged(mine);
                let cells = &panel.cells[usize::from(class)];
                prop_assert_eq!(cells.len(), found.edges_ns.len() + 1);
                prop_assert_eq!(cells.iter().sum::<u64>(), all.count());
                let p99 = model::p99(&all);
                let is_over = all.count() >= 30 && p99.is_some_and(|p99| p99 > found.limit_ns);
                first = first.or_else(|| is_over.then_some(class));
            }
            prop_assert_eq!(panel.first_break, first);
        }
    }

    #[test]
    fn cells_by_load_have_every_read_and_write_once(
        plain in model::plain(), lens in model::lens(),
    ) {
        let found = model::breaks(&plain.source(), &lens);
        let sized = plain.rows(&lens, true).filter(|row| row.direction != Direction::Flush);
        prop_assert_eq!(found.cells.iter().map(|cell| cell.count).sum::<u64>(), count(sized));
        prop_assert!(found.cells.iter().all(|cell| (cell.column as usize) < found.columns.len()));
        prop_assert!(found.cells.iter().all(|cell| cell.is_enough == (cell.count >= 30)));
    }

    #[test]
    fn the_map_has_every_io_once_the_busiest_first(
        plain in model::plain(), lens in model::lens(),
    ) {
        let found = model::map(&plain.unjudged(), &lens);
        prop_assert_eq!(
            found.items.iter().map(|item| item.count).sum::<u64>(),
            count(plain.rows(&lens, true))
        );
        prop_assert!(found.items.windows(2).all(|pair| pair[0].count >= pair[1].count));
        for item in &found.items {
            let mine = plain.rows(&lens, true).filter(|row| {
                row.workload == item.workload && row.tile == item.tile
            });
            prop_assert_eq!(item.p99_ns, model::p99(&model::merged(mine)));
            prop_assert!(item.trail.len() <= 12);
        }
    }
}
