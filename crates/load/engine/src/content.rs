//! Link between the worker and its payload and verification. It is called with the bytes of a write
//! before submission, and with every completion.

use std::ops::Range;

use datastore::VirtualDisk;
use state_machine::{Content as Source, IoError, IoRequest, Operation};
use units::Nanos;

use crate::arena::Buffer;
use crate::payload::{self, Freshness, SECTOR};
use crate::verify::{
    Mismatch, ReadTicket, SECTOR_HEADER_BYTES, Setup, StateError, Tracker, WriteTicket, Written,
};

/// Maximum number of mismatches that one worker keeps in full. All mismatches are counted as
/// errors.
const MISMATCHES_MAX: usize = 100;

/// Verification's record of a request in flight.
#[derive(Debug)]
pub(crate) enum Ticket {
    Write(WriteTicket),
    Read(ReadTicket),
}

/// Fills writes, and judges completions, for the disks of one worker.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// Trackers, indexed by the worker's disks. Empty without verification; `None` for a disk that
    /// another host drives.
    trackers: Vec<Option<Tracker>>,
    pub(crate) mismatches: Vec<Mismatch>,
    /// Reason why completions can no longer be verified.
    pub(crate) broken: Option<StateError>,
}

/// Request about to be submitted.
pub(crate) struct Departure<'a> {
    pub(crate) now: Nanos,
    pub(crate) disk: u32,
    pub(crate) request: &'a IoRequest,
    pub(crate) buffer: &'a mut Buffer,
}

impl Content {
    /// Opens the verification state of the disks that are driven here, if verification is on.
    pub(crate) fn open<'a>(
        setup: Option<&Setup>,
        disks: impl Iterator<Item = (&'a VirtualDisk, bool)>,
    ) -> Result<Self, StateError> {
        let Some(setup) = setup else { return Ok(Self::default()) };
        let trackers =
            disks.map(|(disk, is_here)| is_here.then(|| Tracker::open(setup, disk)).transpose());
        Ok(Self { trackers: trackers.collect::<Result<_, _>>()?, ..Self::default() })
    }

    /// Stops tracking these disks and returns their trackers. The disks must have no I/O in flight.
    pub(crate) fn give_up(&mut self, disks: Range<u32>) -> Vec<Tracker> {
        let trackers = &mut self.trackers;
        disks.filter_map(|disk| trackers.get_mut(disk as usize)?.take()).collect()
    }

    /// Resumes tracking, with `trackers` for the disks starting at `first_disk`.
    pub(crate) fn follow_again(&mut self, first_disk: u32, trackers: Vec<Tracker>) {
        let places = self.trackers.iter_mut().skip(first_disk as usize);
        places.zip(trackers).for_each(|(place, tracker)| *place = Some(tracker));
    }

    /// Generates the bytes of a write and starts tracking the request.
    #[inline]
    pub(crate) fn depart(
        &mut self,
        departure: Departure<'_>,
    ) -> Result<Option<Ticket>, StateError> {
        let Departure { now, disk, request, buffer } = departure;
        if request.operation == Operation::Write && request.pattern.content == Source::Made {
            let (bytes, resident) = buffer.content_mut(request.length);
            payload::make(bytes, resident, request.pattern, Freshness::Stamped);
        }
        let Some(Some(tracker)) = self.trackers.get_mut(disk as usize) else { return Ok(None) };
        let bytes = buffer.bytes_mut(request.length);
        tracker.check()?;
        Ok(Some(match request.operation {
            Operation::Write => {
                Ticket::Write(tracker.on_submit_write(now, request.offset, bytes)?)
            }
            _ => Ticket::Read(tracker.on_submit_read(request.offset, bytes.len())),
        }))
    }

    /// Discards the expected content of a disk until it is written again.
    pub(crate) fn forget(&mut self, disk: u32) {
        if let Some(Some(tracker)) = self.trackers.get_mut(disk as usize) {
            match tracker.check() {
                Ok(()) => tracker.forget(),
                Err(error) => {
                    self.broken.get_or_insert(error);
                }
            }
        }
    }

    /// Returns true if two blocks have equal content. Stamps of two disks differ, so with
    /// verification only the bytes between the stamps are compared.
    pub(crate) fn are_alike(&self, one: &[u8], other: &[u8]) -> bool {
        if self.trackers.is_empty() {
            return one == other;
        }
        let mut sectors = one.chunks_exact(SECTOR).zip(other.chunks_exact(SECTOR));
        one.len() == other.len()
            && sectors.all(|(a, b)| a[SECTOR_HEADER_BYTES..] == b[SECTOR_HEADER_BYTES..])
    }

    /// Verifies a completion. A success may become [`IoError::Mismatch`].
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        disk: u32,
        ticket: Option<Ticket>,
        bytes: &[u8],
        result: Result<(), IoError>,
    ) -> Result<(), IoError> {
        let Some(ticket) = ticket else { return result };
        let Some(tracker) = &mut self.trackers[disk as usize] else { return result };
        if let Err(error) = tracker.check() {
            self.broken.get_or_insert(error);
            return result;
        }
        match (ticket, result) {
            (Ticket::Write(ticket), Ok(())) => {
                tracker.on_write_done(ticket, Written::Acknowledged);
            }
            (Ticket::Write(ticket), Err(_)) => tracker.on_write_done(ticket, Written::Failed),
            (Ticket::Read(ticket), Err(_)) => tracker.on_read_failed(ticket),
            (Ticket::Read(ticket), Ok(())) => {
                if let Err(mismatch) = tracker.on_read_done(ticket, bytes) {
                    if self.mismatches.len() < MISMATCHES_MAX {
                        self.mismatches.push(*mismatch);
                    }
                    return Err(IoError::Mismatch);
                }
            }
        }
        result
    }
}
