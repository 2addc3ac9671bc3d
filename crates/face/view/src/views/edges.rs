use std::iter::once;

/// Returns logarithmic boundaries of rows, ascending, one more than rows.
#[expect(clippy::cast_precision_loss, reason = "edges of rows, to a nanosecond below 100 days")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two edges")]
fn log_edges(from_ns: u64, to_ns: u64, rows: usize) -> Vec<u64> {
    let (from, to) = (from_ns.max(1), to_ns.max(from_ns.max(1) + 1));
    let step = (to as f64 / from as f64).ln() / rows.max(1) as f64;
    let inner =
        (1..rows.max(1)).map(|row| (from as f64 * (step * row as f64).exp()).round() as u64);
    let mut edges: Vec<u64> = once(from).chain(inner).chain(once(to)).collect();
    for row in 1..edges.len() {
        edges[row] = edges[row].max(edges[row - 1] + 1);
    }
    edges
}

/// Returns boundaries around these values, at 1, 2 or 5 times a power of ten, so that charts of one
/// run have equal boundaries.
pub(crate) fn around(least_ns: u64, most_ns: u64, rows: usize) -> Vec<u64> {
    let marks = || (0..13_u32).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let from = marks().rfind(|mark| *mark <= least_ns.max(1)).unwrap_or(1);
    let to = marks().find(|mark| *mark >= most_ns).unwrap_or(most_ns);
    log_edges(from, to, rows)
}

/// Returns the row of a value. A row contains values above its lower and up to its upper boundary;
/// the first and the last row also contain all values beyond.
pub(crate) fn row_of(edges: &[u64], value_ns: u64) -> usize {
    let below = edges.partition_point(|edge| *edge < value_ns);
    below.saturating_sub(1).min(edges.len().saturating_sub(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_row_whose_upper_edge_it_does_not_exceed() {
        let edges = [10, 100, 1000];
        let rows = [1, 10, 11, 100, 101, 1000, 5000].map(|value| row_of(&edges, value));
        assert_eq!(rows, [0, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn edges_rise_even_where_there_are_more_rows_than_nanoseconds() {
        let edges = log_edges(1, 3, 8);
        assert_eq!(edges.len(), 9);
        assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
    }

    #[test]
    fn pictures_begin_and_end_at_round_times() {
        let edges = around(23_000, 840_000_000, 120);
        assert_eq!((edges[0], edges[120]), (20_000, 1_000_000_000));
    }
}
