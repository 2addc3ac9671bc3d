use std::collections::VecDeque;

use state_machine::Stream;
use units::Nanos;

use crate::error::{Check, ParameterError};

/// Changes of a device's speed over time, as a table of measured values.
///
/// Two things are not explained by any queue, and affect all requests inside at once: a *pace* that
/// changes now and then, and *stalls* in which nothing moves (a host that gives the processor to
/// another VM). Tables contain quantiles at equal distances from the smallest to the largest value;
/// values between are interpolated.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// Time that a pace of 1 lasts, above zero. Any other pace lasts that multiple of it, so that
    /// every pace serves as many requests.
    pub every: Nanos,
    /// Quantiles of the pace, by which all times are multiplied. Each is above zero; an empty list
    /// means 1.
    pub pace: Vec<f64>,
    /// Stalls per second of time that is not stalled; zero or more.
    pub stalls_per_s: f64,
    /// Quantiles of the length of a stall; an empty list means no stalls.
    pub stalls: Vec<Nanos>,
}

impl Default for Variation {
    /// Returns a constant pace without stalls.
    fn default() -> Self {
        let every = Nanos::from_millis(10);
        Self { every, pace: Vec::new(), stalls_per_s: 0.0, stalls: Vec::new() }
    }
}

/// Paces and stalls of one device, drawn when they are needed.
#[derive(Debug)]
pub struct Course {
    variation: Variation,
    /// Quantiles of the length of a stall, in seconds.
    lengths_s: Vec<f64>,
    stream: Stream,
    /// Paces with the time until which each lasts; past ones are dropped.
    paces: VecDeque<(Nanos, f64)>,
    /// Begin and end of stalls, in order; past ones are dropped.
    stalls: VecDeque<(Nanos, Nanos)>,
    last_stall_end: Nanos,
}

impl Course {
    pub fn new(
        variation: Variation,
        stream: Stream,
        check: &Check,
    ) -> Result<Self, ParameterError> {
        let Variation { every, pace, stalls_per_s, .. } = &variation;
        check.that(*every > Nanos::ZERO, "every", *every, "above 0 s")?;
        let is_pace = pace.iter().all(|pace| pace.is_finite() && *pace > 0.0);
        check.that(is_pace, "pace", format!("{pace:?}"), "above 0 and finite")?;
        let is_rate = stalls_per_s.is_finite() && *stalls_per_s >= 0.0;
        check.that(is_rate, "stalls_per_s", stalls_per_s, "0 or more and finite")?;
        let (paces, stalls) = (VecDeque::new(), VecDeque::new());
        let lengths_s = variation.stalls.iter().map(|length| length.as_secs_f64()).collect();
        let last_stall_end = Nanos::ZERO;
        Ok(Self { variation, lengths_s, stream, paces, stalls, last_stall_end })
    }

    /// Drops paces and stalls that were over before `now`.
    pub fn advance(&mut self, now: Nanos) {
        while self.paces.len() > 1 && self.paces[0].0 <= now {
            self.paces.pop_front();
        }
        while self.stalls.len() > 1 && self.stalls[0].1 <= now {
            self.stalls.pop_front();
        }
    }

    /// Returns the time at which work is done that begins at `start`. `start` must not be before
    /// the last [`Self::advance`].
    pub fn end(&mut self, start: Nanos, work: Nanos) -> Nanos {
        if work == Nanos::ZERO {
            return start;
        }
        let mut left =
            if self.variation.pace.is_empty() { work } else { work.scale(self.pace_at(start)) };
        let mut at = start;
        if self.variation.stalls.is_empty() || self.variation.stalls_per_s <= 0.0 {
            return at.saturating_add(left);
        }
        let mut number = 0;
        loop {
            let (begin, end) = self.stall(number);
            number += 1;
            if end <= at {
                continue;
            }
            let free = begin.saturating_sub(at);
            if free >= left {
                return at.saturating_add(left);
            }
            left = left.saturating_sub(free);
            at = end;
        }
    }

    fn pace_at(&mut self, at: Nanos) -> f64 {
        loop {
            if let Some((_, pace)) = self.paces.iter().find(|(until, _)| *until > at) {
                return *pace;
            }
            let since = self.paces.back().map_or(at, |(until, _)| *until);
            let pace = quantile(&self.variation.pace, self.stream.unit());
            // An idle device draws no pace for the time it slept.
            let lasts = self.variation.every.scale(pace).max(Nanos(1));
            let since = if since.saturating_add(lasts) < at { at } else { since };
            self.paces.push_back((since.saturating_add(lasts), pace));
        }
    }

    /// Returns a stall by its position in the list, and draws stalls up to it.
    fn stall(&mut self, number: usize) -> (Nanos, Nanos) {
        while self.stalls.len() <= number {
            let gap = -libm::log(1.0 - self.stream.unit()) / self.variation.stalls_per_s;
            let begin = self.last_stall_end.saturating_add(Nanos::from_secs_f64(gap));
            let length = quantile(&self.lengths_s, self.stream.unit());
            self.last_stall_end = begin.saturating_add(Nanos::from_secs_f64(length));
            self.stalls.push_back((begin, self.last_stall_end));
        }
        self.stalls[number]
    }
}

/// Returns the value below which this share lies, interpolated between the entries of a table that
/// must not be empty.
fn quantile(table: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "tables are short")]
    let place = share * (table.len() - 1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in the table")]
    let below = place as usize;
    let above = (below + 1).min(table.len() - 1);
    table[below] + (table[above] - table[below]) * place.fract()
}
