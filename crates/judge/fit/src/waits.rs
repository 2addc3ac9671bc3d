//! Search for I/Os that wait for completions of others.
//!
//! An I/O that waits begins soon after a completion, more often than by chance. Chance is the share
//! of moments near the I/O that lie as soon after a completion: an independent I/O could as well
//! have begun at any moment between its neighbours, whatever the rate at that time. Our choice,
//! because arrivals in bursts then show no waiting. These moments are read with the trace's clock:
//! with a clock of milliseconds, many an independent I/O begins in the tick of a completion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trace::IoRecord;
use units::Nanos;

use super::phases::Stretch;

/// Minimum number of I/Os that follow a completion, and their minimum share beyond chance.
const FOLLOWERS_MIN: usize = 200;
const EXCESS_MIN: f64 = 0.25;
/// Longest pause that counts as waiting. A longer one is the think time of a user.
const PAUSE_MAX: Nanos = Nanos::SECOND;
/// Moments between the neighbours of an I/O at which chance is measured, as shares of the interval.
const MOMENTS: [f64; 4] = [0.125, 0.375, 0.625, 0.875];

/// The last completion before an I/O began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Before {
    /// Position of the completed I/O.
    pub(crate) of: usize,
    pub(crate) pause: Nanos,
}

/// Completions before I/Os, and the pause up to which they were waited for.
#[derive(Debug, Clone)]
pub(crate) struct Waits {
    /// For each I/O, the last completion before it in the same phase.
    pub(crate) before: Vec<Option<Before>>,
    /// Longest pause of an I/O that waited.
    pub(crate) within: Nanos,
    /// Share of I/Os that begin within this pause; then the share by chance.
    pub(crate) share: f64,
    pub(crate) chance: f64,
}

/// Returns the last completion before each I/O, in the same phase.
pub(crate) fn completions(records: &[&IoRecord], stretches: &[Stretch]) -> Vec<Option<Before>> {
    let mut in_flight: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let (mut last, mut phase) = (None, None);
    let before = records.iter().enumerate().map(|(position, record)| {
        let place = stretches.iter().position(|it| it.holds(record.issue));
        if place != phase {
            (phase, last) = (place, None);
            in_flight.clear();
        }
        while let Some(Reverse((end, of))) = in_flight.peek().copied() {
            if end > record.issue.0 {
                break;
            }
            last = Some((end, of));
            in_flight.pop();
        }
        in_flight.push(Reverse((end(record), position)));
        last.map(|(end, of)| Before { of, pause: Nanos(record.issue.0 - end) })
    });
    before.collect()
}

/// Returns the time of completion, in nanoseconds. An I/O without a latency ends as it begins.
pub(crate) fn end(record: &IoRecord) -> u64 {
    record.issue.0.saturating_add(record.latency().unwrap_or_default().0)
}

/// Finds the pause that separates waiting I/Os best from chance; `None` without clear evidence.
pub(crate) fn find(
    records: &[&IoRecord],
    stretches: &[Stretch],
    resolution: Nanos,
) -> Option<Waits> {
    let before = completions(records, stretches);
    let mut pauses: Vec<Nanos> = before.iter().flatten().map(|own| own.pause).collect();
    pauses.sort_unstable();
    let mut chance = by_chance(records, &before, resolution);
    chance.sort_unstable();
    let share = |sorted: &[Nanos], within: Nanos| {
        sorted.partition_point(|pause| *pause <= within) as f64 / sorted.len().max(1) as f64
    };
    let mut best = (Nanos::ZERO, 0.0, 0.0);
    let mut within = Nanos(1);
    while within <= PAUSE_MAX {
        let found = (share(&pauses, within), share(&chance, within));
        if found.0 - found.1 > best.1 - best.2 {
            best = (within, found.0, found.1);
        }
        // A tenth more at each step, but at least one nanosecond.
        within = Nanos(within.0 + (within.0 / 10).max(1));
    }
    let (within, share, chance) = best;
    let followers = share * pauses.len() as f64;
    let is_clear = followers >= FOLLOWERS_MIN as f64 && share - chance >= EXCESS_MIN;
    is_clear.then_some(Waits { before, within, share, chance })
}

/// Returns the pauses since a completion at other moments between the neighbours of each I/O. The
/// I/O's own completion is not counted.
fn by_chance(records: &[&IoRecord], before: &[Option<Before>], resolution: Nanos) -> Vec<Nanos> {
    let tick = resolution.0.max(1);
    let mut ends: Vec<(u64, usize)> =
        records.iter().enumerate().map(|(at, record)| (end(record), at)).collect();
    ends.sort_unstable();
    let mut pauses = Vec::with_capacity(records.len() * MOMENTS.len());
    for position in 1..records.len().saturating_sub(1) {
        // The first I/O of a phase follows no completion of its own phase.
        if before[position].is_none() {
            continue;
        }
        let (from, to) = (records[position - 1].issue, records[position + 1].issue);
        let length = (to - from).as_secs_f64();
        for share in MOMENTS {
            let moment = from.saturating_add(Nanos::from_secs_f64(length * share));
            let moment = Nanos(moment.0 / tick * tick);
            let mut at = ends.partition_point(|(end, _)| *end <= moment.0);
            let completed = loop {
                let Some((end, of)) = at.checked_sub(1).map(|at| ends[at]) else { break None };
                if of != position {
                    break Some(end);
                }
                at -= 1;
            };
            pauses.push(completed.map_or(Nanos(u64::MAX), |end| Nanos(moment.0 - end)));
        }
    }
    pauses
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::{Purpose, Stream};
    use trace::Operation;

    fn io(issue: u64, latency: u64) -> IoRecord {
        let record = IoRecord::new(Nanos(issue), Operation::Read, 0, 4096);
        IoRecord { device_time: Some(Nanos(latency)), ..record }
    }

    fn found(records: &[IoRecord]) -> Option<Waits> {
        found_with(records, Nanos(1))
    }

    fn found_with(records: &[IoRecord], resolution: Nanos) -> Option<Waits> {
        let to = records.last().map_or(Nanos(1), |last| Nanos(last.issue.0 + 1));
        let stretch = Stretch { from: Nanos::ZERO, to, kind: 0 };
        find(&records.iter().collect::<Vec<_>>(), &[stretch], resolution)
    }

    fn exponential(stream: &mut Stream, mean_ns: u64) -> u64 {
        stream.exponential(Nanos(mean_ns)).0
    }

    #[test]
    fn io_after_a_completion_waits_for_it() {
        let mut stream = Stream::derive(1, &[], Purpose::Device);
        let (mut at, mut records) = (0, Vec::new());
        for _ in 0..400 {
            at += exponential(&mut stream, 50_000_000);
            for _ in 0..3 {
                let latency = 500_000 + exponential(&mut stream, 1_000_000);
                records.push(io(at, latency));
                at += latency + 20_000;
            }
        }
        let waits = found(&records).expect("two of three wait");
        assert!((0.6..0.75).contains(&waits.share), "{}", waits.share);
        assert!(waits.chance < 0.1, "{}", waits.chance);
        assert!((20_000..200_000).contains(&waits.within.0), "{}", waits.within);
    }

    #[test]
    fn independent_arrivals_in_bursts_wait_for_nothing() {
        let mut stream = Stream::derive(2, &[], Purpose::Device);
        let (mut at, mut records) = (0, Vec::new());
        for io_number in 0..4000 {
            let mean = if io_number % 400 < 300 { 1_000_000 } else { 30_000_000 };
            at += exponential(&mut stream, mean);
            records.push(io(at, 200_000 + exponential(&mut stream, 2_000_000)));
        }
        let found = found(&records);
        assert!(found.is_none(), "{:?}", found.map(|own| (own.within, own.share, own.chance)));
    }

    /// Returns a record as a clock of milliseconds shows it.
    fn in_milliseconds(record: &IoRecord) -> IoRecord {
        let tick = |time: u64| time / 1_000_000 * 1_000_000;
        io(tick(record.issue.0), tick(end(record)) - tick(record.issue.0))
    }

    #[test]
    fn coarse_clock_makes_no_independent_io_wait() {
        let mut stream = Stream::derive(3, &[], Purpose::Device);
        let (mut at, mut records) = (0, Vec::new());
        for _ in 0..4000 {
            at += exponential(&mut stream, 1_200_000);
            records.push(io(at, 300_000 + exponential(&mut stream, 700_000)));
        }
        assert!(found(&records).is_none(), "the arrivals are independent");
        let coarse: Vec<IoRecord> = records.iter().map(in_milliseconds).collect();
        let found = found_with(&coarse, Nanos::from_millis(1));
        assert!(found.is_none(), "{:?}", found.map(|own| (own.within, own.share, own.chance)));
    }

    #[test]
    fn waiting_is_found_with_a_coarse_clock() {
        let mut stream = Stream::derive(4, &[], Purpose::Device);
        let (mut at, mut records) = (0, Vec::new());
        for _ in 0..400 {
            at += exponential(&mut stream, 50_000_000);
            for _ in 0..3 {
                let latency = 500_000 + exponential(&mut stream, 5_000_000);
                records.push(io(at, latency));
                at += latency + 20_000;
            }
        }
        let coarse: Vec<IoRecord> = records.iter().map(in_milliseconds).collect();
        let waits = found_with(&coarse, Nanos::from_millis(1)).expect("two of three wait");
        assert!((0.6..0.75).contains(&waits.share), "{}", waits.share);
    }
}
