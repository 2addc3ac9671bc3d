//! Families of metrics that can be written in either format of Prometheus: OpenMetrics text with
//! classic histograms, or protobuf with native histograms as well.
//!
//! It refuses to know the content: names, units and labels are the caller's.

mod native;
mod protobuf;
mod text;

use units::Nanos;

pub use protobuf::{MEDIA_TYPE as PROTOBUF_MEDIA_TYPE, protobuf};
pub use text::text;

/// Samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Name without `_total`, which both formats add to a counter. It ends with the unit.
    pub name: &'static str,
    /// Kind of all samples.
    pub kind: Kind,
    /// Unit in OpenMetrics' words; empty for a number of things.
    pub unit: &'static str,
    /// Whole sentence for people.
    pub help: &'static str,
    /// Samples, each with other labels.
    pub samples: Vec<Sample>,
}

/// Kind of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the program runs.
    Counter,
    /// Grows and falls.
    Gauge,
    /// Histogram of times.
    Histogram,
}

/// Value with the labels that tell it from others of its family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values of labels, in the order in which they are written.
    pub labels: Vec<(&'static str, String)>,
    /// Value of the family's kind.
    pub value: Value,
}

/// Value of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Whole number of a counter or gauge.
    Count(u64),
    /// Other number of a counter or gauge.
    Number(f64),
    /// Times of a histogram.
    Times(TimeBuckets),
}

/// Times in buckets, for a histogram.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimeBuckets {
    /// Sum of all times, in nanoseconds.
    pub sum_ns: u128,
    /// Longest time of each bucket and the number of times in it, ascending.
    pub buckets: Vec<(Nanos, u64)>,
}

impl TimeBuckets {
    /// Number of times.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Number of times that surely are at most this long: a bucket across the limit is above it.
    pub fn count_within(&self, limit: Nanos) -> u64 {
        let within = self.buckets.iter().take_while(|(longest, _)| *longest <= limit);
        within.map(|(_, count)| count).sum()
    }

    fn sum_seconds(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "seconds are told to a microsecond")]
        let sum = self.sum_ns as f64 / 1e9;
        sum
    }
}

impl Value {
    fn number(&self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "Prometheus has no other number")]
            Self::Count(count) => *count as f64,
            Self::Number(number) => *number,
            Self::Times(times) => times.sum_seconds(),
        }
    }
}
