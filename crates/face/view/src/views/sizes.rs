use analyze::Whole;
use units::print::percent;

use crate::document::SizeRow;
use crate::scope::{ENOUGH, Sum};
use crate::words;

/// Makes rows of reads by class, then of writes by class, from the sums of
/// [`crate::scope::Scope::by_size`]. Flushes are included in the total for shares.
pub(super) fn rows(sums: &[Sum]) -> Vec<SizeRow> {
    let whole = whole(sums);
    let both = sums.iter().take(16).enumerate();
    both.filter_map(|(slot, sum)| {
        let class = u8::try_from(slot % 8).ok()?;
        Some(row(if slot < 8 { "read" } else { "write" }, class, sum, &whole))
    })
    .collect()
}

/// Makes the row of flushes, if there are any; they have no size.
pub(super) fn flushes(sums: &[Sum]) -> Option<SizeRow> {
    let flush = sums.get(16).filter(|sum| sum.count() > 0)?;
    Some(row("flush", 0, flush, &whole(sums)))
}

fn whole(sums: &[Sum]) -> Whole {
    Whole::of(sums.iter().map(Sum::part))
}

fn row(direction: &str, class: u8, sum: &Sum, whole: &Whole) -> SizeRow {
    let figures = whole.figures(sum.part());
    SizeRow {
        direction: direction.to_owned(),
        class,
        count: sum.count(),
        bytes: sum.bytes,
        share_of_count: figures.share_of_count,
        share_of_bytes: figures.share_of_bytes,
        wait_ns: figures.wait_ns,
        share_of_wait: figures.share_of_wait,
        p50_ns: figures.p50_ns,
        p95_ns: figures.p95_ns,
        p99_ns: figures.p99_ns,
        max_ns: figures.max_ns,
    }
}

/// Describes the sizes: the class with the most I/Os and the class with the most bytes.
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
        words::capital(&analyze::sizes(&row.direction, class, class))
    };
    let (ios, bytes) = (percent(often.share_of_count), percent(often.share_of_bytes));
    let mut text = format!("{} are {ios} of the I/Os and {bytes} of the bytes", name(often));
    if (often.direction.as_str(), often.class) != (large.direction.as_str(), large.class) {
        let (ios, bytes) = (percent(large.share_of_count), percent(large.share_of_bytes));
        text += &format!(". {} are {ios} of the I/Os and {bytes} of the bytes", name(large));
    }
    if let Some(flush) = flushes(sums).filter(|flush| flush.share_of_count >= 0.001) {
        let wait = percent(flush.share_of_wait);
        text += &format!(
            ". {} flushes beside them cause {wait} of waiting time",
            units::print::whole(flush.count)
        );
    }
    text + "."
}
