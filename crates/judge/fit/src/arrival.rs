//! Kinds of arrival processes, and the rounding of their numbers.

use units::Nanos;

/// Arrival process of I/Os.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arrival {
    /// Independent of completions. `gaps` are interarrival times by weight; empty for Poisson.
    Open { rate: f64, gaps: Vec<(Nanos, f64)>, bursts: Vec<Burst> },
    /// At a fixed rate.
    Paced { users: u32, rate: f64 },
    /// After completions.
    Closed { users: u32, think: Nanos },
}

/// Intervals with a higher rate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Burst {
    /// Share of the I/Os that fall into these bursts.
    pub(crate) io: f64,
    /// Share of the time that earlier levels leave.
    pub(crate) time: f64,
    pub(crate) length: Nanos,
    /// Interarrival times by weight; if empty, the load's own.
    pub(crate) gaps: Vec<(Nanos, f64)>,
}

impl Arrival {
    /// Returns the number of kinds of bursts; `None` if the process cannot have bursts.
    pub(crate) fn bursts(&self) -> Option<usize> {
        match self {
            Self::Open { bursts, .. } => Some(bursts.len()),
            _ => None,
        }
    }
}

/// Rounds a time to three digits.
pub(crate) fn rounded(time: Nanos) -> Nanos {
    let mut step = 1;
    while time.0 / step >= 1000 {
        step *= 10;
    }
    Nanos((time.0 + step / 2) / step * step)
}

/// Formats a number with four digits.
pub(crate) fn short(value: f64) -> String {
    let digits = if value >= 1000.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        3
    };
    format!("{value:.digits$}")
}
