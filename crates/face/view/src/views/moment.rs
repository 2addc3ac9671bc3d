use run_store::rollup::Rollup;
use run_store::run::Phase;
use stats::Histogram;
use units::Nanos;
use units::print::{count, iops, percent};

use super::{edges, map, sizes};
use crate::document::{Moment, MomentEvent};
use crate::request::Lens;
use crate::scope::{Detail, ENOUGH, Phases, Scope, Sum, ratio};
use crate::source::Source;
use crate::words::{self, rate};

/// Number of rows of the histograms.
const ROWS: usize = 48;
/// Maximum number of listed contributors.
const TOP: usize = 10;
/// Maximum distance of a related event, in lengths of the moment.
const AROUND: u64 = 3;
/// Distance up to which events are always related to the moment, because the effect of a checkpoint
/// lasts. Our choice.
const AROUND_MIN: Nanos = Nanos::from_secs(5);
/// Minimum ratio of a local maximum of p99 to the median, for a spike. Our choice.
const SPIKE_TIMES: f64 = 1.5;

/// Makes view `moment`: the run at one point in time.
pub(crate) fn moment(source: &Source, lens: &Lens) -> Moment {
    let course = Scope::course(source, lens);
    let course_p99 = Course::of(&course);
    let Some(bucket) = course_p99.chosen(&course, lens.at) else { return nothing(source) };
    let (closer, at, width) = closer(source, lens, &course, bucket);
    let here = Lens { time: Some((at, Some(at.saturating_add(width)))), ..lens.clone() };
    let fine = closer.as_ref().unwrap_or(source);
    let scope = Scope::new(fine, &here, Detail::Usual, Phases::Course, None);
    let tiles = Scope::new(fine, &here, Detail::Tiles, Phases::Course, None);
    let sums = scope.by_size();
    let (now, all) = (scope.sum(), course.sum());
    let times = all.times();
    let ends = (times.and_then(Histogram::min), times.and_then(Histogram::max));
    let edges = edges::around(
        ends.0.map_or(10_000, |least| least.0),
        ends.1.map_or(1_000_000_000, |most| most.0),
        ROWS,
    );
    let spikes = course_p99.spikes();
    let (counts, counts_of_all) = (counts(&now, &edges), counts(&all, &edges));
    Moment {
        sentence: sentence(&now, &course_p99, (&source.axis().clock(at), width), &sums),
        at_ns: at.0,
        width_ns: width.0,
        sizes: sizes::rows(&sums),
        top: map::top(&tiles, TOP),
        shares: shares(&counts),
        counts,
        shares_of_all: shares(&counts_of_all),
        counts_of_all,
        edges_ns: edges,
        events: events(source, at, width),
        previous_spike_ns: spikes
            .iter()
            .rev()
            .find(|s| **s < bucket)
            .map(|s| course.frame.at[*s].0),
        next_spike_ns: spikes.iter().find(|s| **s > bucket).map(|s| course.frame.at[*s].0),
    }
}

/// Returns the finest part of a bucket in the series, with its begin and length: the requested
/// slice, otherwise the worst slice of the bucket.
fn closer(
    source: &Source,
    lens: &Lens,
    course: &Scope<'_>,
    bucket: usize,
) -> (Option<Source>, Nanos, Nanos) {
    let (at, width) = (course.frame.at[bucket], course.frame.width[bucket]);
    let window = (at, at.saturating_add(width));
    let Some(closer) = source.zoomed(window) else { return (None, at, width) };
    let within = Lens { time: Some((window.0, Some(window.1))), ..lens.clone() };
    let slices = Scope::course(&closer, &within);
    let Some(slice) = Course::of(&slices).chosen(&slices, lens.at) else {
        return (None, at, width);
    };
    let place = (slices.frame.at[slice], slices.frame.width[slice]);
    drop(slices);
    (Some(closer), place.0, place.1)
}

/// p99 and number of I/Os, by bucket.
struct Course {
    p99: Vec<Option<u64>>,
    count: Vec<u64>,
}

impl Course {
    fn of(scope: &Scope<'_>) -> Self {
        let mut sums = Self { p99: Vec::new(), count: Vec::new() };
        let mut sum = Sum::default();
        for (bucket, row) in scope.rows() {
            while sums.p99.len() < bucket {
                sums.close(&mut sum);
            }
            sum.add(row);
        }
        while sums.p99.len() < scope.frame.len() {
            sums.close(&mut sum);
        }
        sums
    }

    fn close(&mut self, sum: &mut Sum) {
        self.p99.push(sum.percentile(0.99));
        self.count.push(sum.count());
        sum.clear();
    }

    /// Returns p99 of a bucket, if the bucket has enough I/Os.
    fn known(&self, bucket: usize) -> Option<u64> {
        self.p99.get(bucket).copied().flatten().filter(|_| self.count[bucket] >= ENOUGH)
    }

    /// Returns the bucket of a time; without a time, the worst bucket.
    fn chosen(&self, scope: &Scope<'_>, at: Option<Nanos>) -> Option<usize> {
        if let Some(at) = at {
            let next = scope.frame.at.partition_point(|begin| *begin <= at);
            return (scope.frame.len() > 0).then(|| next.saturating_sub(1));
        }
        let measured = measured(scope);
        let enough = (0..self.p99.len()).filter(|bucket| self.known(*bucket).is_some());
        let worst = enough.max_by_key(|bucket| (measured[*bucket], self.known(*bucket)));
        worst.or_else(|| (0..self.p99.len()).max_by_key(|bucket| self.p99[*bucket]))
    }

    fn median(&self) -> Option<u64> {
        let mut known: Vec<u64> =
            (0..self.p99.len()).filter_map(|bucket| self.known(bucket)).collect();
        known.sort_unstable();
        known.get(known.len() / 2).copied()
    }

    /// Returns the local maxima of p99 that stand out.
    #[expect(clippy::cast_precision_loss, reason = "compared to a few digits")]
    fn spikes(&self) -> Vec<usize> {
        let Some(median) = self.median() else { return Vec::new() };
        let value = |bucket: usize| self.known(bucket).unwrap_or(0);
        let stands_out = |bucket: &usize| {
            let here = value(*bucket);
            let before = bucket.checked_sub(1).map_or(0, value);
            let after = if bucket + 1 < self.p99.len() { value(bucket + 1) } else { 0 };
            here as f64 >= SPIKE_TIMES * median as f64 && here > before && here >= after
        };
        (0..self.p99.len()).filter(stands_out).collect()
    }
}

/// Returns true for each bucket of measured time; these buckets have priority.
fn measured(scope: &Scope<'_>) -> Vec<bool> {
    let mut measured = vec![false; scope.frame.len()];
    for (number, span) in (0_u32..).zip(scope.source.rollup().spans()) {
        measured[scope.frame.range(number)].fill(span.phase == Phase::Measured);
    }
    measured
}

fn nothing(source: &Source) -> Moment {
    Moment {
        sentence: words::too_few(0),
        at_ns: 0,
        width_ns: source.slice().0,
        sizes: Vec::new(),
        top: Vec::new(),
        edges_ns: edges::around(10_000, 1_000_000_000, ROWS),
        counts: vec![0; ROWS],
        shares: vec![0.0; ROWS],
        counts_of_all: vec![0; ROWS],
        shares_of_all: vec![0.0; ROWS],
        events: Vec::new(),
        previous_spike_ns: None,
        next_spike_ns: None,
    }
}

fn counts(sum: &Sum, edges: &[u64]) -> Vec<u64> {
    let mut counts = vec![0; edges.len() - 1];
    for (value, count) in sum.buckets() {
        counts[edges::row_of(edges, value.0)] += u64::from(count);
    }
    counts
}

fn shares(counts: &[u64]) -> Vec<f64> {
    let all = counts.iter().sum();
    counts.iter().map(|count| ratio(*count, all)).collect()
}

/// Returns the events of the run around the moment, and the begins of phases.
fn events(source: &Source, at: Nanos, width: Nanos) -> Vec<MomentEvent> {
    let reach = Nanos(width.0.saturating_mul(AROUND)).max(AROUND_MIN);
    let from = at.saturating_sub(reach);
    let to = at.saturating_add(width).saturating_add(reach);
    let mut events = source.moments();
    events.extend(phases(source.rollup()));
    events.retain(|event| (from.0..=to.0).contains(&event.at_ns));
    events.sort_by_key(|event| event.at_ns);
    events
}

fn phases(rollup: &Rollup) -> Vec<MomentEvent> {
    let spans = rollup.spans().iter();
    spans
        .map(|span| MomentEvent {
            at_ns: span.from.0,
            kind: "phase".to_owned(),
            text: format!("{} of {} began", span.phase.name(), count(span.tiles.into(), "tile")),
        })
        .collect()
}

fn sentence(now: &Sum, course: &Course, (when, width): (&str, Nanos), sizes: &[Sum]) -> String {
    if now.count() < ENOUGH {
        return format!("At {when}: {}", words::lower(&words::too_few(now.count())));
    }
    let rate = iops(rate(now.count(), width));
    let Some(p99) = now.percentile(0.99) else {
        return format!("At {when} for {width}: {rate}. {}", words::NO_LATENCIES);
    };
    let beside = course.median().filter(|median| *median > 0).map(|median| {
        let times = units::print::number((crate::scope::ratio(p99, median) * 10.0).round() / 10.0);
        format!(", {times} times the median of the run")
    });
    let wait: u64 = sizes.iter().map(Sum::wait_ns).fold(0, u64::saturating_add);
    let most = sizes.iter().enumerate().max_by_key(|(_, sum)| sum.wait_ns());
    let most = most.map(|(slot, sum)| {
        let name = match slot {
            16 => "flushes".to_owned(),
            slot if slot < 8 => analyze::sizes("read", slot, slot),
            slot => analyze::sizes("write", slot - 8, slot - 8),
        };
        let share = percent(crate::scope::ratio(sum.wait_ns(), wait));
        format!("; {name} are {share} of the waiting")
    });
    format!(
        "At {when} for {width}: {rate}, p99 {}{}{}.",
        Nanos(p99),
        beside.unwrap_or_default(),
        most.unwrap_or_default()
    )
}
