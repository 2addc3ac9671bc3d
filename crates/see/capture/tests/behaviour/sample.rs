use std::path::Path;

use trace::store::{self, Columns};
use trace::{Flags, IoRecord, Operation, Source};

fn sample() -> (store::Store, Vec<IoRecord>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/mixed.tmt");
    let store = store::open(&path).expect("the sample");
    let (mut source, mut batch) = (store.source(Columns::ALL), Vec::new());
    let mut records = Vec::new();
    loop {
        source.read(&mut batch).expect("records");
        if batch.is_empty() {
            return (store, records);
        }
        records.extend_from_slice(&batch);
    }
}

#[test]
fn the_shipped_capture_is_what_its_description_says() {
    let (store, records) = sample();
    let count = |operation| records.iter().filter(|io| io.operation == operation).count();
    let kinds = [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard];
    assert_eq!(kinds.map(count), [5298, 2375, 468, 76]);
    let names = ["postgres", "ext4lazyinit", "tilemark", "jbd2/loop0-8", "fio"];
    assert_eq!(store.info().vms, names);
    assert_eq!(store.info().losses.dropped, 0);
    assert!(records.is_sorted_by_key(|io| io.issue));
    assert!(records.iter().all(|io| io.device_time.is_some()));
    // A flush that belongs to a write with FUA has no queue time.
    let has_waited = |io: &IoRecord| io.queue.is_some() || io.operation == Operation::Flush;
    assert!(records.iter().all(has_waited));
    assert!(records.iter().all(|io| io.end_offset() <= 12 << 30));
}

#[test]
fn what_is_outstanding_and_what_follows_on_can_be_seen_in_it() {
    let (_, records) = sample();
    assert!(records.iter().any(|io| io.outstanding.is_some_and(|count| count >= 16)));
    assert!(records.iter().any(|io| io.flags.has(Flags::SEQUENTIAL)));
    assert!(records.iter().any(|io| io.flags.has(Flags::FUA)));
}
