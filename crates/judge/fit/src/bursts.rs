//! Search for intervals with higher rates within a phase, from the counts per second.
//!
//! With independent interarrival times, the busiest seconds would be too quiet, because real I/O
//! comes in bursts of bursts. Seconds are divided into a few levels by their counts, like the
//! states of a Markov modulated process (Fischer and Meier-Hellstern, "The Markov-modulated Poisson
//! process cookbook", Performance Evaluation 18, 1993). The interarrival times of each level are
//! fitted on a clock that runs at the level's rate.

use state_machine::{Purpose, Stream};
use trace::IoRecord;
use units::Nanos;

use super::arrival::{Arrival, Burst};
use super::gaps;
use super::phases::Stretch;

/// Minimum number of seconds in a phase for a search; the next constant is the minimum number of
/// I/Os.
const SECONDS_LEAST: usize = 20;
const IOS_LEAST: usize = 100;
/// Maximum number of levels. The language allows any number. With a second level, the rest was too
/// quiet in a production trace in which some I/O comes every second (distance of I/Os per second
/// 0.27, not 0.19).
const LEVELS: usize = 1;
/// Minimum count of a second in a level, as a share of the busiest second's count.
const BUSY: f64 = 0.5;
/// Minimum ratio of the busiest second to the busiest second simulated from interarrival times
/// alone, for a new level.
const BUSIER: f64 = 1.5;
/// Minimum number of interarrival times in a level for a fit.
const GAPS_LEAST: usize = 30;
/// Number of simulations with interarrival times alone.
const TRIES: u64 = 5;

/// Seconds of a phase: number of I/Os in each, and its level. Level 0 means none.
struct Seconds {
    counts: Vec<u32>,
    levels: Vec<usize>,
    /// Times of I/Os, in seconds since the start of the phase.
    times: Vec<f64>,
}

/// Returns the bursts of one phase; `None` if interarrival times alone explain its busiest second.
pub(crate) fn of_stretch(
    records: &[&IoRecord],
    stretch: &Stretch,
    resolution: Nanos,
) -> Option<Arrival> {
    let mut seconds = Seconds::of(records, stretch)?;
    let least = resolution.as_secs_f64() / 2.0;
    for level in 1..=LEVELS {
        if !seconds.is_busier(level - 1, least) {
            break;
        }
        seconds.divide(level);
    }
    let levels = seconds.levels.iter().copied().max().filter(|levels| *levels > 0)?;
    let active = (stretch.to - stretch.from).as_secs_f64();
    let rate = seconds.times.len() as f64 / active.max(1e-9);
    let fitted = |level: usize| seconds.mixture(level, least);
    let mut left = seconds.counts.len() as f64;
    let mut bursts = Vec::new();
    for level in 1..=levels {
        let (count, ios, runs) = seconds.sums(level);
        let time = count / left;
        left -= count;
        let length = Nanos::from_millis(1000).scale(count / runs);
        bursts.push(Burst {
            io: ios / seconds.times.len() as f64,
            time,
            length,
            gaps: fitted(level),
        });
    }
    Some(Arrival::Open { rate, gaps: fitted(0), bursts })
}

impl Seconds {
    fn of(records: &[&IoRecord], stretch: &Stretch) -> Option<Self> {
        let times: Vec<f64> = records
            .iter()
            .filter(|record| stretch.holds(record.issue))
            .map(|record| (record.issue - stretch.from).as_secs_f64())
            .collect();
        let length = (stretch.to - stretch.from).0.div_ceil(Nanos::SECOND.0);
        let length = usize::try_from(length).ok()?;
        if length < SECONDS_LEAST || times.len() < IOS_LEAST {
            return None;
        }
        let mut counts = vec![0; length];
        times.iter().for_each(|at| counts[second(*at, length)] += 1);
        Some(Self { levels: vec![0; length], counts, times })
    }

    /// Returns the count of the busiest second in a level.
    fn most(&self, level: usize) -> u32 {
        let own = self.counts.iter().zip(&self.levels).filter(|(_, its)| **its == level);
        own.map(|(count, _)| *count).max().unwrap_or(0)
    }

    /// Returns, for a level, the number of its seconds, the number of I/Os in them, and the number
    /// of contiguous runs of its seconds.
    fn sums(&self, level: usize) -> (f64, f64, f64) {
        let (mut seconds, mut ios, mut runs, mut was_in) = (0.0, 0.0, 0.0, false);
        for (count, its) in self.counts.iter().zip(&self.levels) {
            let is_in = *its == level;
            if is_in {
                seconds += 1.0;
                ios += f64::from(*count);
                runs += if was_in { 0.0 } else { 1.0 };
            }
            was_in = is_in;
        }
        (seconds, ios, f64::max(runs, 1.0))
    }

    /// Returns true if the seconds outside levels are busier than their interarrival times alone
    /// explain.
    fn is_busier(&self, levels: usize, least: f64) -> bool {
        let (seconds, ios, _) = self.sums(0);
        if seconds < SECONDS_LEAST as f64 || ios < IOS_LEAST as f64 {
            return false;
        }
        let mixture = self.mixture(0, least);
        let made =
            (0..TRIES).map(|seed| busiest(&mixture, ios / seconds, seconds, seed)).sum::<u32>();
        let made = f64::from(made) / TRIES as f64;
        // Levels below the overall mean are no bursts.
        let is_high = levels == 0 || f64::from(self.most(0)) > 4.0 * ios / seconds;
        is_high && f64::from(self.most(0)) > BUSIER * made
    }

    /// Moves the busiest seconds of level 0 to this level.
    fn divide(&mut self, level: usize) {
        let least = f64::from(self.most(0)) * BUSY;
        let seconds = self.counts.iter().zip(&mut self.levels);
        for (_, its) in seconds.filter(|(count, its)| **its == 0 && f64::from(**count) >= least) {
            *its = level;
        }
    }

    /// Fits the interarrival times that begin in a level, on a clock that runs at the rates of the
    /// levels. Empty if there are too few.
    fn mixture(&self, level: usize, least: f64) -> Vec<(Nanos, f64)> {
        let levels = self.levels.iter().copied().max().unwrap_or(0);
        let rates: Vec<f64> = (0..=levels)
            .map(|level| {
                let (seconds, ios, _) = self.sums(level);
                ios / f64::max(seconds, 1.0)
            })
            .collect();
        // Expected I/Os before each second.
        let mut before = vec![0.0];
        for its in &self.levels {
            before.push(before[before.len() - 1] + rates[*its]);
        }
        let place = |at: f64| {
            let second = second(at, self.levels.len());
            (second, before[second] + (at - second as f64) * rates[self.levels[second]])
        };
        let gaps: Vec<f64> = self
            .times
            .windows(2)
            .filter_map(|pair| {
                let ((from, begin), (_, end)) = (place(pair[0]), place(pair[1]));
                let gap = (end - begin) / rates[level].max(1e-9);
                (self.levels[from] == level).then_some(gap.max(least))
            })
            .collect();
        if gaps.len() < GAPS_LEAST { Vec::new() } else { gaps::mixture(&gaps) }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the number")]
fn second(at: f64, count: usize) -> usize {
    (at as usize).min(count - 1)
}

/// Returns the count of the busiest second in a simulation with these interarrival times and this
/// rate.
fn busiest(gaps: &[(Nanos, f64)], rate: f64, seconds: f64, seed: u64) -> u32 {
    let mut stream = Stream::derive(seed, &[], Purpose::Arrivals);
    let total: f64 = gaps.iter().map(|(_, weight)| weight).sum();
    let mean: f64 =
        gaps.iter().map(|(gap, weight)| gap.as_secs_f64() * weight).sum::<f64>() / total;
    let (mut at, mut most, mut count, mut current) = (0.0, 0, 0, 0.0_f64);
    while at < seconds {
        let mut choice = stream.unit() * total;
        let found = gaps.iter().find(|(_, weight)| {
            choice -= weight;
            choice < 0.0
        });
        let gap = found.map_or(1.0, |(gap, _)| gap.as_secs_f64() / mean);
        at -= gap / rate * (1.0 - stream.unit()).ln();
        if at.floor() > current {
            (current, count) = (at.floor(), 0);
        }
        count += 1;
        most = most.max(count);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Operation;

    fn fitted(times: &[f64], seconds: u64) -> Option<Arrival> {
        let records: Vec<IoRecord> = times
            .iter()
            .map(|at| IoRecord::new(Nanos::from_secs_f64(*at), Operation::Read, 0, 4096))
            .collect();
        let records: Vec<&IoRecord> = records.iter().collect();
        let stretch = Stretch { from: Nanos::ZERO, to: Nanos::from_secs(seconds), kind: 0 };
        of_stretch(&records, &stretch, Nanos(1))
    }

    /// Returns Poisson arrivals with these rates in each second.
    fn poisson(rates: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut stream = Stream::derive(5, &[], Purpose::User);
        let mut times = Vec::new();
        for (second, rate) in rates.enumerate() {
            let mut at = 0.0;
            loop {
                at -= (1.0 - stream.unit()).ln() / rate;
                if at >= 1.0 {
                    break;
                }
                times.push(second as f64 + at);
            }
        }
        times
    }

    #[test]
    fn an_even_load_has_no_bursts() {
        assert_eq!(fitted(&poisson((0..300).map(|_| 40.0)), 300), None);
    }

    #[test]
    fn bursts_in_three_of_100_seconds_are_fitted() {
        let times = poisson((0..600).map(|at| if at % 100 < 3 { 800.0 } else { 10.0 }));
        let Some(Arrival::Open { rate, bursts, .. }) = fitted(&times, 600) else { panic!("none") };
        assert_eq!(bursts.len(), 1, "{bursts:?}");
        let Burst { io, time, length, .. } = &bursts[0];
        assert!((io - 2400.0 / 3370.0).abs() < 0.02 && (time - 0.03).abs() < 1e-9, "{bursts:?}");
        assert_eq!(*length, Nanos::from_secs(3));
        assert!((rate * io / time / 800.0 - 1.0).abs() < 0.03, "{rate} {io} {time}");
    }

    #[test]
    fn one_second_far_above_others_is_a_burst_with_its_own_rate() {
        let rate = |at: u64| match at {
            300 => 2000.0,
            _ if at % 50 == 7 => 300.0,
            _ => 8.0,
        };
        let Some(Arrival::Open { bursts, rate, .. }) = fitted(&poisson((0..900).map(rate)), 900)
        else {
            panic!("none")
        };
        assert_eq!(bursts.len(), 1, "{bursts:?}");
        let peak = rate * bursts[0].io / bursts[0].time;
        assert!((peak / 2000.0 - 1.0).abs() < 0.1, "{peak}");
        assert!((bursts[0].time - 1.0 / 900.0).abs() < 1e-9, "{bursts:?}");
    }
}
