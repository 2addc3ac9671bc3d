//! Rows in time buckets: adding to the last bucket, and merging of two buckets into one.

use std::cmp::Ordering;

/// Row of one bucket of one span.
pub(super) trait Bucketed {
    /// Key of a row within a bucket.
    type Key: Ord;

    fn key(&self) -> Self::Key;

    /// Returns the span and the bucket of the row.
    fn place(&self) -> (u32, u32);

    fn set_bucket(&mut self, bucket: u32);

    /// Merges a row with the same key that is later in time.
    fn absorb(&mut self, later: Self);

    /// Merges a time in which the key has no row.
    fn absorb_nothing(&mut self) {}
}

/// Adds the rows of one bucket, ascending by key. The bucket must be the last one or a new one.
pub(super) fn add<R: Bucketed>(rows: &mut Vec<R>, fresh: Vec<R>) {
    let Some(place) = fresh.first().map(Bucketed::place) else { return };
    let begin = rows.partition_point(|row| row.place() < place);
    if begin == rows.len() {
        rows.extend(fresh);
        return;
    }
    let before = rows.split_off(begin);
    rows.extend(join(before, fresh));
}

/// Doubles the length of the buckets.
pub(super) fn halve<R: Bucketed>(rows: &mut Vec<R>) {
    let mut merged = Vec::with_capacity(rows.len() / 2 + 1);
    let mut rest = std::mem::take(rows).into_iter().peekable();
    while let Some((span, bucket)) = rest.peek().map(Bucketed::place) {
        let (even, odd) = (bucket & !1, bucket | 1);
        let mut take = |bucket| {
            let mut taken = Vec::new();
            while let Some(mut row) = rest.next_if(|row| row.place() == (span, bucket)) {
                row.set_bucket(bucket / 2);
                taken.push(row);
            }
            taken
        };
        let (earlier, later) = (take(even), take(odd));
        merged.extend(join(earlier, later));
    }
    *rows = merged;
}

/// Merges the rows of two buckets. A bucket without rows is treated as if it had no time.
fn join<R: Bucketed>(earlier: Vec<R>, later: Vec<R>) -> Vec<R> {
    if earlier.is_empty() || later.is_empty() {
        return if earlier.is_empty() { later } else { earlier };
    }
    let mut joined = Vec::with_capacity(earlier.len().max(later.len()));
    let (mut earlier, mut later) = (earlier.into_iter().peekable(), later.into_iter().peekable());
    loop {
        let order = match (earlier.peek(), later.peek()) {
            (Some(one), Some(other)) => one.key().cmp(&other.key()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return joined,
        };
        let one = if order.is_le() { earlier.next() } else { None };
        let other = if order.is_ge() { later.next() } else { None };
        joined.extend(match (one, other) {
            (Some(mut row), Some(more)) => {
                row.absorb(more);
                Some(row)
            }
            (one, other) => one.or(other).map(|mut row| {
                row.absorb_nothing();
                row
            }),
        });
    }
}
