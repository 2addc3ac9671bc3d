use std::cmp::Ordering;

use units::Nanos;

use crate::energy::{Energy, Rules, Void, around, energy, longest_gap};
use crate::{Fault, Sample, Span};

/// Reason why a span has no energy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoEnergy {
    /// Fault of the meter.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// Samples that do not cover the span.
    #[error(transparent)]
    Void(#[from] Void),
}

/// Maximum number of samples kept; the oldest are dropped first. Our choice: more than a day of a
/// sample per second.
const SAMPLES_MAX: usize = 100_000;

/// Maximum watts of a reading; our choice, well above a row of racks.
const WATTS_MAX: f64 = 1e7;

/// Samples and faults of a meter, in order of time.
#[derive(Debug, Clone, Default)]
pub struct Log {
    samples: Vec<Sample>,
    faults: Vec<(Nanos, Fault)>,
    taken: u64,
}

impl Log {
    /// Adds a sample. An impossible sample is dropped, and a fault at `now` is added.
    pub fn take(&mut self, sample: Sample, now: Nanos) {
        match self.wrong(&sample) {
            Some(fault) => self.fault(fault, now),
            None => {
                if self.samples.len() >= SAMPLES_MAX {
                    self.samples.drain(..SAMPLES_MAX / 2);
                }
                self.taken += 1;
                self.samples.push(sample);
            }
        }
    }

    /// Adds a fault.
    pub fn fault(&mut self, fault: Fault, now: Nanos) {
        if self.faults.len() >= SAMPLES_MAX {
            self.faults.drain(..SAMPLES_MAX / 2);
        }
        self.faults.push((now, fault));
    }

    fn wrong(&self, sample: &Sample) -> Option<Fault> {
        let numbers = [(sample.watts, "W", WATTS_MAX), (sample.joules, "J", f64::MAX)];
        for (value, unit, most) in numbers {
            if let Some(value) = value.filter(|value| !(0.0..=most).contains(value)) {
                return Some(Fault::Nonsense(format!("{value} {unit}")));
            }
        }
        if sample.watts.is_none() && sample.joules.is_none() {
            return Some(Fault::Nonsense("neither watts nor joules".to_owned()));
        }
        let last = self.samples.last()?;
        let told = sample.told_ns.zip(last.told_ns).map(|(now, then)| now.cmp(&then));
        // A later time of the meter must be later here, too; otherwise its clock was set.
        match told.filter(|order| order.is_le()).unwrap_or_else(|| sample.at.cmp(&last.at)) {
            Ordering::Less => return Some(Fault::JumpedBack("time")),
            Ordering::Equal => return Some(Fault::Repeated),
            Ordering::Greater => {}
        }
        (sample.joules.zip(last.joules).is_some_and(|(now, then)| now < then))
            .then_some(Fault::JumpedBack("counter"))
    }

    /// Returns the number of samples ever added.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the last sample.
    pub fn last(&self) -> Option<Sample> {
        self.samples.last().copied()
    }

    /// Returns the last fault.
    pub fn last_fault(&self) -> Option<&Fault> {
        self.faults.last().map(|(_, fault)| fault)
    }

    /// Returns the watts of every sample after a time. For a meter with only a counter, this is the
    /// mean since the previous sample. The watts are only for display: energy is computed from the
    /// counter.
    pub fn watts_since(&self, at: Nanos) -> impl Iterator<Item = (Nanos, f64)> {
        let first = self.samples.partition_point(|sample| sample.at <= at);
        (first..self.samples.len()).filter_map(|own| {
            let sample = self.samples[own];
            let mean = || {
                let before = self.samples[own.checked_sub(1)?];
                let seconds = sample.at.saturating_sub(before.at).as_secs_f64();
                Some((sample.joules? - before.joules?) / seconds)
            };
            Some((sample.at, sample.watts.or_else(mean)?))
        })
    }

    /// Returns the distinct faults in a span.
    pub fn faults(&self, span: Span) -> Vec<&Fault> {
        let mut found: Vec<&Fault> = Vec::new();
        for (_, fault) in self.faults.iter().filter(|(at, _)| span.holds(*at)) {
            if !found.contains(&fault) {
                found.push(fault);
            }
        }
        found
    }

    /// Returns the watts of every sample in a span.
    pub fn watts(&self, span: Span) -> impl Iterator<Item = f64> {
        let before = Nanos(span.from.0.saturating_sub(1));
        self.watts_since(before).take_while(move |(at, _)| *at <= span.to).map(|(_, watts)| watts)
    }

    /// Returns the longest gap between the samples of a span; the whole span if there are no
    /// samples.
    pub fn gap(&self, span: Span) -> Nanos {
        around(&self.samples, span).map_or_else(|_| span.length(), longest_gap)
    }

    /// Returns the energy of a span, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// If samples do not cover the span, or the span contains a fault.
    pub fn energy(&self, span: Span, rules: Rules) -> Result<Energy, NoEnergy> {
        let first = self.faults(span).into_iter().find(|fault| fault.voids());
        if let Some(fault) = first {
            return Err(fault.clone().into());
        }
        energy(&self.samples, span, rules).map_err(|void| match self.faults.last() {
            // The end of the meter explains more than missing samples.
            Some((at, fault @ Fault::Ended(_))) if *at <= span.to => fault.clone().into(),
            _ => void.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Nanos {
        Nanos::from_secs(second)
    }

    const RULES: Rules = Rules { period: Nanos::SECOND, counter_step: None };

    fn span(from: u64, to: u64) -> Span {
        Span { from: at(from), to: at(to) }
    }

    fn steady(seconds: u64) -> Log {
        let mut log = Log::default();
        (0..seconds).for_each(|second| log.take(Sample::watts(at(second), 100.0), at(second)));
        log
    }

    #[test]
    fn what_cannot_be_is_named_and_voids_its_time_alone() {
        let nonsense = [
            Sample::watts(at(4), f64::NAN),
            Sample::watts(at(4), -1.0),
            Sample::watts(at(4), 1e12),
            Sample { watts: None, ..Sample::watts(at(4), 0.0) },
        ];
        for sample in nonsense {
            let mut log = steady(4);
            log.take(sample, at(4));
            (4..9).for_each(|second| log.take(Sample::watts(at(second), 100.0), at(second)));
            let void = log.energy(span(2, 6), RULES).expect_err("it reported an impossible value");
            assert!(void.to_string().contains("an impossible value"), "{void}");
            assert_eq!(log.energy(span(5, 8), RULES).expect("later").joules, 300.0);
        }
    }

    #[test]
    fn a_sample_again_and_one_of_before_are_told_apart() {
        let mut log = steady(4);
        log.take(Sample::watts(at(3), 100.0), at(4));
        log.take(Sample::watts(at(1), 100.0), at(5));
        assert_eq!(log.faults(span(4, 5)), [&Fault::Repeated, &Fault::JumpedBack("time")]);
        assert_eq!(log.taken(), 4);
        let mut counter = Log::default();
        counter.take(Sample::joules(at(1), 50.0), at(1));
        counter.take(Sample::joules(at(2), 40.0), at(2));
        assert_eq!(counter.last_fault(), Some(&Fault::JumpedBack("counter")));
    }

    /// Regression: a line that a program printed twice was read as a new sample some nanoseconds
    /// later, or as a time that went backwards. The cause is that the time of day is converted with
    /// two clocks.
    #[test]
    fn repeated_sample_time_is_a_fault_and_no_new_sample() {
        let mut log = Log::default();
        let take = |log: &mut Log, at: u64, told: i128| {
            log.take(Sample::watts(Nanos(at), 90.0).told(told), Nanos(at));
            log.last_fault().cloned()
        };
        assert_eq!(take(&mut log, 1_000, 7), None);
        assert_eq!(take(&mut log, 1_030, 7), Some(Fault::Repeated));
        assert_eq!(take(&mut log, 970, 7), Some(Fault::Repeated));
        assert_eq!(take(&mut log, 1_040, 6), Some(Fault::JumpedBack("time")));
        assert_eq!(log.taken(), 1);
        take(&mut log, 2_000, 1_007);
        assert_eq!(log.taken(), 2, "it goes on");
    }

    #[test]
    fn a_question_without_an_answer_is_a_gap_and_no_more() {
        let mut log = steady(3);
        log.fault(Fault::Unanswered("timed out".to_owned()), at(2));
        (4..8).for_each(|second| log.take(Sample::watts(at(second), 100.0), at(second)));
        assert_eq!(log.energy(span(1, 6), RULES).expect("2 s are two periods").joules, 500.0);
        assert_eq!(log.faults(span(1, 6)).len(), 1, "it is told all the same");
    }

    #[test]
    fn a_meter_that_ended_before_is_why_nothing_came() {
        let mut log = steady(4);
        log.fault(Fault::Ended("exit status: 3".to_owned()), at(4));
        let why = log.energy(span(10, 20), RULES).expect_err("it has ended");
        assert!(why.to_string().contains("exit status: 3"), "{why}");
        assert_eq!(log.energy(span(1, 3), RULES).expect("before").joules, 200.0);
    }

    #[test]
    fn a_meter_that_only_counts_shows_watts() {
        let mut log = Log::default();
        (0..4).for_each(|s| log.take(Sample::joules(at(s), 7.0 * at(s).as_secs_f64()), at(s)));
        assert_eq!(log.watts_since(at(1)).collect::<Vec<_>>(), [(at(2), 7.0), (at(3), 7.0)]);
        assert_eq!(log.watts(span(0, 2)).count(), 2, "nothing is known before the first");
    }
}
