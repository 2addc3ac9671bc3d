//! A stored trace is the trace that was stored.

use std::path::Path;

use proptest::prelude::*;
use tilemark_trace::store::{self, Columns, Options, Writer};
use tilemark_trace::{
    Clock, Device, DeviceIndex, Flags, IoRecord, Losses, Memory, OpenOptions, Operation, Source,
    TraceInfo, VmIndex,
};
use units::{Bytes, Nanos};

pub fn info(vms: u16, devices: u16) -> TraceInfo {
    TraceInfo {
        format: "memory",
        clock: Clock::Real { resolution: Nanos(1000) },
        started_unix_ns: Some(1_763_856_000_123_456_789),
        has_latency: true,
        vms: (0..vms).map(|vm| format!("vm-{vm}")).collect(),
        devices: (0..devices)
            .map(|device| Device { name: format!("sd{device}"), size: Some(Bytes::new(1 << 40)) })
            .collect(),
        losses: Losses {
            bad: 1,
            examples: vec!["line 7: no number".to_owned()],
            ..Losses::default()
        },
    }
}

pub fn read_all(source: &mut dyn Source) -> Vec<IoRecord> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.read(&mut batch).expect("the trace is readable");
        if batch.is_empty() {
            return all;
        }
        assert!(batch.len() <= tilemark_trace::BATCH);
        all.extend_from_slice(&batch);
    }
}

fn stored(
    directory: &Path,
    info: &TraceInfo,
    records: &[IoRecord],
    options: Options,
) -> store::Store {
    let path = directory.join("t.tmt");
    let mut source = Memory::new(info.clone(), records.to_vec());
    let written = store::save(&mut source, &path, options).expect("storing");
    assert_eq!(written.records, records.len() as u64);
    store::open(&path).expect("opening")
}

fn record() -> impl Strategy<Value = IoRecord> {
    let time = || prop_oneof![0_u64..300, 0..=u64::from(u32::MAX), 0..=i64::MAX.cast_unsigned()];
    let operation = prop_oneof![
        Just(Operation::Read),
        Just(Operation::Write),
        Just(Operation::Flush),
        Just(Operation::Discard)
    ];
    let times = (time(), prop::option::of(time()), prop::option::of(time()));
    let place = (time(), any::<u32>(), 0_u16..3, 0_u16..2);
    (times, place, operation, any::<u8>(), prop::option::of(any::<u16>())).prop_map(
        |(
            (issue, queue, device_time),
            (offset, length, vm, device),
            operation,
            flags,
            outstanding,
        )| {
            IoRecord {
                issue: Nanos(issue),
                queue: queue.map(Nanos),
                device_time: device_time.map(Nanos),
                offset,
                length,
                outstanding,
                vm: VmIndex(vm),
                device: DeviceIndex(device),
                operation,
                flags: Flags::from_bits(flags),
            }
        },
    )
}

fn sorted(mut records: Vec<IoRecord>) -> Vec<IoRecord> {
    records.sort_by_key(|record| record.issue);
    records
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_read_is_what_was_written(
        records in prop::collection::vec(record(), 0..200).prop_map(sorted),
        per_part in 25_u64..200,
        per_group in 1_usize..50,
        span in prop::option::of(100_u64..5000),
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let (recording, host) = ("r-1".to_owned(), "a".to_owned());
        let part_of = store::PartOf { recording, host, after_ns: 7, known_to_ns: 1 };
        let options = Options {
            part_of: Some(part_of.clone()),
            records_per_part: per_part,
            part_span_max: span.map(Nanos),
            records_per_group: per_group,
            host: None,
        };
        let info = info(3, 2);
        let store = stored(directory.path(), &info, &records, options);
        prop_assert_eq!(read_all(&mut store.source(Columns::ALL)), records.clone());
        let parts = store.parts();
        let pieces = parts.iter().flat_map(|part| read_all(&mut part.source(Columns::ALL)));
        prop_assert_eq!(pieces.collect::<Vec<_>>(), records.clone());
        prop_assert_eq!(store.info(), &TraceInfo { format: store::FORMAT, ..info });
        prop_assert_eq!(store.origin(), "memory");
        prop_assert_eq!(store.part_of(), Some(&part_of));
    }

    #[test]
    fn a_column_left_out_is_unknown_and_the_others_are_not_touched(
        records in prop::collection::vec(record(), 1..100).prop_map(sorted),
        mask in 0_u16..512,
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let store = stored(directory.path(), &info(3, 2), &records, Options::default());
        let all = [
            Columns::QUEUE, Columns::DEVICE_TIME, Columns::VM, Columns::DEVICE,
            Columns::OPERATION, Columns::OFFSET, Columns::LENGTH, Columns::OUTSTANDING,
            Columns::FLAGS,
        ];
        let wanted = (0..9).filter(|bit| mask >> bit & 1 == 1);
        let columns = wanted.fold(Columns::ISSUE, |columns, bit| columns | all[bit]);
        let expected: Vec<IoRecord> = records.iter().map(|record| masked(record, columns)).collect();
        prop_assert_eq!(read_all(&mut store.source(columns)), expected);
    }
}

fn masked(record: &IoRecord, columns: Columns) -> IoRecord {
    let mut masked = *record;
    if !columns.has(Columns::QUEUE) {
        masked.queue = None;
    }
    if !columns.has(Columns::DEVICE_TIME) {
        masked.device_time = None;
    }
    if !columns.has(Columns::VM) {
        masked.vm = VmIndex(0);
    }
    if !columns.has(Columns::DEVICE) {
        masked.device = DeviceIndex(0);
    }
    if !columns.has(Columns::OPERATION) {
        masked.operation = Operation::Read;
    }
    if !columns.has(Columns::OFFSET) {
        masked.offset = 0;
    }
    if !columns.has(Columns::LENGTH) {
        masked.length = 0;
    }
    if !columns.has(Columns::OUTSTANDING) {
        masked.outstanding = None;
    }
    if !columns.has(Columns::FLAGS) {
        masked.flags = Flags::NONE;
    }
    masked
}

#[test]
fn long_trace_is_split_by_time_without_empty_batches() {
    let directory = tempfile::tempdir().expect("a directory");
    let records: Vec<IoRecord> =
        (0..200_000).map(|n| IoRecord::new(Nanos(n), Operation::Write, n * 512, 512)).collect();
    let options =
        Options { records_per_part: 70_001, records_per_group: 30_011, ..Options::default() };
    let store = stored(directory.path(), &info(1, 1), &records, options);
    assert!(read_all(&mut store.source(Columns::ALL)) == records, "something changed");
    assert_eq!(store.parts().len(), 3 + 3 + 2, "70,001 are 3 groups; 59,998 are 2");
    assert_eq!(store.issued(), Some((Nanos(0), Nanos(199_999))));
}

#[test]
fn a_trace_without_names_has_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = IoRecord::new(Nanos(1), Operation::Read, 0, 4096);
    let store = stored(directory.path(), &info(0, 0), &[record], Options::default());
    assert_eq!(read_all(&mut store.source(Columns::ALL)), [record]);
    assert!(store.info().vms.is_empty() && store.info().devices.is_empty());
}

#[test]
fn names_may_come_up_while_a_trace_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("t.tmt");
    let mut writer = Writer::create(&path, &info(1, 1), Options::default()).expect("creating");
    let first = IoRecord::new(Nanos(1), Operation::Read, 0, 4096);
    let second = IoRecord { vm: VmIndex(1), ..first };
    writer.write(&[first]).expect("a known VM");
    writer.update(&info(2, 1));
    writer.write(&[second]).expect("a VM that came up");
    writer.finish().expect("finishing");
    let store = store::open(&path).expect("opening");
    assert_eq!(read_all(&mut store.source(Columns::VM)).len(), 2);
    assert_eq!(read_all(&mut store.source(Columns::ALL)), [first, second]);
}

#[test]
fn a_stored_trace_opens_like_any_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = IoRecord::new(Nanos(1), Operation::Write, 512, 4096);
    stored(directory.path(), &info(1, 1), &[record], Options::default());
    let path = directory.path().join("t.tmt");
    let mut source = tilemark_trace::open(&path, &OpenOptions::default()).expect("opening");
    assert_eq!(source.info().format, store::FORMAT);
    assert_eq!(read_all(source.as_mut()), [record]);
    let options = OpenOptions { format: "msr".parse().ok(), ..OpenOptions::default() };
    let error = tilemark_trace::open(&path, &options).err().expect("it is no MSR trace");
    assert!(error.to_string().contains("not a msr trace"), "{error}");
}
