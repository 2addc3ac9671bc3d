//! Families of metrics that can be written in both formats of Prometheus: OpenMetrics text with
//! classic histograms, or protobuf with native histograms as well.
//!
//! Names, units and labels are given by the caller.

mod native;
mod protobuf;
mod text;

use units::Nanos;

pub use protobuf::{MEDIA_TYPE as PROTOBUF_MEDIA_TYPE, protobuf};
pub use text::text;

/// Metric family: samples with the same name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Name without `_total`, which both formats add to a counter. It ends with the unit.
    pub name: &'static str,
    /// Kind of all samples of the family.
    pub kind: Kind,
    /// Unit in OpenMetrics' words; empty for a count.
    pub unit: &'static str,
    /// Help text: a whole sentence for people.
    pub help: &'static str,
    /// Samples, each with other labels.
    pub samples: Vec<Sample>,
}

/// Kind of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Value that only grows while the program runs.
    Counter,
    /// Value that grows and falls.
    Gauge,
    /// Histogram of times.
    Histogram,
}

/// Value with the labels that distinguish it from other samples of its family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values of labels, in the order in which they are written.
    pub labels: Vec<(&'static str, String)>,
    /// Value, of the type that the family's kind needs.
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
    /// Largest time of each bucket, and the number of times in it, ascending.
    pub buckets: Vec<(Nanos, u64)>,
}

impl TimeBuckets {
    /// Returns the number of times in all buckets.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of times that are certainly at most `limit`. A bucket that contains the
    /// limit counts as above it.
    pub fn count_within(&self, limit: Nanos) -> u64 {
        let within = self.buckets.iter().take_while(|(longest, _)| *longest <= limit);
        within.map(|(_, count)| count).sum()
    }

    fn sum_seconds(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "seconds are printed to a microsecond")]
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
