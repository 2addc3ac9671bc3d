use proptest::prelude::*;
use trace::VmIndex;

use super::*;

const DEV: u32 = 254 << 20;
const START: u64 = 1_000_000;

fn event(kind: Kind, time: u64, sector: u64, sectors: u32) -> Event {
    Event {
        time: START + time,
        sector,
        second: 0,
        dev: DEV,
        sectors,
        pid: 7,
        comm: [0; 16],
        kind,
        operation: Operation::Write,
        flags: Flags::NONE,
    }
}

fn flush(kind: Kind, time: u64) -> Event {
    Event { operation: Operation::Flush, ..event(kind, time, 0, 0) }
}

/// Flush as it is sent: a write without data.
fn flush_start(time: u64, pid: u32) -> Event {
    Event { flags: Flags::PREFLUSH, pid, ..event(Kind::Start, time, 0, 0) }
}

fn join(events: &[Event]) -> (Vec<IoRecord>, Counts) {
    join_with(events, |_| {})
}

fn join_with(events: &[Event], prepare: impl Fn(&mut Joiner)) -> (Vec<IoRecord>, Counts) {
    let has_bios = events.iter().any(|event| event.kind.reach() == Reach::Bios);
    let reach = if has_bios { Reach::Bios } else { Reach::Requests };
    let mut joiner =
        Joiner::new(vec![Watched { dev: DEV, disk: 0, reach, queues: 1 }], START, Order::Issue);
    let mut records = Vec::new();
    for event in events {
        if event.pid == u32::MAX {
            prepare(&mut joiner);
            continue;
        }
        joiner.push(event, &mut |event| Sender {
            vm: VmIndex(u16::try_from(event.pid).expect("small")),
            is_wanted: event.pid != 99,
            is_kernel: event.pid == 98,
        });
        joiner.take(event.time, &mut records);
    }
    joiner.finish(&mut records);
    (records, joiner.counts())
}

#[test]
fn an_io_that_is_seen_as_bio_and_as_request_is_counted_once() {
    let devices = [(DEV, Reach::Requests), (DEV + 1, Reach::Bios)];
    let watched =
        (0..).zip(devices).map(|(disk, (dev, reach))| Watched { dev, disk, reach, queues: 1 });
    let mut joiner = Joiner::new(watched.collect(), START, Order::Issue);
    let mut sender = |_: &Event| Sender { vm: VmIndex(0), is_wanted: true, is_kernel: false };
    for dev in [DEV, DEV + 1] {
        for (kind, time) in [
            (Kind::BioQueue, 0),
            (Kind::Start, 1),
            (Kind::Issue, 2),
            (Kind::Complete, 10),
            (Kind::BioComplete, 11),
        ] {
            joiner.push(&Event { dev, ..event(kind, time, 8, 8) }, &mut sender);
        }
    }
    let mut records = Vec::new();
    joiner.finish(&mut records);
    assert_eq!((records.len(), joiner.counts().records, joiner.counts().unfinished), (2, 2, 0));
    assert_eq!(records[0].device_time, Some(Nanos(8)));
    assert_eq!(records[1].device_time, Some(Nanos(11)));
}

#[test]
fn waiting_and_device_time_are_told_apart() {
    let (records, counts) = join(&[
        event(Kind::Start, 10, 800, 8),
        event(Kind::Issue, 30, 800, 8),
        event(Kind::Complete, 130, 800, 8),
    ]);
    assert_eq!((records.len(), counts.records), (1, 1));
    assert_eq!(records[0].issue, Nanos(10));
    assert_eq!((records[0].queue, records[0].device_time), (Some(Nanos(20)), Some(Nanos(100))));
    assert_eq!((records[0].offset, records[0].length), (800 * 512, 4096));
    assert_eq!((records[0].vm, records[0].outstanding), (VmIndex(7), Some(0)));
}

#[test]
fn a_request_grown_at_either_end_is_one_io_of_its_final_size() {
    let (records, counts) = join(&[
        event(Kind::Start, 1, 108, 8),
        event(Kind::FrontMerge, 2, 100, 8),
        event(Kind::Start, 3, 116, 8),
        event(Kind::Merge, 4, 116, 8),
        event(Kind::Issue, 5, 100, 24),
        event(Kind::Complete, 9, 100, 24),
    ]);
    assert_eq!((records.len(), counts.merged, counts.unfinished), (1, 1, 0));
    assert_eq!((records[0].offset, records[0].length), (100 * 512, 24 * 512));
    assert_eq!(records[0].queue, Some(Nanos(4)));
}

#[test]
fn an_io_that_ends_in_parts_ends_with_its_last_part() {
    let (records, counts) = join(&[
        event(Kind::Issue, 5, 100, 24),
        event(Kind::Complete, 6, 100, 8),
        event(Kind::Complete, 8, 108, 16),
    ]);
    assert_eq!((records.len(), counts.unmatched), (1, 0));
    assert_eq!((records[0].length, records[0].device_time), (24 * 512, Some(Nanos(3))));
    assert_eq!(records[0].queue, None, "when it was made is not known");
}

#[test]
fn requeued_io_counts_from_its_last_issue() {
    let (records, counts) = join(&[
        event(Kind::Start, 1, 100, 8),
        event(Kind::Issue, 2, 100, 8),
        event(Kind::Requeue, 3, 100, 8),
        event(Kind::Insert, 4, 100, 8),
        event(Kind::Issue, 12, 100, 8),
        event(Kind::Complete, 15, 100, 8),
    ]);
    assert_eq!((records.len(), counts.requeued), (1, 1));
    assert_eq!((records[0].queue, records[0].device_time), (Some(Nanos(11)), Some(Nanos(3))));
}

#[test]
fn flush_belongs_to_its_requester_not_the_kernel_thread() {
    let kernel = |event: Event| Event { pid: 3, ..event };
    let (records, counts) = join(&[
        flush_start(1, 5),
        flush_start(2, 6),
        kernel(flush(Kind::Issue, 4)),
        kernel(Event { sector: u64::MAX, ..flush(Kind::Complete, 9) }),
        kernel(event(Kind::Complete, 9, 0, 0)),
        kernel(event(Kind::Complete, 9, 0, 0)),
    ]);
    assert_eq!((records.len(), counts.shared_flushes, counts.steps), (1, 1, 2));
    assert_eq!((records[0].vm, records[0].operation), (VmIndex(5), Operation::Flush));
    assert_eq!((records[0].queue, records[0].device_time), (Some(Nanos(3)), Some(Nanos(5))));
    assert_eq!((records[0].offset, records[0].length), (0, 0));
}

#[test]
fn fua_write_stays_fua_when_split_into_write_and_flush() {
    let fua = Event { flags: Flags::FUA, pid: 5, ..event(Kind::Start, 1, 64, 8) };
    let (records, _) = join(&[
        fua,
        event(Kind::Issue, 2, 64, 8),
        event(Kind::Complete, 3, 64, 8),
        flush(Kind::Issue, 4),
        flush(Kind::Complete, 6),
        event(Kind::Complete, 6, 64, 0),
    ]);
    assert_eq!(records.len(), 2);
    assert!(records[0].flags.has(Flags::FUA));
    assert_eq!((records[1].operation, records[1].vm), (Operation::Flush, VmIndex(5)));
}

#[test]
fn a_bio_cut_in_two_is_two_ios() {
    let (records, counts) = join(&[
        event(Kind::BioQueue, 1, 0, 16),
        Event { second: 8, ..event(Kind::BioSplit, 2, 0, 0) },
        event(Kind::BioComplete, 4, 0, 8),
        event(Kind::BioComplete, 7, 8, 8),
    ]);
    assert_eq!((records.len(), counts.split), (2, 1));
    assert_eq!((records[0].length, records[0].device_time), (4096, Some(Nanos(3))));
    assert_eq!((records[1].offset, records[1].device_time), (4096, Some(Nanos(5))));
    assert!(records[1].flags.has(Flags::SEQUENTIAL));
}

#[test]
fn unmatched_completions_and_unfinished_starts_are_counted() {
    let (records, counts) = join(&[
        event(Kind::Complete, 1, 8, 8),
        flush(Kind::Complete, 2),
        event(Kind::Start, 3, 16, 8),
        event(Kind::Issue, 4, 16, 8),
        Event { pid: 99, ..event(Kind::Start, 5, 32, 8) },
        event(Kind::Issue, 6, 32, 8),
        event(Kind::Complete, 7, 32, 8),
    ]);
    assert_eq!(records, []);
    assert_eq!((counts.unmatched, counts.unfinished, counts.unwanted), (2, 1, 1));
}

/// Joins events of which those of one CPU are lost from 300 to 400; the marker is where that is
/// noticed.
fn with_a_gap(events: &[Event]) -> (Vec<IoRecord>, Counts) {
    join_with(events, |joiner| joiner.lost(START + 300, START + 400))
}

fn marker() -> Event {
    Event { pid: u32::MAX, ..event(Kind::Start, 0, 0, 0) }
}

#[test]
fn io_open_at_an_event_gap_takes_no_later_completion() {
    let (records, counts) = with_a_gap(&[
        event(Kind::Issue, 2, 8, 8),
        marker(),
        // The beginning of this I/O is lost.
        event(Kind::Complete, 450, 8, 8),
    ]);
    assert_eq!(records, []);
    assert_eq!((counts.abandoned, counts.unmatched), (1, 1));
}

#[test]
fn io_queued_at_an_event_gap_takes_no_later_completion() {
    let (records, counts) =
        with_a_gap(&[event(Kind::Start, 2, 8, 8), marker(), event(Kind::Complete, 450, 8, 8)]);
    assert_eq!(records, []);
    assert_eq!((counts.abandoned, counts.unmatched), (1, 1));
}

#[test]
fn what_begins_and_ends_while_events_are_lost_makes_no_record() {
    let (records, counts) = with_a_gap(&[
        marker(),
        event(Kind::Issue, 310, 8, 8),
        // The end of this I/O and the beginning of the next may be lost.
        event(Kind::Complete, 390, 8, 8),
        event(Kind::Issue, 395, 16, 8),
        event(Kind::Complete, 450, 16, 8),
    ]);
    assert_eq!(records, []);
    assert_eq!(counts.unmatched, 2);
}

#[test]
fn ambiguous_completion_after_an_event_gap_is_unmatched() {
    let end = |time| event(Kind::Complete, time, 8, 8);
    let (records, counts) = with_a_gap(&[
        event(Kind::Issue, 2, 8, 8),
        marker(),
        event(Kind::Issue, 500, 8, 8),
        end(503),
        event(Kind::Issue, 600, 8, 8),
        end(609),
    ]);
    assert_eq!((counts.abandoned, counts.unmatched), (2, 1));
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].issue, records[0].device_time), (Nanos(600), Some(Nanos(9))));
    assert_eq!(records[0].outstanding, None, "others may be in flight");
}

/// Seen while watching a busy disk: flushes that the driver gave back stayed in flight for ever, and
/// every later one got the end of an earlier one, minutes too late.
#[test]
fn flush_given_back_by_the_driver_ends_once() {
    let (records, counts) = join(&[
        flush_start(1, 5),
        flush(Kind::Issue, 2),
        flush(Kind::Requeue, 3),
        flush(Kind::Issue, 10),
        flush(Kind::Complete, 15),
        flush_start(20, 5),
        flush(Kind::Issue, 21),
        flush(Kind::Complete, 25),
    ]);
    let times: Vec<_> = records.iter().map(|own| (own.queue, own.device_time)).collect();
    assert_eq!(times, [(Some(Nanos(9)), Some(Nanos(5))), (Some(Nanos(1)), Some(Nanos(4)))]);
    assert_eq!((counts.requeued, counts.abandoned, counts.unfinished), (1, 0, 0));
    assert!(records.iter().all(|own| own.outstanding == Some(0)));
}

#[test]
fn flush_whose_end_was_not_seen_is_dropped_by_the_next() {
    let (records, counts) = join(&[
        flush(Kind::Issue, 2),
        flush(Kind::Issue, 50),
        flush(Kind::Complete, 55),
        flush(Kind::Issue, 60),
        flush(Kind::Complete, 62),
    ]);
    let times: Vec<_> = records.iter().map(|own| own.device_time).collect();
    assert_eq!(times, [Some(Nanos(5)), Some(Nanos(2))]);
    assert_eq!((counts.abandoned, counts.unfinished), (1, 0));
}

#[test]
fn flush_open_at_an_event_gap_is_abandoned() {
    let (records, counts) = with_a_gap(&[
        flush(Kind::Issue, 2),
        marker(),
        flush(Kind::Issue, 500),
        flush(Kind::Complete, 501),
        flush(Kind::Complete, 520),
    ]);
    assert_eq!(records, []);
    assert_eq!((counts.abandoned, counts.unmatched), (2, 2));
}

#[test]
fn an_event_that_comes_late_does_not_turn_the_order_round() {
    let (records, counts) = join(&[
        event(Kind::Issue, 10, 8, 8),
        event(Kind::Issue, 7, 16, 8),
        event(Kind::Complete, 20, 8, 8),
        event(Kind::Complete, 22, 16, 8),
    ]);
    assert_eq!(counts.late, 1);
    assert_eq!((records[0].issue, records[1].issue), (Nanos(10), Nanos(10)));
    assert_eq!(records[1].device_time, Some(Nanos(15)));
}

#[test]
fn io_without_completion_delays_others_for_one_minute() {
    let reach = Reach::Requests;
    let mut joiner =
        Joiner::new(vec![Watched { dev: DEV, disk: 0, reach, queues: 1 }], START, Order::Issue);
    let mut sender = |_: &Event| Sender { vm: VmIndex(0), is_wanted: true, is_kernel: false };
    let mut records = Vec::new();
    joiner.push(&event(Kind::Issue, 0, 8, 8), &mut sender);
    joiner.push(&event(Kind::Issue, 1, 16, 8), &mut sender);
    joiner.push(&event(Kind::Complete, 2, 16, 8), &mut sender);
    joiner.take(START + PATIENCE_NS, &mut records);
    assert_eq!(records.len(), 0);
    joiner.take(START + PATIENCE_NS + 1, &mut records);
    assert_eq!((records.len(), joiner.counts().abandoned), (1, 1));
}

/// Events of one request in the plain model.
#[derive(Debug, Clone)]
struct Life {
    sectors: u32,
    front: u32,
    back: u32,
    requeues: u8,
    parts: Vec<u32>,
    is_read: bool,
    is_merged_away: bool,
}

fn life() -> impl Strategy<Value = Life> {
    let parts = prop::collection::vec(1_u32..9, 0..3);
    (1_u32..64, 0_u32..9, 0_u32..9, 0_u8..3, parts, any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(sectors, front, back, requeues, parts, is_read, is_merged_away)| Life {
            sectors,
            front,
            back,
            requeues,
            parts,
            is_read,
            is_merged_away,
        })
}

/// Events of a request in order, without times, at its own offset of the disk.
fn events_of(life: &Life, place: u64) -> Vec<Event> {
    let operation = if life.is_read { Operation::Read } else { Operation::Write };
    let make = |kind, sector, sectors| Event { operation, ..event(kind, 0, sector, sectors) };
    let first = place * 1000 + 100;
    let mut events = vec![make(Kind::Start, first, life.sectors)];
    if life.is_merged_away {
        events.push(make(Kind::Merge, first, life.sectors));
        return events;
    }
    let mut sector = first;
    if life.front > 0 {
        sector -= u64::from(life.front);
        events.push(make(Kind::FrontMerge, sector, life.front));
    }
    let total = life.front + life.sectors + life.back;
    for _ in 0..life.requeues {
        events.push(make(Kind::Issue, sector, total));
        events.push(make(Kind::Requeue, sector, total));
    }
    events.push(make(Kind::Issue, sector, total));
    let mut left = total;
    for part in &life.parts {
        let part = (*part).min(left - 1);
        if part > 0 {
            events.push(make(Kind::Complete, sector, part));
            sector += u64::from(part);
            left -= part;
        }
    }
    events.push(make(Kind::Complete, sector, left));
    events
}

proptest! {
    #[test]
    fn any_interleaving_yields_each_request_once_in_start_order(
        lives in prop::collection::vec(life(), 1..40),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 400),
    ) {
        let mut waiting: Vec<(usize, std::vec::IntoIter<Event>)> = lives.iter().enumerate()
            .map(|(place, life)| (place, events_of(life, place as u64).into_iter())).collect();
        let (mut time, mut events, mut expected) = (0, Vec::new(), Vec::new());
        let mut picks = picks.iter().cycle();
        let mut open = 0_u16;
        let mut model: Vec<Option<IoRecord>> = vec![None; lives.len()];
        let mut issued = vec![0; lives.len()];
        while !waiting.is_empty() {
            let at = picks.next().expect("endless").index(waiting.len());
            let (place, rest) = &mut waiting[at];
            let place = *place;
            let next = rest.next();
            let is_last = rest.len() == 0;
            time += 1;
            let Some(mut event) = next else { waiting.remove(at); continue };
            event.time = START + time;
            match event.kind {
                Kind::Start => {
                    let mut record = IoRecord::new(Nanos(time), event.operation, 0, 0);
                    record.outstanding = Some(open);
                    model[place] = Some(record);
                    open += 1;
                }
                Kind::Issue => {
                    let record = model[place].as_mut().expect("started");
                    record.queue = Some(Nanos(time - record.issue.0));
                    record.offset = event.sector * 512;
                    record.length = event.sectors * 512;
                    issued[place] = time;
                }
                Kind::Complete if is_last => {
                    let record = model[place].as_mut().expect("started");
                    record.device_time = Some(Nanos(time - issued[place]));
                    open -= 1;
                }
                Kind::Merge => { open -= 1; model[place] = None; }
                _ => {}
            }
            events.push(event);
        }
        expected.extend(model.into_iter().flatten());
        expected.sort_by_key(|record| record.issue);
        let (records, counts) = join(&events);
        let plain: Vec<IoRecord> = records.iter()
            .map(|record| IoRecord { flags: Flags::NONE, vm: VmIndex(0), ..*record }).collect();
        prop_assert_eq!(plain, expected);
        prop_assert_eq!(counts.unmatched + counts.unfinished + counts.abandoned, 0);
    }

    #[test]
    fn events_in_no_order_at_all_neither_panic_nor_lose_count(
        events in prop::collection::vec((0_usize..10, 0_u64..6, 0_u32..4, 0_u8..4, 0_u64..3), 0..200),
    ) {
        const KINDS: [Kind; 10] = [Kind::Start, Kind::Insert, Kind::Issue, Kind::Complete,
            Kind::Requeue, Kind::Merge, Kind::FrontMerge, Kind::BioQueue, Kind::BioComplete,
            Kind::BioSplit];
        const OPERATIONS: [Operation; 4] =
            [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard];
        let events: Vec<Event> = events.iter().enumerate().map(|(time, (kind, sector, sectors, operation, second))| {
            let flags = if *second == 0 { Flags::PREFLUSH } else { Flags::NONE };
            let made = event(KINDS[*kind], time as u64, *sector, *sectors);
            let operation = OPERATIONS[usize::from(*operation)];
            Event { operation, second: *sector + *second, flags, ..made }
        }).collect();
        let (records, counts) = join(&events);
        prop_assert!(records.is_sorted_by_key(|record| record.issue));
        prop_assert_eq!(records.len() as u64, counts.records);
        prop_assert_eq!(counts.abandoned, 0);
    }
}
