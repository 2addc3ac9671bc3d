//! Sums of one VM over all devices.

use run_store::slice::SizeClass;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use trace::{DeviceIndex, IoRecord};
use units::Nanos;

use super::bursts::Bursts;
use super::carried;
use super::flight::{InFlight, SMALL_BELOW};
use super::slim::Slim;
use super::stream::{Stream, Way};
use crate::classes::ClassShare;

/// Lower ends of the classes of outstanding I/Os, which include the new I/O.
pub const DEPTHS: [u32; 9] = [1, 2, 3, 5, 9, 17, 33, 65, 129];
/// Number of size classes.
const CLASSES: usize = SizeClass::COUNT;

/// Sums of one direction and size class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Class {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) sequential: u64,
    pub(crate) failed: u64,
    #[serde(with = "carried::histogram")]
    pub(crate) latency: Option<Box<Histogram>>,
}

/// Sums of operations that transfer no data: flushes, or discards.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Other {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    #[serde(with = "carried::histogram")]
    pub(crate) latency: Option<Box<Histogram>>,
}

/// Sums of one VM.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Vm {
    /// Reads, then writes; smallest class first.
    pub(crate) classes: [[Class; CLASSES]; 2],
    pub(crate) flushes: Other,
    pub(crate) discards: Other,
    /// Counts by direction, and by first sector modulo 8.
    pub(crate) sectors: [[u64; 8]; 2],
    /// Number of I/Os that do not begin on a multiple of 4 KiB.
    pub(crate) misaligned: u64,
    /// Number of I/Os that begin on a multiple of 4 KiB but do not end on one.
    pub(crate) ragged: u64,
    pub(crate) bursts: Bursts,
    /// Latencies of small I/Os by direction: without, and with a large I/O in flight.
    pub(crate) beside: [[Slim; 2]; 2],
    /// Latencies by direction, class and class of outstanding I/Os.
    #[serde(deserialize_with = "depths")]
    pub(crate) depths: Vec<Option<Slim>>,
    pub(crate) streams: Vec<(DeviceIndex, Box<Stream>)>,
}

impl Vm {
    /// Returns the sums by slot: reads and writes by class, and flushes.
    pub(crate) fn parts(&self) -> impl Iterator<Item = ClassShare<'_>> + Clone {
        let classes = self.classes.iter().flatten().map(Class::part);
        classes.chain([self.flushes.part()])
    }

    /// Adds an I/O that transfers data.
    #[inline]
    pub(crate) fn push(
        &mut self,
        record: &IoRecord,
        way: Way,
        class: SizeClass,
        latency: Option<Nanos>,
    ) {
        let told = record.flags.has(trace::Flags::SEQUENTIAL);
        let stream = stream_of(&mut self.streams, record.device);
        let is_adjacent = stream.push(record, way, class, told);
        if let Some(latency) = latency {
            stream.push_latency(way, latency);
        }
        let cell = &mut self.classes[way][usize::from(class.index())];
        cell.count += 1;
        cell.bytes += u64::from(record.length);
        cell.sequential += u64::from(told || is_adjacent);
        cell.failed += u64::from(record.flags.has(trace::Flags::ERROR));
        if let Some(latency) = latency {
            cell.latency.get_or_insert_default().record(latency);
        }
        let sector = (record.offset >> 9) & 7;
        self.sectors[way][sector as usize & 7] += 1;
        self.misaligned += u64::from(record.offset & 4095 != 0);
        self.ragged += u64::from(record.offset & 4095 == 0 && record.length & 4095 != 0);
        self.bursts.push(record.issue, record.length);
    }

    /// Adds the I/Os in flight when an I/O was issued; `outstanding` is the source's own count of
    /// all.
    #[inline]
    pub(crate) fn push_flight(
        &mut self,
        record: &IoRecord,
        way: Way,
        latency: Nanos,
        found: InFlight,
    ) {
        let class = SizeClass::of(record.length).index();
        let all = record.outstanding.map_or(found.ways[0] + found.ways[1], u32::from);
        let stream = stream_of(&mut self.streams, record.device);
        stream.push_outstanding(way, all, Some(found.ways[way]));
        if class < SMALL_BELOW {
            self.beside[way][usize::from(found.beside_large)].record(latency);
        }
        let depth = DEPTHS.iter().filter(|from| **from <= all + 1).count() - 1;
        let at = (way * CLASSES + usize::from(class)) * DEPTHS.len() + depth;
        if self.depths.is_empty() {
            self.depths.resize(2 * CLASSES * DEPTHS.len(), None);
        }
        self.depths[at].get_or_insert_default().record(latency);
    }

    /// Adds an I/O from a source that reports outstanding I/Os but no latency.
    pub(crate) fn push_outstanding(&mut self, record: &IoRecord, way: Way, outstanding: u16) {
        let stream = stream_of(&mut self.streams, record.device);
        stream.push_outstanding(way, u32::from(outstanding), None);
    }

    /// Appends a later part.
    pub(crate) fn merge(&mut self, later: Self) {
        for (device, stream) in later.streams {
            let found = stream_of(&mut self.streams, device).merge(&stream);
            for (way, class) in found.into_iter().flatten() {
                self.classes[way][usize::from(class.index())].sequential += 1;
            }
        }
        let mine = self.classes.iter_mut().flatten();
        for (class, more) in mine.zip(later.classes.into_iter().flatten()) {
            class.merge(more);
        }
        self.flushes.merge(later.flushes);
        self.discards.merge(later.discards);
        add(self.sectors.iter_mut().flatten(), later.sectors.iter().flatten());
        self.misaligned += later.misaligned;
        self.ragged += later.ragged;
        self.bursts.merge(later.bursts);
        for (mine, more) in self.beside.iter_mut().flatten().zip(later.beside.iter().flatten()) {
            mine.merge(more);
        }
        if self.depths.is_empty() {
            self.depths = later.depths;
        } else {
            for (mine, more) in self.depths.iter_mut().zip(later.depths) {
                if let Some(more) = more {
                    mine.get_or_insert_default().merge(&more);
                }
            }
        }
    }

    /// Adds the sums of another VM, for the total of several VMs. Streams, which stay separate, and
    /// bursts are not added.
    pub(crate) fn add(&mut self, other: &Self) {
        let streams = std::mem::take(&mut self.streams);
        let bursts = self.bursts;
        let other = Self { streams: Vec::new(), bursts: Bursts::default(), ..other.clone() };
        self.merge(other);
        self.streams = streams;
        self.bursts = bursts;
    }
}

/// Deserialises `depths`: empty, or one entry for each direction, class and class of outstanding
/// I/Os.
fn depths<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Option<Slim>>, D::Error> {
    let depths: Vec<Option<Slim>> = Vec::deserialize(from)?;
    match depths.len() {
        0 => Ok(depths),
        count if count == 2 * CLASSES * DEPTHS.len() => Ok(depths),
        count => Err(serde::de::Error::invalid_length(count, &"one for each class and depth")),
    }
}

fn add<'a>(mine: impl Iterator<Item = &'a mut u64>, more: impl Iterator<Item = &'a u64>) {
    mine.zip(more).for_each(|(mine, more)| *mine += more);
}

#[inline]
fn stream_of(streams: &mut Vec<(DeviceIndex, Box<Stream>)>, device: DeviceIndex) -> &mut Stream {
    let at = match streams.iter().position(|(known, _)| *known == device) {
        Some(at) => at,
        None => {
            streams.push((device, Box::new(Stream::new())));
            streams.len() - 1
        }
    };
    &mut streams[at].1
}

impl Class {
    /// Returns the figures of the class.
    pub(crate) fn part(&self) -> ClassShare<'_> {
        ClassShare { count: self.count, bytes: self.bytes, times: self.latency.as_deref() }
    }

    /// Appends a later part, or another VM's.
    pub(crate) fn merge(&mut self, more: Self) {
        self.count += more.count;
        self.bytes += more.bytes;
        self.sequential += more.sequential;
        self.failed += more.failed;
        join(&mut self.latency, more.latency);
    }
}

impl Other {
    pub(crate) fn push(&mut self, record: &IoRecord, latency: Option<Nanos>) {
        self.count += 1;
        self.bytes += u64::from(record.length);
        if let Some(latency) = latency {
            self.latency.get_or_insert_default().record(latency);
        }
    }

    /// Returns the sums as a class share. No data are transferred.
    pub(crate) fn part(&self) -> ClassShare<'_> {
        ClassShare { count: self.count, bytes: 0, times: self.latency.as_deref() }
    }

    fn merge(&mut self, more: Self) {
        self.count += more.count;
        self.bytes += more.bytes;
        join(&mut self.latency, more.latency);
    }
}

fn join(mine: &mut Option<Box<Histogram>>, more: Option<Box<Histogram>>) {
    match (mine, more) {
        (Some(mine), Some(more)) => mine.merge(&more),
        (mine @ None, more) => *mine = more,
        (Some(_), None) => {}
    }
}
