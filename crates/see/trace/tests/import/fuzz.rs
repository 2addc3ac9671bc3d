//! Arbitrary and damaged input: no panic, and every line is a record, a skipped row or bad.

use proptest::collection::vec;
use proptest::prelude::*;
use tilemark_trace::{Format, TraceError};

use crate::help::{Read, read_as};
use crate::samples;

/// Lines as readers count them.
fn lines(bytes: &[u8]) -> u64 {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let ended = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    ended + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// Checks the properties of every trace that is read.
fn check(format: Format, bytes: &[u8]) -> Result<(), TestCaseError> {
    let read = match read_as(bytes, Some(format), u64::MAX) {
        Ok(read) => read,
        Err(TraceError::TooManyBad { bad, .. }) => {
            prop_assert!(bad > 0);
            return Ok(());
        }
        // Binary formats look at their first bytes.
        Err(TraceError::Format { .. }) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    let Read { records, info } = &read;
    prop_assert!(records.is_sorted_by_key(|record| record.issue));
    prop_assert!(records.first().is_none_or(|record| record.issue.0 == 0));
    for record in records {
        prop_assert!(record.length > 0 || !record.operation.moves_data());
        prop_assert!(record.offset.checked_add(u64::from(record.length)).is_some());
        prop_assert!(usize::from(record.device.0) < info.devices.len());
        prop_assert!(usize::from(record.vm.0) < info.vms.len());
    }
    prop_assert_eq!(info.losses.examples.len() as u64, info.losses.bad.min(10));
    let taken = records.len() as u64 + info.losses.bad + info.losses.skipped;
    let expected = match format.name() {
        "vscsi" => {
            let size = if bytes.get(15) == Some(&1) && bytes.len() < 64 || bytes.get(47) == Some(&1)
            {
                32
            } else {
                40
            };
            Some(bytes.len().div_ceil(size) as u64)
        }
        "oracle-general" => Some(bytes.len().div_ceil(24) as u64),
        "blktrace" => None,
        _ => Some(lines(bytes)),
    };
    prop_assert_eq!(taken, expected.unwrap_or(taken), "every line is accounted for");
    Ok(())
}

/// A piece of damage.
#[derive(Debug, Clone)]
enum Damage {
    Set(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Repeat(usize, usize),
    Cut(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let odd = prop_oneof![
        any::<u8>(),
        Just(b','),
        Just(b' '),
        Just(b'\n'),
        Just(b'9'),
        Just(b'-'),
        Just(b'"'),
        Just(b'.'),
    ];
    prop_oneof![
        4 => (any::<usize>(), odd.clone()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        2 => (any::<usize>(), vec(odd, 1..24)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        2 => (any::<usize>(), 1_usize..40).prop_map(|(at, count)| Damage::Remove(at, count)),
        1 => (any::<usize>(), 1_usize..80).prop_map(|(at, count)| Damage::Repeat(at, count)),
        1 => any::<usize>().prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let length = bytes.len();
    let place = |at: usize| if length == 0 { 0 } else { at % length };
    match damage {
        Damage::Set(at, byte) if length > 0 => bytes[place(*at)] = *byte,
        Damage::Set(..) => {}
        Damage::Insert(at, more) => {
            let at = place(*at);
            bytes.splice(at..at, more.iter().copied());
        }
        Damage::Remove(at, count) => {
            let at = place(*at);
            bytes.drain(at..(at + count).min(length));
        }
        Damage::Repeat(at, count) => {
            let at = place(*at);
            let piece = bytes[at..(at + count).min(length)].to_vec();
            bytes.splice(at..at, piece);
        }
        Damage::Cut(at) => bytes.truncate(place(*at)),
    }
}

/// Bytes that no compression begins with: those are another test's.
fn is_plain(bytes: &[u8]) -> bool {
    let magics: [&[u8]; 3] = [&[0x28, 0xb5, 0x2f, 0xfd], &[0x1f, 0x8b], &[0xfd, b'7', b'z']];
    !magics.iter().any(|magic| bytes.starts_with(magic))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_traces_are_accounted_for(damages in vec(damage(), 1..8), repeat in 1_usize..4) {
        for (format, sample) in samples::all() {
            let mut bytes = sample.repeat(repeat);
            for damage in &damages {
                apply(&mut bytes, damage);
            }
            if is_plain(&bytes) {
                check(format, &bytes)?;
                // Detection takes anything, too.
                let _ = read_as(&bytes, None, u64::MAX);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_accounted_for(bytes in vec(any::<u8>(), 0..600)) {
        prop_assume!(is_plain(&bytes));
        for format in Format::all() {
            check(format, &bytes)?;
        }
        let _ = read_as(&bytes, None, u64::MAX);
    }

    #[test]
    fn arbitrary_words_are_accounted_for(
        text in "([0-9]{1,21}|0x[0-9a-f]{1,17}|[RWDQCFM]|read|write|wait|[,. +\\[\\]\"\n-]){0,120}"
    ) {
        for format in Format::all() {
            check(format, text.as_bytes())?;
        }
    }

    #[test]
    fn damaged_packed_traces_do_no_harm(
        damages in vec(damage(), 0..4),
        which in 0_usize..3,
    ) {
        let plain = samples::all().swap_remove(which).1.repeat(50);
        let mut packed = zstd::encode_all(&plain[..], 1).expect("packed");
        for damage in &damages {
            apply(&mut packed, damage);
        }
        let _ = read_as(&packed, None, u64::MAX);
    }
}
