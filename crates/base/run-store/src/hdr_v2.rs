//! Encoding of histograms as bytes: the uncompressed V2 encoding of HdrHistogram, which its
//! implementations in other languages read.
//!
//! Layout (big endian): cookie `0x1c849313`, payload length, normalising offset 0 (all `u32`),
//! significant digits (`u32`), lowest and highest trackable value (`u64`), value ratio 1.0 (`f64`).
//! Then the counts by bucket index up to the last that is not zero, as zig-zag LEB128 of at most
//! nine bytes; a negative number stands for that many zeros. Source: HdrHistogram's
//! `AbstractHistogram.encodeIntoByteBuffer`.
//!
//! The bytes are written directly from the buckets that are not empty. Expanding a histogram for
//! every stored row would cost more than the I/O that it describes.

use stats::Compact;
use units::Nanos;

const COOKIE: u32 = 0x1c84_9313;
const HEADER: usize = 40;
/// Maximum latency with a bucket of its own.
const LONGEST: Nanos = Nanos::from_secs(3600);
const DIGITS: u32 = 2;
/// Binary logarithm of half of the 256 sub-buckets that two significant digits need.
const HALF_BITS: u32 = 7;
const HALF: u64 = 1 << HALF_BITS;

fn index_of(value: u64) -> u64 {
    let bucket = 56 - (value | (2 * HALF - 1)).leading_zeros();
    (u64::from(bucket + 1) << HALF_BITS) + (value >> bucket) - HALF
}

/// Returns the highest value of a bucket.
fn value_at(index: u64) -> u64 {
    let (half, sub) = (index >> HALF_BITS, index & (HALF - 1));
    match half.checked_sub(1) {
        None => sub,
        Some(bucket) => ((sub + HALF + 1) << bucket) - 1,
    }
}

/// Appends a number in ZigZag, then LEB128 with seven bits per byte. The absolute value must be
/// below 2^62. The ninth byte of the format would hold eight bits, but a 32-bit count never needs
/// it.
fn push(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while rest >= 0x80 {
        bytes.push(u8::try_from(rest & 0x7f).expect("seven bits") | 0x80);
        rest >>= 7;
    }
    bytes.push(u8::try_from(rest).expect("below 128"));
}

fn pull(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for position in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if position == 8 {
            value |= u64::from(*byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

fn push_zeros(payload: &mut Vec<u8>, count: u64) {
    match count {
        0 => {}
        1 => push(payload, 0),
        more => push(payload, -i64::try_from(more).expect("fewer buckets than 2^63")),
    }
}

/// Encodes a histogram in HdrHistogram's V2 encoding, uncompressed. `sum_ns` and `saturated` are
/// not part of the encoding and must be stored separately.
pub(crate) fn encode(histogram: &Compact) -> Vec<u8> {
    let mut payload = Vec::with_capacity(3 * histogram.buckets().count() + 1);
    let mut next = 0;
    for (value, count) in histogram.buckets() {
        let index = index_of(value.0);
        push_zeros(&mut payload, index - next);
        push(&mut payload, i64::from(count));
        next = index + 1;
    }
    if payload.is_empty() {
        payload.push(0);
    }
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    let length = u32::try_from(payload.len()).expect("a few thousand buckets");
    bytes.extend(header(length));
    bytes.extend(payload);
    bytes
}

fn header(length: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[0..4].copy_from_slice(&COOKIE.to_be_bytes());
    header[4..8].copy_from_slice(&length.to_be_bytes());
    header[12..16].copy_from_slice(&DIGITS.to_be_bytes());
    header[16..24].copy_from_slice(&1_u64.to_be_bytes());
    header[24..32].copy_from_slice(&LONGEST.0.to_be_bytes());
    header[32..40].copy_from_slice(&1.0_f64.to_be_bytes());
    header
}

/// Decodes the bytes of [`encode`]; `sum_ns` and `saturated` become zero. The error describes the
/// fault in the bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<Compact, &'static str> {
    let (found, mut payload) = bytes.split_at_checked(HEADER).ok_or("shorter than its header")?;
    let length = u32::try_from(payload.len()).map_err(|_| "longer than 4 GiB")?;
    if found != header(length) {
        return Err("its cookie, length, bounds or precision do not match this format");
    }
    let (mut buckets, mut index) = (Vec::new(), 0_u64);
    while !payload.is_empty() {
        let number = pull(&mut payload).ok_or("it ends inside a count")?;
        if number < 0 {
            index = index.saturating_add(number.unsigned_abs());
            continue;
        }
        if number > 0 {
            if index > index_of(LONGEST.0) {
                return Err("it has more buckets than an hour needs");
            }
            let count = u32::try_from(number).map_err(|_| "a count is above 2^32 - 1")?;
            buckets.push((Nanos(value_at(index)), count));
        }
        index = index.saturating_add(1);
    }
    Ok(buckets.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
    use proptest::prelude::*;
    use stats::Histogram;

    fn recorded(values: &[u64]) -> Compact {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(Nanos(*value));
        }
        histogram.compact()
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = prop_oneof![0_u64..300, 0_u64..10_000_000, 0_u64..4_000_000_000_000];
        proptest::collection::vec(value, 0..200)
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_the_hdr_library(values in values()) {
            let mut peer = hdrhistogram::Histogram::<u64>::new_with_bounds(1, LONGEST.0, 2)
                .expect("bounds");
            for value in &values {
                peer.saturating_record(*value.min(&LONGEST.0));
            }
            let mut theirs = Vec::new();
            V2Serializer::new().serialize(&peer, &mut theirs).expect("serialises");
            prop_assert_eq!(&encode(&recorded(&values)), &theirs);
            let back: hdrhistogram::Histogram<u64> =
                Deserializer::new().deserialize(&mut theirs.as_slice()).expect("reads");
            prop_assert_eq!(back.len(), values.len() as u64);
        }

        #[test]
        fn bytes_read_back_to_the_same_buckets(values in values()) {
            let compact = recorded(&values);
            let back = decode(&encode(&compact)).expect("reads");
            prop_assert!(back.buckets().eq(compact.buckets()));
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_but_never_panic(
            values in values(), at in 0_usize..400, byte: u8, keep in 0_usize..400
        ) {
            let mut bytes = encode(&recorded(&values));
            if let Some(slot) = bytes.get_mut(at) { *slot = byte; }
            bytes.truncate(keep);
            let _ = decode(&bytes);
        }
    }
}
