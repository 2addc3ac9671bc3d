//! Fills in fields that follow from earlier records: number of outstanding I/Os, and whether an I/O
//! continues an earlier one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Flags, IoRecord, Operation, Source, TraceError, TraceInfo};

/// Maximum number of completion times kept per device. If more I/Os are in flight, the excess I/Os
/// are ignored; a record's count saturates far below.
const IN_FLIGHT_MAX: usize = 1 << 20;

/// Fills in the fields that follow from earlier records, in the order of issue.
///
/// * [`IoRecord::outstanding`], where it is not known yet and the trace has latencies: the number
///   of I/Os of the same device that were issued before this I/O (or at the same moment, earlier in
///   the trace) and complete after its issue. This is vscsiStats' "outstanding I/Os": all I/Os that
///   the initiator had open, including waiting ones. I/Os without a latency are not counted for
///   others, because their completion time is unknown.
/// * [`Flags::SEQUENTIAL`], always: a read or write that begins at the byte after the last one of
///   the same direction on the same device, of any initiator.
#[derive(Debug, Clone)]
pub struct Derive {
    has_latency: bool,
    devices: Vec<Device>,
}

#[derive(Debug, Clone, Default)]
struct Device {
    /// Completion times of the I/Os in flight, the earliest first.
    ends: BinaryHeap<Reverse<u64>>,
    /// First byte after the last read, and after the last write.
    next: [Option<u64>; 2],
}

impl Derive {
    /// Begins before a trace's first record. Without latencies, the number of outstanding I/Os is
    /// unknown.
    pub fn new(info: &TraceInfo) -> Self {
        Self { has_latency: info.has_latency, devices: Vec::new() }
    }

    /// Processes the next records, in order of issue.
    pub fn apply(&mut self, records: &mut [IoRecord]) {
        for record in records {
            self.one(record);
        }
    }

    fn one(&mut self, record: &mut IoRecord) {
        let index = usize::from(record.device.0);
        if index >= self.devices.len() {
            self.devices.resize_with(index + 1, Device::default);
        }
        let device = &mut self.devices[index];
        record.flags = record.flags.without(Flags::SEQUENTIAL);
        if device.continues(record) {
            record.flags = record.flags.with(Flags::SEQUENTIAL);
        }
        if self.has_latency {
            let count = device.outstanding(record);
            record.outstanding = record.outstanding.or(Some(count));
        }
    }
}

impl Device {
    fn continues(&mut self, record: &IoRecord) -> bool {
        let next = match record.operation {
            Operation::Read => &mut self.next[0],
            Operation::Write => &mut self.next[1],
            Operation::Flush | Operation::Discard => return false,
        };
        next.replace(record.end_offset()) == Some(record.offset)
    }

    fn outstanding(&mut self, record: &IoRecord) -> u16 {
        while self.ends.peek().is_some_and(|end| end.0 <= record.issue.0) {
            self.ends.pop();
        }
        let count = u16::try_from(self.ends.len()).unwrap_or(u16::MAX);
        if let Some(latency) = record.latency()
            && self.ends.len() < IN_FLIGHT_MAX
        {
            self.ends.push(Reverse(record.issue.0.saturating_add(latency.0)));
        }
        count
    }
}

/// A source that fills in the fields that follow from earlier records.
#[derive(Debug)]
pub struct Derived<S> {
    source: S,
    derive: Option<Derive>,
}

impl<S: Source> Derived<S> {
    /// Wraps `source`, which has not been read yet.
    pub fn new(source: S) -> Self {
        Self { source, derive: None }
    }
}

impl<S: Source> Source for Derived<S> {
    fn info(&self) -> &TraceInfo {
        self.source.info()
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        self.source.read(batch)?;
        // The first records may show that there are latencies.
        let info = self.source.info();
        self.derive.get_or_insert_with(|| Derive::new(info)).apply(batch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Nanos;

    use super::*;
    use crate::DeviceIndex;

    fn timed(issue: u64, latency: Option<u64>) -> IoRecord {
        let record = IoRecord::new(Nanos(issue), Operation::Read, 0, 512);
        IoRecord { device_time: latency.map(Nanos), ..record }
    }

    fn derived(records: &[IoRecord]) -> Vec<IoRecord> {
        let mut records = records.to_vec();
        Derive { has_latency: true, devices: Vec::new() }.apply(&mut records);
        records
    }

    #[test]
    fn an_io_that_ends_when_another_begins_is_not_outstanding() {
        let records = [timed(0, Some(10)), timed(0, Some(11)), timed(10, Some(0)), timed(10, None)];
        let counts: Vec<_> = derived(&records).iter().map(|record| record.outstanding).collect();
        assert_eq!(counts, [Some(0), Some(1), Some(1), Some(1)], "the third took no time");
    }

    #[test]
    fn what_a_source_knows_is_kept() {
        let known = IoRecord { outstanding: Some(7), ..timed(0, Some(10)) };
        let records = derived(&[known, timed(1, Some(1))]);
        assert_eq!((records[0].outstanding, records[1].outstanding), (Some(7), Some(1)));
    }

    #[test]
    fn an_io_is_sequential_only_after_its_own_direction_and_device() {
        let at = |operation, device, offset| IoRecord {
            device: DeviceIndex(device),
            ..IoRecord::new(Nanos(0), operation, offset, 512)
        };
        let records = [
            at(Operation::Read, 0, 0),
            at(Operation::Write, 0, 512),
            at(Operation::Read, 1, 512),
            at(Operation::Flush, 0, 512),
            at(Operation::Read, 0, 512),
            at(Operation::Write, 0, 1024),
            at(Operation::Discard, 0, 1024),
            at(Operation::Read, 0, 1536),
        ];
        let found: Vec<bool> =
            derived(&records).iter().map(|it| it.flags.has(Flags::SEQUENTIAL)).collect();
        assert_eq!(found, [false, false, false, false, true, true, false, false]);
    }

    proptest! {
        #[test]
        fn outstanding_is_what_counting_by_hand_gives(
            times in prop::collection::vec((0_u64..50, prop::option::of(0_u64..60), 0_u16..3), 0..80),
        ) {
            let mut records: Vec<IoRecord> = times
                .iter()
                .map(|(at, latency, device)| IoRecord {
                    device: DeviceIndex(*device),
                    ..timed(*at, *latency)
                })
                .collect();
            records.sort_by_key(|record| record.issue);
            for (position, record) in derived(&records).iter().enumerate() {
                let open = records[..position].iter().filter(|before| {
                    let end = before.latency().map(|latency| before.issue.0 + latency.0);
                    before.device == record.device && end.is_some_and(|end| end > record.issue.0)
                });
                prop_assert_eq!(record.outstanding.map(usize::from), Some(open.count()));
            }
        }
    }
}
