use stats::Histogram;
use units::Nanos;
use units::print::{iops, number, percent};

use crate::document::{Group, Series};
use crate::request::{Lens, Measure};
use crate::scope::{ENOUGH, Ended, Points, Range, Scope, Sum, ranges, ratio};
use crate::source::Source;
use crate::views::limit;
use crate::words::{self, rate};

/// Minimum ratio of a latency to the median of its line, to stand out. Our choice.
const SPIKE_TIMES: f64 = 3.0;

/// Kind of counted events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Io,
    Actions,
    Calls,
}

impl What {
    const fn noun(self) -> &'static str {
        match self {
            Self::Io => "I/O",
            Self::Actions => "action",
            Self::Calls => "call",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Io => "io_per_s",
            Self::Actions => "actions_per_s",
            Self::Calls => "call_per_s",
        }
    }

    fn rate(self, value: f64) -> String {
        match self {
            Self::Io => iops(value),
            Self::Actions => format!("{} actions a second", number(value)),
            Self::Calls => format!("{} calls a second", number(value)),
        }
    }
}

/// Bucket of a row, its line, and its completed I/Os.
pub(super) type Row<'a> = (usize, Option<usize>, Ended<'a>);

/// Makes view `series`: a measure over time by a breakdown.
pub(crate) fn series(source: &Source, lens: &Lens) -> Series {
    let scope = Scope::course(source, lens);
    let grouping = scope.grouping(lens.breakdown);
    let points = scope.frame.points(lens.points as usize);
    let rows = scope.rows().map(|(bucket, row)| (bucket, grouping.of(row), Ended::from(row)));
    let known = || ranges(&scope, lens.breakdown, &grouping.groups, &points);
    let limit = || limit::own(source).map(|limit| limit.0);
    Series {
        limit_ns: (lens.measure == Measure::Latency).then(limit).flatten(),
        left_out: grouping.left_out,
        ..drawn(What::Io, &scope, &points, (&grouping.groups, known), rows)
    }
}

/// Draws rows, which ascend by bucket, as lines. `known` are the ranges of lines with stored rates
/// of single slices.
pub(super) fn drawn<'a>(
    what: What,
    scope: &Scope<'_>,
    points: &Points,
    (names, known): (&[(String, String)], impl FnOnce() -> Vec<Option<Range>>),
    rows: impl Iterator<Item = Row<'a>>,
) -> Series {
    let (measure, unit) = match scope.lens.measure {
        Measure::Iops => ("iops", what.unit()),
        Measure::Throughput => ("bytes", "bytes_per_s"),
        Measure::Latency => ("latency", "ns"),
    };
    let is_latency = scope.lens.measure == Measure::Latency;
    let groups = match is_latency {
        true => latencies(names, rows, points),
        false => rates(names, rows, known(), (scope, points)),
    };
    let count = counts(&groups, points.len());
    let enough: u64 = count.iter().sum();
    Series {
        sentence: match is_latency {
            _ if enough < ENOUGH => words::too_few_of(enough, what.noun()),
            true => latency_sentence(what, &groups, points),
            false if !scope.source.has_times() => words::NO_TIMES.to_owned(),
            false => rate_sentence(what, scope, &groups, points),
        },
        measure: measure.to_owned(),
        unit: unit.to_owned(),
        at_ns: points.at_ns(),
        width_ns: points.width_ns(),
        groups,
        operations_per_s: count.iter().zip(&points.load).map(|(n, load)| rate(*n, *load)).collect(),
        count,
        limit_ns: None,
        left_out: 0,
    }
}

/// Counts the I/Os of all lines, by point.
fn counts(groups: &[Group], points: usize) -> Vec<u64> {
    let of_point = |point: usize| groups.iter().filter_map(|group| group.count.get(point)).sum();
    (0..points).map(of_point).collect()
}

fn empty(key: &(String, String)) -> Group {
    Group {
        key: key.0.clone(),
        label: key.1.clone(),
        count: Vec::new(),
        mean: Vec::new(),
        min: Vec::new(),
        max: Vec::new(),
        p50: Vec::new(),
        p95: Vec::new(),
        p99: Vec::new(),
        wait_share: Vec::new(),
    }
}

fn latencies<'a>(
    names: &[(String, String)],
    rows: impl Iterator<Item = Row<'a>>,
    points: &Points,
) -> Vec<Group> {
    let mut groups: Vec<Group> = names.iter().map(empty).collect();
    let mut sums: Vec<Sum> = groups.iter().map(|_| Sum::default()).collect();
    let mut all_wait = 0_u64;
    let mut point = 0;
    for (bucket, line, row) in rows {
        while points.of[bucket] > point {
            close(&mut groups, &mut sums, &mut all_wait);
            point += 1;
        }
        all_wait = all_wait.saturating_add(row.service.sum().0);
        if let Some(group) = line {
            sums[group].add(row);
        }
    }
    for _ in point..points.len() {
        close(&mut groups, &mut sums, &mut all_wait);
    }
    groups
}

/// Ends a point: adds it to every line, and begins the next.
fn close(groups: &mut [Group], sums: &mut [Sum], all_wait: &mut u64) {
    #[expect(clippy::cast_precision_loss, reason = "drawn, to a few digits")]
    let float = |value: Option<u64>| value.map(|value| value as f64);
    for (group, sum) in groups.iter_mut().zip(sums.iter_mut()) {
        let times = sum.times();
        group.count.push(sum.count());
        group.mean.push(times.and_then(Histogram::mean_ns));
        group.min.push(float(times.and_then(Histogram::min).map(|value| value.0)));
        group.max.push(float(sum.max()));
        group.p50.push(float(sum.percentile(0.5)));
        group.p95.push(float(sum.percentile(0.95)));
        group.p99.push(float(sum.percentile(0.99)));
        let share = (*all_wait > 0).then(|| ratio(sum.wait_ns(), *all_wait));
        group.wait_share.push(share);
        sum.clear();
    }
    *all_wait = 0;
}

/// Counts and bytes, by line and bucket.
struct Totals {
    count: Vec<u64>,
    bytes: Vec<u64>,
}

fn rates<'a>(
    names: &[(String, String)],
    rows: impl Iterator<Item = Row<'a>>,
    known: Vec<Option<Range>>,
    (scope, points): (&Scope<'_>, &Points),
) -> Vec<Group> {
    let buckets = scope.frame.len();
    let zero = || Totals { count: vec![0; buckets], bytes: vec![0; buckets] };
    let mut totals: Vec<Totals> = names.iter().map(|_| zero()).collect();
    for (bucket, line, row) in rows {
        if let Some(group) = line {
            totals[group].count[bucket] += row.service.count();
            totals[group].bytes[bucket] = totals[group].bytes[bucket].saturating_add(row.bytes);
        }
    }
    let lines = names.iter().zip(&totals).zip(known);
    lines.map(|((key, totals), range)| line(key, totals, range, scope, points)).collect()
}

fn line(
    key: &(String, String),
    totals: &Totals,
    range: Option<Range>,
    scope: &Scope<'_>,
    points: &Points,
) -> Group {
    let of_bytes = scope.lens.measure == Measure::Throughput;
    let wanted = if of_bytes { &totals.bytes } else { &totals.count };
    let mut count = vec![0; points.len()];
    let mut sum = vec![0_u64; points.len()];
    for (bucket, point) in points.of.iter().enumerate() {
        count[*point] += totals.count[bucket];
        sum[*point] += wanted[bucket];
    }
    let range = range.unwrap_or_else(|| of_buckets(wanted, scope, points));
    let means = sum.iter().zip(&points.load);
    Group {
        count,
        mean: means.map(|(sum, load)| Some(rate(*sum, *load))).collect(),
        min: range.least,
        max: range.most,
        ..empty(key)
    }
}

/// Returns smallest and largest rate of the buckets in each point, where rates of single slices are
/// unknown.
fn of_buckets(wanted: &[u64], scope: &Scope<'_>, points: &Points) -> Range {
    let mut range = Range { least: vec![None; points.len()], most: vec![None; points.len()] };
    let short = scope.short_buckets();
    for (bucket, point) in points.of.iter().enumerate().filter(|(bucket, _)| !short[*bucket]) {
        let value = rate(wanted[bucket], scope.frame.load[bucket]);
        let old = range.least[*point];
        range.least[*point] = Some(old.map_or(value, |old: f64| old.min(value)));
        let old = range.most[*point];
        range.most[*point] = Some(old.map_or(value, |old: f64| old.max(value)));
    }
    range
}

/// Describes the mean of all lines, and the line with the highest slice.
fn rate_sentence(what: What, scope: &Scope<'_>, groups: &[Group], points: &Points) -> String {
    let of_bytes = scope.lens.measure == Measure::Throughput;
    let text = |value: f64| match of_bytes {
        true => units::print::bytes_per_second(value),
        false => what.rate(value),
    };
    let time = points.load.iter().fold(Nanos::ZERO, |sum, load| sum + *load);
    let total: f64 = groups
        .iter()
        .flat_map(|group| group.mean.iter().zip(&points.load))
        .filter_map(|(mean, load)| Some((*mean)? * load.as_secs_f64()))
        .sum();
    let mean = if time.0 > 0 { total / time.as_secs_f64() } else { 0.0 };
    let highest = groups.iter().flat_map(|group| {
        let most = group.max.iter().enumerate();
        most.filter_map(move |(point, value)| Some(((*value)?, group, point)))
    });
    let highest = highest.max_by(|a, b| a.0.total_cmp(&b.0));
    let peak = highest.map(|(value, group, point)| {
        let (value, at) = (text(value), points.clock(point));
        match groups.len() {
            1 => format!(", at most {value} at {at}"),
            _ => format!("; the highest line is {} with {value} at {at}", group.label),
        }
    });
    format!("{} on average over {time}{}.", text(mean), peak.unwrap_or_default())
}

/// Describes a rise of a line's p99, and its time.
fn latency_sentence(what: What, groups: &[Group], points: &Points) -> String {
    if groups.iter().flat_map(|group| &group.max).all(Option::is_none) {
        return words::NO_LATENCIES.to_owned();
    }
    let known = |group: &Group| -> Vec<(usize, f64)> {
        let values = group.p99.iter().zip(&group.count).enumerate();
        values
            .filter(|(_, (_, count))| **count >= ENOUGH)
            .filter_map(|(point, (p99, _))| Some((point, (*p99)?)))
            .collect()
    };
    let worst = groups
        .iter()
        .filter_map(|group| {
            let worst = known(group).into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some((group, worst))
        })
        .max_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let Some((group, (point, value))) = worst else {
        return format!("No point has {ENOUGH} {}s of one line, so none is named.", what.noun());
    };
    let mut values: Vec<f64> = known(group).into_iter().map(|(_, value)| value).collect();
    values.sort_by(f64::total_cmp);
    let (least, median) = (values[0], values[values.len() / 2]);
    let at = points.clock(point);
    let label = &group.label;
    if median > 0.0 && value >= SPIKE_TIMES * median {
        let share = group.wait_share[point].filter(|_| groups.len() > 1);
        let share = share
            .map(|share| format!("; they caused {} of the waiting time there", percent(share)));
        return format!(
            "p99 of {label} rose to {} at {at}, {} times its median of {}{}.",
            nanos(value),
            units::print::number((value / median * 10.0).round() / 10.0),
            nanos(median),
            share.unwrap_or_default(),
        );
    }
    if values.len() == 1 {
        return format!("p99 of {label} is {}.", nanos(value));
    }
    let others = if groups.len() > 1 { ", the slowest line" } else { "" };
    format!(
        "p99 of {label}{others}, stays between {} and {}, with the most at {at}.",
        nanos(least),
        nanos(value)
    )
}

fn nanos(value: f64) -> Nanos {
    Nanos::from_secs_f64(value / 1e9)
}
