use spec::workload::{RandomTime, Time};
use state_machine::Stream;
use units::Nanos;

/// Distribution of a time. Think times and CPU costs are never scaled.
#[derive(Debug, Clone, Copy)]
pub enum Draw {
    Fixed(Nanos),
    Exponential(Nanos),
    /// Uniform from the first time (inclusive) over this many nanoseconds (exclusive).
    Uniform(Nanos, u64),
}

impl Draw {
    pub fn new(time: &Time) -> Self {
        match *time {
            Time::Fixed(time) => Self::Fixed(time),
            Time::Random(RandomTime::Exponential(mean)) => Self::Exponential(mean),
            Time::Random(RandomTime::Uniform(low, high)) => {
                Self::Uniform(low, high.saturating_sub(low).0.max(1))
            }
        }
    }

    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Nanos {
        match *self {
            Self::Fixed(time) => time,
            Self::Exponential(mean) => stream.exponential(mean),
            Self::Uniform(low, width) => low.saturating_add(Nanos(stream.below(width))),
        }
    }

    /// Draws the remaining time of a pause, seen at a random moment within it.
    pub fn part(&self, stream: &mut Stream) -> Nanos {
        match self.draw(stream) {
            Nanos::ZERO => Nanos::ZERO,
            Nanos(whole) => Nanos(stream.below(whole)),
        }
    }
}
