//! Parts of a trace, folded separately and merged, equal the whole.

use proptest::prelude::*;
use tilemark_analyze::{Fold, Settings};
use trace::{DeviceIndex, Flags, IoRecord, Operation, VmIndex};
use units::Nanos;

use crate::support::{everything, fold_of, subject};

prop_compose! {
    fn record()(
        gap in prop_oneof![Just(0_u64), 0..2_000_000_u64, 0..900_000_000_u64],
        page in 0_u64..200,
        shift in 0_u64..3,
        length in prop::sample::select(vec![512_u32, 4096, 8192, 65_536, 262_144, 1 << 20]),
        latency in prop_oneof![1 => Just(None), 9 => (1_000_u64..400_000_000).prop_map(Some)],
        kind in 0_u8..20,
        vm in 0_u16..3,
        device in 0_u16..2,
        outstanding in prop::option::of(0_u16..100),
        flags in prop::sample::select(vec![Flags::NONE, Flags::NONE, Flags::SEQUENTIAL, Flags::ERROR]),
    ) -> (u64, IoRecord) {
        let operation = match kind {
            0 => Operation::Flush,
            1 => Operation::Discard,
            2..=10 => Operation::Read,
            _ => Operation::Write,
        };
        let mut record = IoRecord::new(Nanos(0), operation, page * 4096 + shift * 512, length);
        record.device_time = latency.map(Nanos);
        record.vm = VmIndex(vm);
        record.device = DeviceIndex(device);
        record.outstanding = outstanding;
        record.flags = flags;
        (gap, record)
    }
}

fn in_order(records: Vec<(u64, IoRecord)>) -> Vec<IoRecord> {
    let mut now = 0;
    let at = |(gap, record): (u64, IoRecord)| {
        now += gap;
        IoRecord { issue: Nanos(now), ..record }
    };
    records.into_iter().map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn merged_parts_say_what_the_whole_says(
        records in prop::collection::vec(record(), 0..400),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        rows_max in prop::sample::select(vec![5_usize, 40, 100_000]),
        references_max in prop::sample::select(vec![20_usize, 100_000]),
        slice_ms in prop::sample::select(vec![100_u64, 1000]),
    ) {
        let records = in_order(records);
        let settings = Settings {
            slice: Nanos::from_millis(slice_ms),
            rows_max,
            references_max,
            ..Settings::default()
        };
        let whole = everything(fold_of(&records, &settings), &subject(3));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(records.len() + 1)).collect();
        cuts.extend([0, records.len()]);
        cuts.sort_unstable();
        let mut merged = Fold::new(&settings);
        for pair in cuts.windows(2) {
            merged.merge(fold_of(&records[pair[0]..pair[1]], &settings));
        }
        prop_assert_eq!(everything(merged, &subject(3)), whole);
    }

    /// With a hold shorter than the parts, the result still holds for I/Os that end within it.
    #[test]
    fn what_is_held_back_is_enough_for_short_flights(
        records in prop::collection::vec(record(), 100..300),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut records = in_order(records);
        for (at, record) in (0..).zip(&mut records) {
            record.issue = Nanos(at * 1_000_000);
            record.device_time = record.device_time.map(|time| Nanos(time.0 % 8_000_000));
        }
        let settings = Settings { hold: 16, ..Settings::default() };
        let whole = everything(fold_of(&records, &settings), &subject(3));
        let cut = cut.index(records.len());
        let mut merged = fold_of(&records[..cut], &settings);
        merged.merge(fold_of(&records[cut..], &settings));
        prop_assert_eq!(everything(merged, &subject(3)), whole);
    }

    #[test]
    fn batches_do_not_matter(records in prop::collection::vec(record(), 0..200), size in 1_usize..50) {
        let records = in_order(records);
        let settings = Settings::default();
        let whole = everything(fold_of(&records, &settings), &subject(3));
        let mut fold = Fold::new(&settings);
        records.chunks(size).for_each(|batch| fold.push(batch));
        prop_assert_eq!(everything(fold, &subject(3)), whole);
    }
}
