//! Decision on the arrival process of I/Os: if they wait for completions, and their interarrival
//! times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trace::IoRecord;
use units::Nanos;

use super::arrival::{Arrival, rounded, short};
use super::phases::Stretch;
use super::{bursts, gaps};

/// Minimum number of I/Os for a point in a statistic.
const ENOUGH: f64 = 30.0;
/// Maximum variation of interarrival times at a fixed rate, as a multiple of their mean.
const STEADY: f64 = 0.3;
/// Maximum Kolmogorov-Smirnov distance of interarrival times that count as a Poisson process.
const POISSON: f64 = 0.05;
/// Minimum share of the time at the ceiling that alone proves a closed loop.
const FULL: f64 = 0.5;

/// Decision on an arrival process, with its reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decided {
    pub(crate) arrival: Arrival,
    /// Arrivals of each phase, if phases of one kind have different bursts.
    pub(crate) each: Vec<Arrival>,
    pub(crate) why: String,
}

impl Decided {
    fn alike(arrival: Arrival, why: String) -> Self {
        Self { arrival, each: Vec::new(), why }
    }

    /// Returns the arrival process of a phase, given by its position among the phases of its kind.
    pub(crate) fn of(&self, stretch: usize) -> &Arrival {
        self.each.get(stretch).unwrap_or(&self.arrival)
    }
}

/// Time, and number of submitted I/Os, each indexed by the number of I/Os in flight.
#[derive(Debug, Clone, Default)]
struct Feedback {
    seconds: Vec<f64>,
    issues: Vec<f64>,
    latency: f64,
}

impl Feedback {
    fn of(records: &[&IoRecord], stretches: &[Stretch]) -> Option<Self> {
        let mut all = Self::default();
        let mut ends: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut now = 0;
        let mut stretch = None;
        for record in records {
            let at = record.issue.0;
            let place = stretches.iter().position(|it| it.holds(record.issue));
            if place != stretch {
                (stretch, now) = (place, at);
                ends.clear();
            }
            while let Some(end) = ends.peek().map(|end| end.0).filter(|end| *end <= at) {
                all.spend(ends.len(), end.saturating_sub(now));
                now = now.max(end);
                ends.pop();
            }
            all.spend(ends.len(), at.saturating_sub(now));
            now = at;
            let latency = record.latency()?;
            all.issue(ends.len());
            all.latency += latency.as_secs_f64();
            ends.push(Reverse(at.saturating_add(latency.0)));
        }
        Some(all)
    }

    fn room(&mut self, depth: usize) {
        if self.seconds.len() <= depth {
            self.seconds.resize(depth + 1, 0.0);
            self.issues.resize(depth + 1, 0.0);
        }
    }

    fn spend(&mut self, depth: usize, ns: u64) {
        self.room(depth);
        self.seconds[depth] += Nanos(ns).as_secs_f64();
    }

    fn issue(&mut self, depth: usize) {
        // An I/O at a new depth extends the table.
        self.room(depth + 1);
        self.issues[depth] += 1.0;
    }

    /// Detects a closed loop, which shows in one of two ways. The first is a ceiling: time passes
    /// with a number of I/Os in flight, and never one more is submitted, although at the mean rate
    /// dozens would have come. The second is a slope: the more of the `n` users wait for
    /// completions, the fewer can submit. So the rate decreases linearly and reaches zero at `n`
    /// (the finite source of queueing theory; Kleinrock 1975, section 3.8). By Little's law, the
    /// think time of a loop of `n` users is `n` divided by the rate, minus the latency.
    fn closed(&self) -> Option<Decided> {
        let (time, count): (f64, f64) = (self.seconds.iter().sum(), self.issues.iter().sum());
        let ceiling = self.issues.iter().rposition(|issues| *issues > 0.0)? + 1;
        let rate = count / time.max(1e-9);
        let full = self.seconds[ceiling];
        let line = self.line(ceiling, rate);
        let is_full = full * rate >= ENOUGH && (full / time >= FULL || line.is_some());
        let from_line = line.filter(|line| line.is_steep()).map(|line| line.zero.round());
        let (users, sign) = match from_line {
            _ if is_full => (
                ceiling as f64,
                format!(
                    "never more than {ceiling} in flight, and {ceiling} for {:.1} % of the time. \
                     In that time {:.0} more would have arrived if arrivals did not wait for \
                     completions",
                    full / time * 100.0,
                    full * rate
                ),
            ),
            Some(users) if users >= ceiling as f64 && users <= 4.0 * ceiling as f64 => (
                users,
                format!(
                    "the rate falls with the number in flight as if {users} users waited for \
                     completions; at most {ceiling} were seen waiting at a time"
                ),
            ),
            _ => return None,
        };
        let latency = self.latency / count;
        let think = users / rate - latency;
        // A hundredth of the latency is within the precision of the rate.
        let think = Nanos::from_secs_f64(if think > latency / 100.0 { think } else { 0.0 });
        let why = format!(
            "closed: {sign}; {} I/Os per second at {} each leave a think time of {}",
            short(rate),
            Nanos::from_secs_f64(latency),
            if think == Nanos::ZERO { "nothing".to_owned() } else { think.to_string() },
        );
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few users")]
        let users = users as u32;
        Some(Decided::alike(Arrival::Closed { users, think: rounded(think) }, why))
    }

    /// Fits a line to the submission rates by number in flight, each weighted by its expected
    /// count; `None` if the line does not fall.
    fn line(&self, ceiling: usize, rate: f64) -> Option<Line> {
        let points: Vec<(f64, f64, f64)> = (0..=ceiling)
            .filter(|at| self.seconds[*at] * rate >= ENOUGH)
            .map(|at| (at as f64, self.issues[at] / self.seconds[at], self.seconds[at]))
            .collect();
        let weight: f64 = points.iter().map(|point| point.2).sum();
        let mean = |of: fn(&(f64, f64, f64)) -> f64| {
            points.iter().map(|point| of(point) * point.2).sum::<f64>() / weight
        };
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2) * point.2).sum();
        let together: f64 =
            points.iter().map(|point| (point.0 - x) * (point.1 - y) * point.2).sum();
        let slope = together / spread;
        // Counts of a Poisson process at the mean rate vary by their mean.
        let error = (y / spread).sqrt();
        (points.len() > 1 && slope < 0.0).then(|| Line {
            zero: x - y / slope,
            errors: -slope / error,
            drop: -slope * x / (y - slope * x),
        })
    }
}

/// Rate that decreases with the number in flight.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Number in flight at which the rate is zero.
    zero: f64,
    /// Slope in units of its standard error.
    errors: f64,
    /// Loss of rate at the mean number in flight, as a share of the rate at zero in flight.
    drop: f64,
}

impl Line {
    /// Returns true if the slope is significant and large.
    fn is_steep(&self) -> bool {
        self.errors >= 6.0 && self.drop >= 0.05
    }
}

/// Returns the closed loop of these I/Os; `None` if there is no evidence for one.
pub(crate) fn closed(records: &[&IoRecord], stretches: &[Stretch]) -> Option<Decided> {
    let decided = Feedback::of(records, stretches)?.closed()?;
    (!keeps_pace(records)).then_some(decided)
}

/// Returns true if I/Os are submitted at equal intervals, independent of latencies. The test: the
/// time from submission to submission varies less than the time from completion to submission.
pub(crate) fn keeps_pace(records: &[&IoRecord]) -> bool {
    let gaps = records.windows(2).map(|pair| (pair[1].issue - pair[0].issue).as_secs_f64());
    let pauses = records.windows(2).map(|pair| {
        let latency = pair[0].latency().unwrap_or_default();
        (pair[1].issue - pair[0].issue).as_secs_f64() - latency.as_secs_f64()
    });
    let gap = variation(gaps);
    gap.1 < STEADY * gap.0 && gap.1 < variation(pauses).1
}

/// Returns the mean and the standard deviation.
fn variation(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    let mean = sum / f64::max(count, 1.0);
    (mean, (squares / f64::max(count, 1.0) - mean * mean).max(0.0).sqrt())
}

/// Returns the arrivals of I/Os that do not wait for completions. `active` is the total length of
/// the phases.
pub(crate) fn open(
    records: &[&IoRecord],
    stretches: &[Stretch],
    resolution: Nanos,
    has_latency: bool,
) -> Decided {
    let active: f64 = stretches.iter().map(|it| (it.to - it.from).as_secs_f64()).sum();
    let rate = records.len() as f64 / active.max(1e-9);
    let gaps = between(records, stretches, resolution);
    let independent = if has_latency {
        "open: the arrival rate does not fall while more I/Os are in flight"
    } else {
        "open: the trace has no completions, so nothing shows that the load waits for them"
    };
    let (mean, deviation) = variation(gaps.iter().copied());
    let variation = deviation / mean.max(1e-12);
    if gaps.len() as f64 >= ENOUGH && variation < STEADY {
        let why = format!(
            "paced: the {} interarrival times vary by {variation:.2} of their mean (Poisson: 1)",
            gaps.len()
        );
        let users = in_flight(records);
        return Decided::alike(Arrival::Paced { users, rate }, why);
    }
    let distance = gaps::poisson_distance(&gaps, mean);
    let (mixture, words) = if (gaps.len() as f64) < ENOUGH || distance < POISSON {
        (
            Vec::new(),
            format!("interarrival times are close to Poisson arrivals (distance {distance:.2})"),
        )
    } else {
        let words = format!("in bursts: interarrival times vary by {variation:.1} of their mean");
        (gaps::mixture(&gaps), words)
    };
    let arrival = Arrival::Open { rate, gaps: mixture, bursts: Vec::new() };
    let own = stretches.iter().map(|it| bursts::of_stretch(records, it, resolution));
    let own: Vec<Option<Arrival>> = own.collect();
    let most = own.iter().flatten().filter_map(Arrival::bursts).max().unwrap_or(0);
    if most == 0 {
        return Decided::alike(arrival, format!("{independent}; {words}"));
    }
    let each = own.into_iter().map(|own| own.unwrap_or_else(|| arrival.clone())).collect();
    let why = format!(
        "{independent}; {words}, and some seconds are busier than these interarrival times \
         explain: phases of higher rates recur, of {most} kind{}",
        if most == 1 { "" } else { "s" }
    );
    Decided { arrival, each, why }
}

/// Returns the maximum number of I/Os in flight, at least 1.
fn in_flight(records: &[&IoRecord]) -> u32 {
    let mut ends: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut most = 1;
    for record in records {
        while ends.peek().is_some_and(|end| end.0 <= record.issue.0) {
            ends.pop();
        }
        ends.push(Reverse(record.issue.0 + record.latency().unwrap_or_default().0));
        most = most.max(ends.len());
    }
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// Returns the times between neighbouring I/Os in one phase, in seconds. Times that the clock
/// cannot distinguish count as half a clock step apart.
fn between(records: &[&IoRecord], stretches: &[Stretch], resolution: Nanos) -> Vec<f64> {
    let least = resolution.as_secs_f64() / 2.0;
    let mut gaps = Vec::with_capacity(records.len());
    for stretch in stretches {
        let inside: Vec<Nanos> =
            records.iter().map(|it| it.issue).filter(|at| stretch.holds(*at)).collect();
        let between = inside.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
        gaps.extend(between.map(|gap| gap.max(least)));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Operation;

    fn at(times: &[u64]) -> Vec<IoRecord> {
        times.iter().map(|ns| IoRecord::new(Nanos(*ns), Operation::Read, 0, 4096)).collect()
    }

    fn decided(records: &[IoRecord]) -> Decided {
        let to = records.last().map_or(Nanos(1), |last| Nanos(last.issue.0 + 1));
        let stretch = Stretch { from: Nanos::ZERO, to, kind: 0 };
        let records: Vec<&IoRecord> = records.iter().collect();
        open(&records, &[stretch], Nanos(1), false)
    }

    #[test]
    fn a_grid_of_times_is_paced() {
        let times: Vec<u64> = (0..1000).map(|at| at * 10_000_000 + at % 7 * 1000).collect();
        let Arrival::Paced { rate, .. } = decided(&at(&times)).arrival else { panic!("not paced") };
        assert!((rate - 100.1).abs() < 0.2, "{rate}");
    }

    #[test]
    fn bursts_of_ten_fit_short_and_long_gaps_with_the_same_mean() {
        let times: Vec<u64> =
            (0..5000).map(|at| at / 10 * 1_000_000_000 + at % 10 * 100_000).collect();
        let decided = decided(&at(&times));
        let Arrival::Open { gaps, .. } = decided.of(0) else { panic!("not open") };
        let weight: f64 = gaps.iter().map(|(_, weight)| weight).sum();
        let short: f64 =
            gaps.iter().filter(|(gap, _)| gap.0 < 10_000_000).map(|(_, weight)| weight).sum();
        assert!((short / weight - 0.9).abs() < 0.02, "{gaps:?}");
        let mean = gaps.iter().map(|(gap, it)| gap.as_secs_f64() * it).sum::<f64>() / weight;
        assert!((mean - 0.1).abs() < 0.005, "{mean}");
    }
}
