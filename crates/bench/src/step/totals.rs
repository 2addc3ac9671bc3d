use record::slice::{ActionRow, IoRow};
use stats::Compact;

/// One action of one instance over a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActionTotals {
    /// Actions with a failed I/O.
    pub errors: u64,
    /// Intended starts that were given up.
    pub dropped: u64,
    /// First step to last answer.
    pub service: Compact,
    /// Intended start to last answer.
    pub response: Compact,
}

impl ActionTotals {
    /// Adds what finished in one slice.
    pub fn add(&mut self, row: &ActionRow) {
        self.errors += row.errors;
        self.dropped += row.dropped;
        add_compact(&mut self.service, &row.service);
        add_compact(&mut self.response, &row.response);
    }

    /// Adds another instance's, as if both had been one.
    pub fn merge(&mut self, more: &Self) {
        self.errors += more.errors;
        self.dropped += more.dropped;
        add_compact(&mut self.service, &more.service);
        add_compact(&mut self.response, &more.response);
    }

    /// How many finished well.
    pub fn count(&self) -> u64 {
        self.response.count()
    }
}

/// One kind of I/O of one instance over a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindTotals {
    /// Bytes moved by I/Os that succeeded.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Submitted to done.
    pub service: Compact,
}

impl KindTotals {
    /// Adds what finished in one slice.
    pub fn add(&mut self, row: &IoRow) {
        self.bytes += row.bytes.get();
        self.errors += row.errors;
        add_compact(&mut self.service, &row.service);
    }

    /// How many succeeded.
    pub fn count(&self) -> u64 {
        self.service.count()
    }
}

/// Adds a histogram at rest to another: as if all samples had been recorded into one.
///
/// Accumulating at rest costs a few kilobytes per histogram where an open one costs tens,
/// and a step of 40 tiles has thousands of them.
pub fn add_compact(into: &mut Compact, more: &Compact) {
    if into.buckets.is_empty() {
        into.buckets.clone_from(&more.buckets);
    } else if !more.buckets.is_empty() {
        into.buckets = merged(&into.buckets, &more.buckets);
    }
    into.saturated += more.saturated;
    into.sum_ns += more.sum_ns;
}

type Bucket = (units::Nanos, u32);

fn merged(left: &[Bucket], right: &[Bucket]) -> Vec<Bucket> {
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        let ((a, count), (b, more)) = (left[i], right[j]);
        out.push(match a.cmp(&b) {
            std::cmp::Ordering::Less => (a, count),
            std::cmp::Ordering::Greater => (b, more),
            std::cmp::Ordering::Equal => (a, count.saturating_add(more)),
        });
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    out.extend_from_slice(&left[i..]);
    out.extend_from_slice(&right[j..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::Histogram;
    use units::Nanos;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(Nanos(*value));
        }
        histogram
    }

    proptest! {
        #[test]
        fn adding_at_rest_is_the_same_as_recording_into_one(
            left in proptest::collection::vec(1_u64..5_000_000_000_000, 0..60),
            right in proptest::collection::vec(1_u64..5_000_000_000_000, 0..60),
        ) {
            let mut sum = histogram(&left).compact();
            add_compact(&mut sum, &histogram(&right).compact());
            let all: Vec<u64> = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(sum, histogram(&all).compact());
        }
    }
}
