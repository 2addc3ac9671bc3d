//! Histograms as the bytes other HDR tools read and write.

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use units::Nanos;

use crate::Histogram;
use crate::layout::{LONGEST, highest};

/// Why stored bytes are not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("these {length} bytes are not a histogram: {reason}")]
pub struct HistogramError {
    /// How many bytes there were.
    pub length: usize,
    /// What is wrong with them.
    pub reason: String,
}

impl Histogram {
    /// The histogram in HdrHistogram's V2 encoding, uncompressed (the format that starts
    /// with the cookie `0x1c849313`; HdrHistogram `AbstractHistogram.encodeIntoByteBuffer`).
    /// The exact sum and the saturated count are not part of it.
    pub fn to_v2(&self) -> Vec<u8> {
        let mut library =
            Hdr::<u64>::new_with_bounds(1, LONGEST.0, 2).expect("constant bounds are valid");
        for (index, count) in self.used() {
            let value = highest(index).0;
            library.record_n(value, u64::from(count)).expect("the library's last bucket is ours");
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&library, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }

    /// Reads V2 bytes of any bounds and precision. Values keep their bucket's highest
    /// value, so the sum is at most [`crate::RELATIVE_PRECISION`] too large (or the
    /// writer's precision, where that is coarser).
    ///
    /// # Errors
    /// When the bytes are not a V2 histogram.
    pub fn from_v2(bytes: &[u8]) -> Result<Self, HistogramError> {
        let library: Hdr<u64> = Deserializer::new()
            .deserialize(&mut &bytes[..])
            .map_err(|e| HistogramError { length: bytes.len(), reason: e.to_string() })?;
        let mut histogram = Self::new();
        for bucket in library.iter_recorded() {
            let count = u32::try_from(bucket.count_at_value()).unwrap_or(u32::MAX);
            // The library rounds the top of the last bucket up past the hour.
            let value = bucket.value_iterated_to().min(LONGEST.0);
            histogram.record_n(Nanos(value), count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Ratio;

    proptest! {
        #[test]
        fn v2_bytes_keep_every_bucket(
            values in proptest::collection::vec(0_u64..4_000_000_000_000, 0..100)
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|v| histogram.record(Nanos(*v)));
            let back = Histogram::from_v2(&histogram.to_v2()).expect("our own bytes");
            prop_assert_eq!(back.compact().buckets, histogram.compact().buckets);
        }

        #[test]
        fn garbage_is_an_error_and_not_a_panic(bytes: Vec<u8>) {
            let _ = Histogram::from_v2(&bytes);
        }
    }

    #[test]
    fn a_three_digit_histogram_of_another_tool_is_read() {
        let mut library = Hdr::<u64>::new(3).expect("three digits");
        (1..=10_000_u64).for_each(|v| library.record(v * 1000).expect("resizes"));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&library, &mut bytes).expect("memory");
        let histogram = Histogram::from_v2(&bytes).expect("valid");
        assert_eq!(histogram.count(), 10_000);
        let p99 = histogram.percentile(Ratio::new(0.99)).expect("not empty").0 as f64;
        assert!((p99 / 9_900_000.0 - 1.0).abs() < 0.01, "{p99}");
    }

    #[test]
    fn foreign_bytes_are_refused_with_their_length() {
        let error = Histogram::from_v2(b"not a histogram at all").expect_err("not V2");
        assert!(error.to_string().starts_with("these 22 bytes are not a histogram"), "{error}");
    }
}
