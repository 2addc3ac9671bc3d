//! What arrivals are, and how their numbers are written.

use units::Nanos;

/// How work arrives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arrival {
    /// Waits for nobody; gaps by weight, none for Poisson.
    Open { rate: f64, gaps: Vec<(Nanos, f64)>, bursts: Vec<Burst> },
    /// Keeps a rate.
    Paced { users: u32, rate: f64 },
    /// Waits for answers.
    Closed { users: u32, think: Nanos },
}

/// Times of a higher rate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Burst {
    /// Share of the I/Os.
    pub(crate) io: f64,
    /// Share of the time that levels before leave.
    pub(crate) time: f64,
    pub(crate) length: Nanos,
    /// Gaps by weight; those of the load, if none.
    pub(crate) gaps: Vec<(Nanos, f64)>,
}

impl Arrival {
    /// Kinds of bursts; none if there cannot be any.
    pub(crate) fn bursts(&self) -> Option<usize> {
        match self {
            Self::Open { bursts, .. } => Some(bursts.len()),
            _ => None,
        }
    }
}

/// Three digits are plenty.
pub(crate) fn rounded(time: Nanos) -> Nanos {
    let mut step = 1;
    while time.0 / step >= 1000 {
        step *= 10;
    }
    Nanos((time.0 + step / 2) / step * step)
}

/// A number with four digits.
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
