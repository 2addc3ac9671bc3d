use units::print::percent;

use crate::document::SizeRow;
use crate::scope::{ENOUGH, Sum, ratio};
use crate::words;

/// Reads by class, then writes by class, of the sums of [`crate::scope::Scope::by_size`];
/// shares are of everything in them, flushes too.
pub(super) fn rows(sums: &[Sum]) -> Vec<SizeRow> {
    let whole = Whole::of(sums);
    let both = sums.iter().take(16).enumerate();
    both.filter_map(|(slot, sum)| {
        let class = u8::try_from(slot % 8).ok()?;
        Some(row(if slot < 8 { "read" } else { "write" }, class, sum, &whole))
    })
    .collect()
}

/// Flushes, where there are any. They have no size.
pub(super) fn flushes(sums: &[Sum]) -> Option<SizeRow> {
    let flush = sums.get(16).filter(|sum| sum.count() > 0)?;
    Some(row("flush", 0, flush, &Whole::of(sums)))
}

struct Whole {
    count: u64,
    bytes: u64,
    wait: u64,
}

impl Whole {
    fn of(sums: &[Sum]) -> Self {
        let add = |pick: fn(&Sum) -> u64| sums.iter().map(pick).fold(0, u64::saturating_add);
        Self { count: add(Sum::count), bytes: add(|sum| sum.bytes), wait: add(Sum::wait_ns) }
    }
}

fn row(direction: &str, class: u8, sum: &Sum, whole: &Whole) -> SizeRow {
    SizeRow {
        direction: direction.to_owned(),
        class,
        count: sum.count(),
        bytes: sum.bytes,
        share_of_count: ratio(sum.count(), whole.count),
        share_of_bytes: ratio(sum.bytes, whole.bytes),
        wait_ns: sum.wait_ns(),
        share_of_wait: ratio(sum.wait_ns(), whole.wait),
        p50_ns: sum.percentile(0.5),
        p95_ns: sum.percentile(0.95),
        p99_ns: sum.percentile(0.99),
        max_ns: sum.max(),
    }
}

/// What sizes there are: the class with the most I/Os and the one with the most bytes.
pub(super) fn sentence(sums: &[Sum]) -> String {
    let rows = rows(sums);
    let count: u64 = rows.iter().map(|row| row.count).sum();
    if count < ENOUGH {
        return words::too_few(count);
    }
    let most = |pick: fn(&SizeRow) -> f64| rows.iter().max_by(|a, b| pick(a).total_cmp(&pick(b)));
    let (Some(often), Some(large)) =
        (most(|row| row.share_of_count), most(|row| row.share_of_bytes))
    else {
        return words::too_few(0);
    };
    let name = |row: &SizeRow| {
        let class = usize::from(row.class);
        words::capital(&words::sizes(&row.direction, class, class))
    };
    let (ios, bytes) = (percent(often.share_of_count), percent(often.share_of_bytes));
    let mut text = format!("{} are {ios} of the I/Os and {bytes} of the bytes", name(often));
    if (often.direction.as_str(), often.class) != (large.direction.as_str(), large.class) {
        let (ios, bytes) = (percent(large.share_of_count), percent(large.share_of_bytes));
        let large = words::lower(&name(large));
        text += &format!("; {large} are {ios} of the I/Os and {bytes} of the bytes");
    }
    if let Some(flush) = flushes(sums).filter(|flush| flush.share_of_count >= 0.001) {
        let wait = percent(flush.share_of_wait);
        text += &format!(
            "; {} flushes are no reads or writes and cause {wait} of waiting time",
            units::print::whole(flush.count)
        );
    }
    text + "."
}
