use std::collections::VecDeque;
use std::ops::Range;

use state_machine::Stream;

use crate::image::{BLOCK, Image, SECTOR};

/// Error of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The storage failed the I/O (EIO).
    #[error("input/output error")]
    Io,
    /// The access is beyond the end of the disk.
    #[error("beyond the end of the disk")]
    Range,
}

/// I/Os that a fault affects, and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Reads that touch these bytes.
    Read(Range<u64>),
    /// Writes that touch these bytes.
    Write(Range<u64>),
    /// Flushes.
    Flush,
    /// The next write of these bytes goes to another place, `by` bytes further, and reports
    /// success.
    Misdirect {
        /// Bytes whose writes are affected.
        range: Range<u64>,
        /// Distance from the write's place to the place where it goes, in bytes.
        by: u64,
    },
    /// Writes of these bytes change nothing, and report success.
    Lose(Range<u64>),
    /// Flushes make nothing durable, but report success.
    Forget,
}

#[derive(Debug, Clone)]
struct Write {
    at: usize,
    data: std::sync::Arc<[u8]>,
}

#[derive(Debug, Clone)]
struct Fault {
    kind: FaultKind,
    /// Number of times that the fault still occurs; `None` for a permanent fault.
    left: Option<u32>,
}

/// A disk that follows the model of this crate.
#[derive(Debug, Clone)]
pub struct Disk {
    /// Bytes that reads return.
    live: Image,
    /// Bytes that survive every power cut.
    durable: Image,
    /// Completed writes that are not durable, oldest first. Each has an ascending number.
    cached: VecDeque<(u64, Write)>,
    in_flight: Vec<(u64, Write)>,
    /// Flushes in progress, each with the number of the last write that it covers.
    flushes: Vec<(u64, u64)>,
    finished: u64,
    started: u64,
    faults: Vec<Fault>,
}

impl Disk {
    /// Creates a disk of this many zero bytes, all durable, rounded up to whole blocks.
    pub fn new(bytes: usize) -> Self {
        let image = Image::new(bytes);
        Self {
            live: image.clone(),
            durable: image,
            cached: VecDeque::new(),
            in_flight: Vec::new(),
            flushes: Vec::new(),
            finished: 0,
            started: 0,
            faults: Vec::new(),
        }
    }

    /// Returns the size of the disk in bytes.
    pub fn bytes(&self) -> u64 {
        self.live.len() as u64
    }

    /// Returns the bytes that reads return.
    pub fn image(&self) -> &Image {
        &self.live
    }

    /// Returns the bytes that survive every power cut.
    pub fn durable_image(&self) -> &Image {
        &self.durable
    }

    /// Makes I/Os of this kind fail from now on, `times` times or permanently.
    pub fn fail(&mut self, kind: FaultKind, times: Option<u32>) {
        self.faults.push(Fault { kind, left: times });
    }

    /// Removes all faults.
    pub fn heal(&mut self) {
        self.faults.clear();
    }

    /// Finds a fault that affects this I/O, and counts the occurrence.
    fn strikes(&mut self, is_it: impl Fn(&FaultKind) -> bool) -> Option<FaultKind> {
        let found = self.faults.iter_mut().find(|f| f.left != Some(0) && is_it(&f.kind))?;
        found.left = found.left.map(|left| left - 1);
        Some(found.kind.clone())
    }

    /// Fills `into` with the bytes of completed writes.
    ///
    /// # Errors
    /// Beyond the end, or because of a fault.
    pub fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let start = self.check(at, into.len())?;
        let range = range_of(at, into.len());
        if self.strikes(|f| matches!(f, FaultKind::Read(bad) if touches(bad, &range))).is_some() {
            return Err(StorageError::Io);
        }
        self.live.read(start, into);
        Ok(())
    }

    /// Starts a write. The caller completes it by `id`.
    ///
    /// # Errors
    /// Beyond the end.
    ///
    /// # Panics
    /// If it overlaps another write in flight.
    pub fn start_write(&mut self, id: u64, at: u64, data: &[u8]) -> Result<(), StorageError> {
        let start = self.check(at, data.len())?;
        let range = range_of(at, data.len());
        for (_, other) in &self.in_flight {
            let theirs = range_of(other.at as u64, other.data.len());
            assert!(
                !touches(&theirs, &range),
                "a write of {range:?} was started while one of {theirs:?} is in flight"
            );
        }
        self.started += 1;
        self.in_flight.push((id, Write { at: start, data: data.into() }));
        Ok(())
    }

    /// Returns the number of writes started so far.
    pub fn writes(&self) -> u64 {
        self.started
    }

    /// Completes the write `id`. It is durable if `is_durable`.
    ///
    /// # Errors
    /// Because of a fault. Some of the write's sectors may then have changed.
    ///
    /// # Panics
    /// If no such write is in flight.
    pub fn finish_write(
        &mut self,
        id: u64,
        is_durable: bool,
        chance: &mut Stream,
    ) -> Result<(), StorageError> {
        let position = self.in_flight.iter().position(|(other, _)| *other == id);
        let (_, mut write) = self.in_flight.swap_remove(position.expect("the write is in flight"));
        let range = range_of(write.at as u64, write.data.len());
        let fault = self.strikes(|f| match f {
            FaultKind::Write(bad)
            | FaultKind::Lose(bad)
            | FaultKind::Misdirect { range: bad, .. } => touches(bad, &range),
            FaultKind::Read(_) | FaultKind::Flush | FaultKind::Forget => false,
        });
        match fault {
            Some(FaultKind::Write(_)) => {
                self.keep_some(&write, chance);
                return Err(StorageError::Io);
            }
            Some(FaultKind::Lose(_)) => return Ok(()),
            Some(FaultKind::Misdirect { by, .. }) => {
                let elsewhere =
                    (write.at as u64 + by) % (self.bytes() - write.data.len() as u64 + 1);
                write.at = usize::try_from(elsewhere).expect("the image is in memory");
            }
            _ => {}
        }
        self.land(write, is_durable);
        Ok(())
    }

    /// Ends a write that the device refused, without changing any byte.
    ///
    /// # Panics
    /// If the write is not in flight.
    pub fn refuse_write(&mut self, id: u64) {
        let position = self.in_flight.iter().position(|(other, _)| *other == id);
        self.in_flight.swap_remove(position.expect("the write is in flight"));
    }

    fn land(&mut self, write: Write, is_durable: bool) {
        self.live.write(write.at, &write.data);
        if is_durable && self.cached.is_empty() {
            self.durable.write(write.at, &write.data);
            return;
        }
        // A durable write stays, whether older writes of the same sectors are lost or kept.
        if is_durable {
            for (_, older) in &mut self.cached {
                cover(older, &write);
            }
            self.durable.write(write.at, &write.data);
            return;
        }
        self.finished += 1;
        self.cached.push_back((self.finished, write));
    }

    /// Starts a flush.
    pub fn start_flush(&mut self, id: u64) {
        self.flushes.push((id, self.finished));
    }

    /// Completes the flush `id`.
    ///
    /// # Errors
    /// Because of a fault. The flush then makes nothing durable, and its writes are lost in the
    /// next power cut even if a later flush succeeds.
    ///
    /// # Panics
    /// If no such flush is in progress.
    pub fn finish_flush(&mut self, id: u64) -> Result<(), StorageError> {
        let position = self.flushes.iter().position(|(other, _)| *other == id);
        let (_, to) = self.flushes.swap_remove(position.expect("the flush is under way"));
        if self.strikes(|f| matches!(f, FaultKind::Forget)).is_some() {
            return Ok(());
        }
        let is_failed = self.strikes(|f| matches!(f, FaultKind::Flush)).is_some();
        while self.cached.front().is_some_and(|(number, _)| *number <= to) {
            if let Some((_, write)) = self.cached.pop_front()
                && !is_failed
            {
                self.durable.write(write.at, &write.data);
            }
        }
        if is_failed { Err(StorageError::Io) } else { Ok(()) }
    }

    /// Flips the lowest bit of the byte at `at`, durably.
    ///
    /// # Panics
    /// Beyond the end.
    pub fn rot(&mut self, at: u64) {
        let start = self.check(at, 1).expect("rot strikes what is there");
        for image in [&mut self.live, &mut self.durable] {
            let mut byte = [0];
            image.read(start, &mut byte);
            image.write(start, &[byte[0] ^ 1]);
        }
        for (_, write) in &mut self.cached {
            if (write.at..write.at + write.data.len()).contains(&start) {
                let mut data = write.data.to_vec();
                data[start - write.at] ^= 1;
                write.data = data.into();
            }
        }
    }

    /// Kills the program at this moment. Each write in flight takes effect completely, partly or
    /// not at all.
    pub fn kill(&mut self, chance: &mut Stream) {
        self.flushes.clear();
        for (_, write) in std::mem::take(&mut self.in_flight) {
            self.keep_some(&write, chance);
        }
    }

    /// Cuts the host's power at this moment. Of each write that was not durable, all, a part or
    /// nothing survives, at random.
    pub fn power_cut(&mut self, chance: &mut Stream) {
        self.kill(chance);
        let mut image = self.durable.clone();
        for (_, write) in std::mem::take(&mut self.cached) {
            for part in survivors(&write, chance) {
                image.write(part.at, &part.data);
            }
        }
        self.live = image.clone();
        self.durable = image;
    }

    /// Applies a part of a write in flight, as volatile data.
    fn keep_some(&mut self, write: &Write, chance: &mut Stream) {
        for part in survivors(write, chance) {
            self.land(part, false);
        }
    }

    fn check(&self, at: u64, bytes: usize) -> Result<usize, StorageError> {
        if at.checked_add(bytes as u64).is_none_or(|end| end > self.bytes()) {
            return Err(StorageError::Range);
        }
        usize::try_from(at).map_err(|_| StorageError::Range)
    }
}

/// Returns the surviving parts of a write: all, nothing, a prefix, or any of its sectors or blocks.
fn survivors(write: &Write, chance: &mut Stream) -> Vec<Write> {
    let whole = write.data.len();
    match chance.below(6) {
        0 | 1 => vec![write.clone()],
        2 => Vec::new(),
        3 => {
            let sectors = chance.below((whole / SECTOR + 1) as u64);
            let bytes = usize::try_from(sectors).unwrap_or(0) * SECTOR;
            vec![Write { at: write.at, data: write.data[..bytes].into() }]
        }
        kind => {
            let unit = if kind == 4 { SECTOR } else { BLOCK };
            let mut kept = Vec::new();
            let mut at = write.at;
            while at < write.at + whole {
                let end = ((at / unit + 1) * unit).min(write.at + whole);
                if chance.below(2) == 0 {
                    kept.push(Write { at, data: write.data[at - write.at..end - write.at].into() });
                }
                at = end;
            }
            kept
        }
    }
}

/// Replaces bytes of an older volatile write by the bytes of a durable write.
fn cover(older: &mut Write, newer: &Write) {
    let from = older.at.max(newer.at);
    let to = (older.at + older.data.len()).min(newer.at + newer.data.len());
    if from < to {
        let mut data = older.data.to_vec();
        data[from - older.at..to - older.at]
            .copy_from_slice(&newer.data[from - newer.at..to - newer.at]);
        older.data = data.into();
    }
}

fn range_of(at: u64, bytes: usize) -> Range<u64> {
    at..at.saturating_add(bytes as u64)
}

fn touches(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use state_machine::Purpose;

    use super::*;

    fn chance(seed: u64) -> Stream {
        Stream::derive(seed, &[], Purpose::Device)
    }

    fn write(disk: &mut Disk, at: u64, byte: u8, bytes: usize) {
        disk.start_write(1, at, &vec![byte; bytes]).expect("within");
        disk.finish_write(1, false, &mut chance(0)).expect("no fault");
    }

    fn first_bytes(disk: &mut Disk, places: &[u64]) -> Vec<u8> {
        places
            .iter()
            .map(|at| {
                let mut byte = [0];
                disk.read(*at, &mut byte).expect("within");
                byte[0]
            })
            .collect()
    }

    #[test]
    fn flushed_writes_survive_a_power_cut_and_later_ones_may_not() {
        let mut seen = BTreeSet::new();
        for seed in 0..64 {
            let mut disk = Disk::new(8192);
            write(&mut disk, 0, 1, 512);
            disk.start_flush(9);
            write(&mut disk, 512, 2, 512);
            disk.finish_flush(9).expect("no fault");
            disk.power_cut(&mut chance(seed));
            let bytes = first_bytes(&mut disk, &[0, 512]);
            assert_eq!(bytes[0], 1, "flushed");
            seen.insert(bytes[1]);
        }
        assert_eq!(
            seen,
            BTreeSet::from([0, 2]),
            "a write that finished during the flush is either"
        );
    }

    #[test]
    fn power_cut_may_keep_any_version_of_each_sector() {
        let mut seen = BTreeSet::new();
        for seed in 0..4096 {
            let mut disk = Disk::new(8192);
            write(&mut disk, 0, 1, 1024);
            write(&mut disk, 512, 2, 1024);
            disk.power_cut(&mut chance(seed));
            seen.insert(first_bytes(&mut disk, &[0, 512, 1024]));
        }
        for first in [0, 1] {
            for (both, last) in [(0, 0), (0, 2), (2, 0), (2, 2), (1, 0), (1, 2)] {
                if (first, both, last) != (0, 1, 2) {
                    assert!(seen.contains(&vec![first, both, last]), "{first} {both} {last}");
                }
            }
        }
    }

    #[test]
    fn a_kill_keeps_what_finished_and_tears_what_was_in_flight() {
        let mut seen = BTreeSet::new();
        for seed in 0..256 {
            let mut disk = Disk::new(8192);
            write(&mut disk, 4096, 1, 512);
            disk.start_write(2, 0, &[2; 1024]).expect("within");
            disk.kill(&mut chance(seed));
            let bytes = first_bytes(&mut disk, &[0, 512, 4096]);
            assert_eq!(bytes[2], 1);
            seen.insert(bytes);
        }
        let all = BTreeSet::from([vec![0, 0, 1], vec![2, 0, 1], vec![0, 2, 1], vec![2, 2, 1]]);
        assert_eq!(seen, all);
    }

    #[test]
    fn fua_write_survives_whether_older_writes_do_or_not() {
        for seed in 0..128 {
            let mut disk = Disk::new(8192);
            write(&mut disk, 0, 1, 1024);
            disk.start_write(2, 0, &[3; 512]).expect("within");
            disk.finish_write(2, true, &mut chance(seed)).expect("no fault");
            disk.power_cut(&mut chance(seed));
            let bytes = first_bytes(&mut disk, &[0, 512]);
            assert_eq!(bytes[0], 3);
            assert!(bytes[1] == 0 || bytes[1] == 1);
        }
    }

    #[test]
    fn faults_strike_as_often_as_they_say_and_where_they_say() {
        let mut disk = Disk::new(16384);
        disk.fail(FaultKind::Read(4096..8192), Some(1));
        assert_eq!(disk.read(0, &mut [0; 512]), Ok(()));
        assert_eq!(disk.read(7680, &mut [0; 1024]), Err(StorageError::Io));
        assert_eq!(disk.read(7680, &mut [0; 1024]), Ok(()));
        disk.fail(FaultKind::Flush, None);
        write(&mut disk, 0, 1, 512);
        disk.start_flush(3);
        assert_eq!(disk.finish_flush(3), Err(StorageError::Io));
        disk.heal();
        disk.fail(FaultKind::Misdirect { range: 0..512, by: 1024 }, Some(1));
        write(&mut disk, 0, 7, 512);
        assert_eq!(first_bytes(&mut disk, &[0, 1024]), [1, 7]);
        disk.fail(FaultKind::Lose(0..512), Some(1));
        write(&mut disk, 0, 9, 512);
        disk.rot(1024);
        assert_eq!(first_bytes(&mut disk, &[0, 1024]), [1, 6]);
        assert_eq!(disk.read(16384, &mut [0; 1]), Err(StorageError::Range));
    }

    #[test]
    #[should_panic(expected = "is in flight")]
    fn overlapping_writes_in_flight_are_a_defect() {
        let mut disk = Disk::new(8192);
        disk.start_write(1, 0, &[1; 1024]).expect("within");
        disk.start_write(2, 512, &[2; 512]).expect("within");
    }
}
