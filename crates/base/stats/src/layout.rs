//! Bucket of a value in a histogram: the HDR layout with two significant digits.
//!
//! Values below 256 have a bucket each. Above, every power of two is divided into 128 equal buckets
//! (Tene, "HdrHistogram: A High Dynamic Range Histogram", 2012, section "Histogram variants and
//! internal representation"). Indices equal those of the `hdrhistogram` crate for bounds from 1 ns
//! and two digits; a test checks this.

use units::Nanos;

/// Longest value that is recorded; longer values are recorded as this one.
pub(crate) const LONGEST: Nanos = Nanos::from_secs(3600);

/// Number of buckets for values up to [`LONGEST`].
pub(crate) const BUCKETS: usize = index_of(LONGEST) + 1;

const HALF_BITS: u32 = 7;

/// Returns the index of the bucket of a value, which must not exceed [`LONGEST`].
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 57 * 128 + 255 for any value")]
pub(crate) const fn index_of(value: Nanos) -> usize {
    let shift = 63 - (value.0 | 0xff).leading_zeros() - HALF_BITS;
    ((shift as usize) << HALF_BITS) + (value.0 >> shift) as usize
}

/// Returns two numbers: the number of low bits in which the values of a bucket may differ, and the
/// common higher bits of these values.
const fn shift_and_part(index: usize) -> (u32, u64) {
    if index < 256 {
        return (0, index as u64);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 57")]
    let shift = (index >> HALF_BITS) as u32 - 1;
    (shift, (index - ((shift as usize) << HALF_BITS)) as u64)
}

/// Returns the smallest value of a bucket.
pub(crate) const fn lowest(index: usize) -> Nanos {
    let (shift, part) = shift_and_part(index);
    Nanos(part << shift)
}

/// Returns the largest value of a bucket.
pub(crate) const fn highest(index: usize) -> Nanos {
    let (shift, part) = shift_and_part(index);
    Nanos(((part + 1) << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Hdr;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_are_those_of_the_hdr_library(value in 0..=LONGEST.0) {
            let model = Hdr::<u64>::new_with_bounds(1, LONGEST.0, 2).expect("valid bounds");
            let index = index_of(Nanos(value));
            prop_assert!(index < BUCKETS);
            prop_assert_eq!(lowest(index).0, model.lowest_equivalent(value));
            prop_assert_eq!(highest(index).0, model.highest_equivalent(value));
        }
    }

    #[test]
    fn buckets_follow_each_other_without_gap_or_overlap() {
        for index in 1..BUCKETS {
            assert_eq!(lowest(index).0, highest(index - 1).0 + 1, "bucket {index}");
            assert_eq!(index_of(lowest(index)), index);
            assert_eq!(index_of(highest(index)), index);
        }
    }
}
