use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stats::Histogram;
use trace::{Flags, IoRecord, Operation};
use units::{Nanos, Ratio};

/// Finished capture. This is the document of `--format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Name and version of this document.
    pub schema: String,
    /// Directory of the trace.
    pub trace: PathBuf,
    /// Size of the trace in bytes.
    pub trace_bytes: u64,
    /// Duration of the capture, nanoseconds.
    pub elapsed_ns: u64,
    /// I/Os in the trace.
    pub records: u64,
    /// Events read for these I/Os.
    pub events: u64,
    /// Events lost because the kernel's buffers were full.
    pub lost_events: u64,
    /// Times of the losses in order; I/Os in flight then are not in the trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// I/Os that are not in the trace, by reason.
    pub not_recorded: NotRecorded,
    /// CPU time of this process.
    pub cpu_ns: u64,
    /// CPU time as a share of one core.
    pub core_percent: f64,
    /// Sums by operation.
    pub operations: Vec<Row>,
    /// Sums by device, sorted by time in I/O, largest first.
    pub devices: Vec<Row>,
    /// Sums by initiator, sorted in the same way.
    pub senders: Vec<Row>,
    /// How the command ended, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Interval in which events were lost, since the start of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Start of the gap, in nanoseconds.
    pub from_ns: u64,
    /// End of the gap, in nanoseconds.
    pub to_ns: u64,
    /// Lost events, as far as the kernel counts them.
    pub events: u64,
}

impl Gap {
    /// Inserts a gap in order. Touching gaps are merged. With more than `most` gaps, the two
    /// nearest to the end are merged.
    pub(crate) fn add_to(self, gaps: &mut Vec<Self>, most: usize) {
        let at = gaps.partition_point(|own| own.from_ns <= self.from_ns);
        gaps.insert(at, self);
        gaps.dedup_by(|later, own| {
            let touch = later.from_ns <= own.to_ns;
            if touch {
                *own = own.and(*later);
            }
            touch
        });
        if gaps.len() > most
            && let (Some(last), Some(own)) = (gaps.pop(), gaps.last_mut())
        {
            *own = own.and(last);
        }
    }

    fn and(self, later: Self) -> Self {
        let (to_ns, events) = (self.to_ns.max(later.to_ns), self.events + later.events);
        Self { to_ns, events, ..self }
    }
}

/// I/Os that are not in the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NotRecorded {
    /// I/Os of initiators that are not recorded.
    pub unwanted: u64,
    /// Completed I/Os that were submitted before the start, or whose other events were lost.
    pub unmatched: u64,
    /// I/Os that had not completed at the end.
    pub unfinished: u64,
    /// I/Os whose completion was not seen within a minute, or was lost.
    pub abandoned: u64,
}

/// Sums over the records of a capture.
#[derive(Debug)]
pub struct Tally {
    operations: Vec<(Operation, Sum, Histogram)>,
    senders: Vec<Sum>,
    devices: Vec<Sum>,
    /// Issue times of the first and the last record since the last call of [`Tally::window`].
    window: Option<(Nanos, Nanos)>,
}

/// Sums over some of the records. There is no histogram, because there may be tens of thousands of
/// initiators.
#[derive(Debug, Default)]
struct Sum {
    count: u64,
    bytes: u64,
    latency_ns: u64,
    longest_ns: u64,
}

/// Row of sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the operation, initiator or device.
    pub name: String,
    /// Number of I/Os.
    pub count: u64,
    /// Bytes; for discards the number of discarded bytes.
    pub bytes: u64,
    /// Mean latency from submission to completion, in nanoseconds.
    pub latency_ns_mean: u64,
    /// Median latency, only for operations; as precise as the histogram of a run (1/128).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_p50: Option<u64>,
    /// 99th percentile of latency, only for operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_p99: Option<u64>,
    /// Longest latency, in nanoseconds.
    pub latency_ns_max: u64,
}

impl Default for Tally {
    fn default() -> Self {
        let kinds = [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard];
        let operations = kinds.map(|kind| (kind, Sum::default(), Histogram::new())).into();
        Self { operations, senders: Vec::new(), devices: Vec::new(), window: None }
    }
}

impl Tally {
    /// Adds records to the sums.
    pub fn add(&mut self, records: &[IoRecord]) {
        for record in records {
            at(&mut self.devices, record.device.0).add(record);
            if !record.flags.has(Flags::BELOW) {
                self.add_once(record);
            }
            let (first, last) = self.window.unwrap_or((record.issue, record.issue));
            self.window = Some((first.min(record.issue), last.max(record.issue)));
        }
    }

    /// Adds a record that is not a part of an I/O on an upper disk.
    fn add_once(&mut self, record: &IoRecord) {
        for (kind, sum, latencies) in &mut self.operations {
            if *kind == record.operation {
                sum.add(record);
                latencies.record(record.latency().unwrap_or(Nanos::ZERO));
            }
        }
        at(&mut self.senders, record.vm.0).add(record);
    }

    /// Returns the time span in which the records since the last call were issued; `None` without
    /// records. A record is complete only after all records before it, so records come in bursts.
    pub fn window(&mut self) -> Option<Nanos> {
        self.window.take().map(|(first, last)| last.saturating_sub(first))
    }

    /// Returns I/Os, bytes read and written, and longest latency so far.
    pub fn totals(&self) -> (u64, u64, Nanos) {
        let mut totals = (0, 0, Nanos::ZERO);
        for (kind, sum, _) in &self.operations {
            totals.0 += sum.count;
            totals.1 += if kind.moves_data() { sum.bytes } else { 0 };
            totals.2 = totals.2.max(Nanos(sum.longest_ns));
        }
        totals
    }

    /// Returns the rows of all operations seen.
    pub fn operations(&self) -> Vec<Row> {
        let name = |kind| match kind {
            Operation::Read => "reads",
            Operation::Write => "writes",
            Operation::Flush => "flushes",
            Operation::Discard => "discards",
        };
        let seen = self.operations.iter().filter(|(_, sum, _)| sum.count > 0);
        seen.map(|(kind, sum, latencies)| {
            let percentile = |share| latencies.percentile(share).map(|latency| latency.0);
            Row {
                latency_ns_p50: percentile(Ratio::new(0.5)),
                latency_ns_p99: percentile(Ratio::new(0.99)),
                ..sum.row(name(*kind))
            }
        })
        .collect()
    }

    /// Returns the rows of all initiators, sorted by time in I/O, largest first.
    pub fn senders(&self, names: &[String]) -> Vec<Row> {
        rows(&self.senders, names.iter().map(String::as_str))
    }

    /// Returns the rows of all devices, sorted in the same way.
    pub fn devices(&self, devices: &[trace::Device]) -> Vec<Row> {
        rows(&self.devices, devices.iter().map(|device| device.name.as_str()))
    }
}

impl Sum {
    fn add(&mut self, record: &IoRecord) {
        let latency = record.latency().unwrap_or(Nanos::ZERO).0;
        self.count += 1;
        self.bytes += u64::from(record.length);
        self.latency_ns = self.latency_ns.saturating_add(latency);
        self.longest_ns = self.longest_ns.max(latency);
    }

    fn row(&self, name: &str) -> Row {
        Row {
            name: name.to_owned(),
            count: self.count,
            bytes: self.bytes,
            latency_ns_mean: self.latency_ns.checked_div(self.count).unwrap_or(0),
            latency_ns_p50: None,
            latency_ns_p99: None,
            latency_ns_max: self.longest_ns,
        }
    }
}

fn at(sums: &mut Vec<Sum>, index: u16) -> &mut Sum {
    let index = usize::from(index);
    if sums.len() <= index {
        sums.resize_with(index + 1, Sum::default);
    }
    &mut sums[index]
}

fn rows<'a>(sums: &[Sum], names: impl Iterator<Item = &'a str>) -> Vec<Row> {
    let mut found: Vec<(&Sum, &str)> =
        sums.iter().zip(names).filter(|(sum, _)| sum.count > 0).collect();
    found.sort_by_key(|(sum, _)| std::cmp::Reverse(sum.latency_ns));
    found.into_iter().map(|(sum, name)| sum.row(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_touch_are_one_and_their_number_is_bounded() {
        let mut gaps = Vec::new();
        for (from_ns, to_ns) in [(50, 60), (10, 20), (15, 30), (80, 90), (58, 61)] {
            Gap { from_ns, to_ns, events: 1 }.add_to(&mut gaps, 3);
        }
        let told = |gaps: &[Gap]| -> Vec<(u64, u64, u64)> {
            gaps.iter().map(|own| (own.from_ns, own.to_ns, own.events)).collect()
        };
        assert_eq!(told(&gaps), [(10, 30, 2), (50, 61, 2), (80, 90, 1)]);
        Gap { from_ns: 95, to_ns: 99, events: 7 }.add_to(&mut gaps, 3);
        assert_eq!(told(&gaps), [(10, 30, 2), (50, 61, 2), (80, 99, 8)]);
    }

    #[test]
    fn part_of_an_io_at_a_disk_above_counts_for_its_disk_only() {
        let above = IoRecord::new(Nanos(1), Operation::Read, 0, 4096);
        let (device, flags) = (trace::DeviceIndex(1), Flags::BELOW);
        let mut tally = Tally::default();
        tally.add(&[above, IoRecord { device, flags, ..above }]);
        let counts = |rows: Vec<Row>| rows.iter().map(|row| row.count).collect::<Vec<_>>();
        let device = |name: &str| trace::Device { name: name.to_owned(), size: None };
        assert_eq!(counts(tally.operations()), [1]);
        assert_eq!(counts(tally.senders(&["web1".to_owned()])), [1]);
        assert_eq!(counts(tally.devices(&[device("dm-3"), device("sda")])), [1, 1]);
        assert_eq!(tally.totals().0, 1);
    }

    /// An open I/O delays all later ones, which then complete at once. Their rate is calculated
    /// over the time in which they were issued.
    #[test]
    fn rate_window_spans_the_issue_times() {
        let issued = |second| IoRecord::new(Nanos::from_secs(second), Operation::Read, 0, 4096);
        let mut tally = Tally::default();
        assert_eq!(tally.window(), None);
        tally.add(&[issued(3), issued(5)]);
        tally.add(&[issued(13)]);
        assert_eq!(tally.window(), Some(Nanos::from_secs(10)));
        assert_eq!(tally.window(), None, "each is told once");
    }
}
