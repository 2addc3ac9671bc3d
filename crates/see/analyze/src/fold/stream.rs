//! Histograms of one VM on one device, as in vscsiStats: distances and times between I/Os, and
//! properties of single I/Os.

use run_store::slice::SizeClass;
use serde::{Deserialize, Serialize};
use trace::IoRecord;
use units::Nanos;

use super::buckets::{Buckets, LENGTH, OUTSTANDING, SEEK, TIME};

/// Sector size of vscsiStats.
const SECTOR: u64 = 512;
/// Number of previous I/Os among which the closest is searched.
const NEAR: usize = 16;

/// Direction of an I/O that transfers data: 0 reads, 1 writes.
pub(crate) type Way = usize;

/// First and last sector of an I/O, with the facts that the next I/O is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct IoSpan {
    first: i64,
    last: i64,
    issue: Nanos,
    offset: u64,
    end: u64,
    way: Way,
    class: SizeClass,
    /// True if the source itself marks the I/O as sequential; it is then already counted.
    told: bool,
}

/// Successive I/Os: all of a stream, or all of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Succession {
    /// First I/O of this part of the trace, whose predecessor is unknown here.
    first: Option<IoSpan>,
    last: Option<IoSpan>,
    seek: Buckets,
    arrival: Buckets,
}

impl Succession {
    const fn new() -> Self {
        Self { first: None, last: None, seek: Buckets::new(SEEK), arrival: Buckets::new(TIME) }
    }

    /// Adds an I/O; returns true if it begins at the end of the previous one.
    #[inline]
    fn push(&mut self, place: IoSpan) -> bool {
        let before = self.last.replace(place);
        let Some(before) = before else {
            self.first = Some(place);
            return false;
        };
        self.seek.add(place.first - before.last);
        self.arrival.add(micros(place.issue.saturating_sub(before.issue)));
        place.offset == before.end
    }

    /// Appends a later part. Returns that part's first I/O if the I/O turns out to be sequential.
    fn merge(&mut self, later: &Self) -> Option<IoSpan> {
        let first = later.first?;
        let is_adjacent = self.push(first);
        self.last = later.last;
        self.seek.merge(&later.seek);
        self.arrival.merge(&later.arrival);
        is_adjacent.then_some(first)
    }
}

/// Distances to the closest of the previous I/Os.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Near {
    /// Last sectors of the previous I/Os, in a ring. They are floating-point numbers, because
    /// processors compare several of these at once; exact up to 2^53 sectors.
    ring: [f64; NEAR],
    seen: u64,
    /// First I/Os of this part, whose predecessors are unknown: first and last sectors.
    held: Vec<(i64, i64)>,
    distance: Buckets,
}

impl Near {
    const fn new() -> Self {
        Self { ring: [0.0; NEAR], seen: 0, held: Vec::new(), distance: Buckets::new(SEEK) }
    }

    #[inline]
    fn push(&mut self, first: i64, last: i64) {
        if self.seen < NEAR as u64 {
            self.held.push((first, last));
        } else {
            self.distance.add(closest(&self.ring, first));
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 16")]
        let at = (self.seen % NEAR as u64) as usize;
        self.ring[at] = last as f64;
        self.seen += 1;
    }

    fn merge(&mut self, later: &Self) {
        later.held.iter().for_each(|(first, last)| self.push(*first, *last));
        self.distance.merge(&later.distance);
        if later.seen > NEAR as u64 {
            self.seen += later.seen - NEAR as u64;
            // Both indices point at the oldest entry, which is replaced next.
            let target = usize::try_from(self.seen % 16).unwrap_or(0);
            let source = usize::try_from(later.seen % 16).unwrap_or(0);
            for back in 0..NEAR {
                self.ring[(target + back) % NEAR] = later.ring[(source + back) % NEAR];
            }
        }
    }

    /// Returns the distances, including those of the first I/Os, which have fewer than 16
    /// predecessors.
    fn settled(&self) -> Buckets {
        let mut all = self.distance.clone();
        let ends: Vec<f64> = self.held.iter().map(|(_, last)| *last as f64).collect();
        for (at, (first, _)) in self.held.iter().enumerate().skip(1) {
            all.add(closest(&ends[..at], *first));
        }
        all
    }
}

/// Returns the signed distance of smallest size; of two equal distances the forward one.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^64")]
fn closest(ends: &[f64], first: i64) -> i64 {
    let first = first as f64;
    let sizes = ends.iter().map(|end| (first - end).abs());
    let least = sizes.fold(f64::MAX, |least, size| if size < least { size } else { least });
    let is_forwards = ends.iter().fold(false, |found, end| found | (first - end == least));
    if is_forwards { least as i64 } else { -least as i64 }
}

/// Quantity that a histogram counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Length in bytes.
    Length,
    /// Distance from a previous I/O.
    Distance,
    /// Latency of an I/O.
    Latency,
    /// Outstanding I/Os.
    Outstanding,
    /// Time between two I/Os.
    Arrival,
    /// First sector of an I/O.
    Sector,
    /// I/Os in a second.
    Rate,
}

/// Histograms of one VM on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stream {
    all: Succession,
    ways: [Succession; 2],
    near: Near,
    length: [Buckets; 2],
    latency: [Buckets; 2],
    outstanding: Buckets,
    outstanding_ways: [Buckets; 2],
}

impl Stream {
    pub(crate) fn new() -> Self {
        const TIMES: Buckets = Buckets::new(TIME);
        const LENGTHS: Buckets = Buckets::new(LENGTH);
        const COUNTS: Buckets = Buckets::new(OUTSTANDING);
        Self {
            all: Succession::new(),
            ways: [Succession::new(), Succession::new()],
            near: Near::new(),
            length: [LENGTHS; 2],
            latency: [TIMES; 2],
            outstanding: COUNTS,
            outstanding_ways: [COUNTS; 2],
        }
    }

    /// Adds an I/O that transfers data; returns true if it begins at the end of the previous I/O of
    /// its direction. `told` is the source's own mark for a sequential I/O.
    #[inline]
    pub(crate) fn push(
        &mut self,
        record: &IoRecord,
        way: Way,
        class: SizeClass,
        told: bool,
    ) -> bool {
        let end = record.end_offset();
        let first = sectors(record.offset);
        let last = sectors(end.saturating_sub(1)).max(first);
        let (offset, issue) = (record.offset, record.issue);
        let place = IoSpan { first, last, issue, offset, end, way, class, told };
        self.all.push(place);
        let is_adjacent = self.ways[way].push(place);
        self.near.push(first, last);
        self.length[way].add(i64::from(record.length));
        is_adjacent
    }

    #[inline]
    pub(crate) fn push_latency(&mut self, way: Way, latency: Nanos) {
        self.latency[way].add(micros(latency));
    }

    /// Adds the I/Os in flight when an I/O was issued, not counting that I/O: all, and those of the
    /// I/O's direction.
    #[inline]
    pub(crate) fn push_outstanding(&mut self, way: Way, all: u32, same_way: Option<u32>) {
        self.outstanding.add(i64::from(all) + 1);
        if let Some(same_way) = same_way {
            self.outstanding_ways[way].add(i64::from(same_way) + 1);
        }
    }

    /// Appends a later part. Returns direction and class of I/Os that turn out to be sequential and
    /// were not counted as such.
    pub(crate) fn merge(&mut self, later: &Self) -> [Option<(Way, SizeClass)>; 2] {
        self.all.merge(&later.all);
        self.near.merge(&later.near);
        self.outstanding.merge(&later.outstanding);
        [0, 1].map(|way| {
            self.length[way].merge(&later.length[way]);
            self.latency[way].merge(&later.latency[way]);
            self.outstanding_ways[way].merge(&later.outstanding_ways[way]);
            let found = self.ways[way].merge(&later.ways[way]);
            found.filter(|place| !place.told).map(|place| (place.way, place.class))
        })
    }

    /// Returns the sixteen histograms of vscsiStats, in the tool's order.
    pub(crate) fn histograms(&self) -> [(Of, &'static str, &'static str, Buckets); 16] {
        let both = |[reads, writes]: &[Buckets; 2]| {
            let mut all = reads.clone();
            all.merge(writes);
            all
        };
        let [reads, writes] = &self.ways;
        [
            (Of::Length, "length", "B", both(&self.length)),
            (Of::Length, "length of reads", "B", self.length[0].clone()),
            (Of::Length, "length of writes", "B", self.length[1].clone()),
            (Of::Distance, "seek distance", "sectors", self.all.seek.clone()),
            (Of::Distance, "seek distance of reads", "sectors", reads.seek.clone()),
            (Of::Distance, "seek distance of writes", "sectors", writes.seek.clone()),
            (
                Of::Distance,
                "distance to the closest of the previous 16",
                "sectors",
                self.near.settled(),
            ),
            (Of::Latency, "latency", "us", both(&self.latency)),
            (Of::Latency, "latency of reads", "us", self.latency[0].clone()),
            (Of::Latency, "latency of writes", "us", self.latency[1].clone()),
            (Of::Outstanding, "outstanding", "IOs", self.outstanding.clone()),
            (Of::Outstanding, "outstanding reads", "IOs", self.outstanding_ways[0].clone()),
            (Of::Outstanding, "outstanding writes", "IOs", self.outstanding_ways[1].clone()),
            (Of::Arrival, "interarrival", "us", self.all.arrival.clone()),
            (Of::Arrival, "interarrival of reads", "us", reads.arrival.clone()),
            (Of::Arrival, "interarrival of writes", "us", writes.arrival.clone()),
        ]
    }
}

fn sectors(offset: u64) -> i64 {
    i64::try_from(offset / SECTOR).unwrap_or(i64::MAX)
}

fn micros(time: Nanos) -> i64 {
    i64::try_from(time.0 / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Operation;

    fn stream(offsets: &[u64]) -> Stream {
        let mut stream = Stream::new();
        for (at, offset) in (0..).zip(offsets) {
            let record = IoRecord::new(Nanos::from_micros(at * 50), Operation::Read, *offset, 4096);
            stream.push(&record, 0, SizeClass::of(4096), false);
        }
        stream
    }

    #[test]
    fn a_sequential_stream_has_distance_one() {
        let stream = stream(&[0, 4096, 8192]);
        let [.., (_, _, _, near), _, _, _, _, _, _, _, _, _] = stream.histograms();
        let at = SEEK.iter().position(|limit| *limit == 1).expect("a bucket of its own");
        assert_eq!((near.counts()[at], near.count()), (2, 2));
        assert_eq!(stream.all.seek.counts()[at], 2);
        assert_eq!(stream.all.arrival.range(), Some((50, 50)));
    }

    #[test]
    fn parts_of_any_length_join_to_the_whole() {
        let offsets: Vec<u64> = (0..70_u64).map(|at| (at * 7919 % 64) * 4096).collect();
        let whole = stream(&offsets);
        for cut in 0..offsets.len() {
            for other in [cut, (cut + 5).min(offsets.len()), (cut + 40).min(offsets.len())] {
                let mut joined = Stream::new();
                let mut at = 0;
                for until in [cut, other, offsets.len()] {
                    let mut part = Stream::new();
                    for (index, offset) in (at as u64..).zip(&offsets[at..until]) {
                        let issue = Nanos::from_micros(index * 50);
                        let record = IoRecord::new(issue, Operation::Read, *offset, 4096);
                        part.push(&record, 0, SizeClass::of(4096), false);
                    }
                    at = until;
                    joined.merge(&part);
                }
                assert_eq!(joined.histograms(), whole.histograms(), "cut at {cut} and {other}");
            }
        }
    }
}
