//! Where payload and verification meet the worker: called with the bytes of a write before
//! it is submitted and with the answer of every request.

use datastore::VirtualDisk;
use machine::{IoError, IoRequest, Operation};
use units::Nanos;

use crate::arena::Buffer;
use crate::payload::{self, Freshness, Resident};
use crate::verify::{Mismatch, ReadTicket, Setup, StateError, Tracker, WriteTicket, Written};

/// Most mismatches one worker keeps in full; all are counted as errors.
const MISMATCHES_MAX: usize = 100;

/// What verification remembers of a request in flight.
#[derive(Debug)]
pub(crate) enum Ticket {
    Write(WriteTicket),
    Read(ReadTicket),
}

/// Fills writes and judges answers for the disks of one worker.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// By the worker's disks; empty without verification.
    trackers: Vec<Tracker>,
    /// What each buffer already holds, by its place in the arena.
    residents: Vec<Resident>,
    /// The arena's layout that `residents` describes.
    layout: u64,
    pub(crate) mismatches: Vec<Mismatch>,
}

/// A request about to be submitted.
pub(crate) struct Departure<'a> {
    pub(crate) now: Nanos,
    pub(crate) disk: u32,
    pub(crate) request: &'a IoRequest,
    pub(crate) buffer: &'a mut Buffer,
    /// Changes whenever buffers were cut or joined.
    pub(crate) layout: u64,
}

impl Content {
    /// Opens the verification state of these disks, if verification is asked for.
    pub(crate) fn open<'a>(
        setup: Option<&Setup>,
        disks: impl Iterator<Item = &'a VirtualDisk>,
    ) -> Result<Self, StateError> {
        let Some(setup) = setup else { return Ok(Self::default()) };
        let trackers = disks.map(|disk| Tracker::open(setup, disk));
        Ok(Self { trackers: trackers.collect::<Result<_, _>>()?, ..Self::default() })
    }

    /// Makes the bytes of a write and starts following the request.
    #[inline]
    pub(crate) fn depart(
        &mut self,
        departure: Departure<'_>,
    ) -> Result<Option<Ticket>, StateError> {
        let Departure { now, disk, request, buffer, layout } = departure;
        if request.operation == Operation::Write {
            let place = buffer.place();
            if self.layout != layout || self.residents.len() <= place {
                self.follow(layout, place);
            }
            let resident = &mut self.residents[place];
            let bytes = buffer.bytes_mut(request.length);
            payload::make(bytes, resident, request.pattern, Freshness::Stamped);
        }
        let Some(tracker) = self.trackers.get_mut(disk as usize) else { return Ok(None) };
        let bytes = buffer.bytes_mut(request.length);
        Ok(Some(match request.operation {
            Operation::Write => {
                Ticket::Write(tracker.on_submit_write(now, request.offset, bytes)?)
            }
            _ => Ticket::Read(tracker.on_submit_read(request.offset, bytes.len())),
        }))
    }

    /// Forgets what buffers hold when they were cut anew.
    #[cold]
    fn follow(&mut self, layout: u64, place: usize) {
        if self.layout != layout {
            self.residents.clear();
            self.layout = layout;
        }
        let size = self.residents.len().max((place + 1).next_power_of_two());
        self.residents.resize(size, Resident::EMPTY);
    }

    /// Judges an answer; may turn a success into [`IoError::Mismatch`].
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        disk: u32,
        ticket: Option<Ticket>,
        bytes: &[u8],
        result: Result<(), IoError>,
    ) -> Result<(), IoError> {
        let Some(ticket) = ticket else { return result };
        let tracker = &mut self.trackers[disk as usize];
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
