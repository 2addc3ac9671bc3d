use state_machine::{IoError, Operation};
use units::Nanos;

use super::layout::{Extent, Layout, RaidLevel, RaidParameters};
use crate::error::ParameterError;
use crate::part::{Component, Job, Outbox, PartId, Ticket};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// A RAID set as fork and join.
///
/// A write that covers only part of a stripe of RAID 5 or 6 first reads. It reads either the old
/// data and parity or the data it does not change, whichever needs fewer children. Then it writes
/// data and parity. So the small-write penalty of 4 or 6 consists of real child jobs. A read of a
/// mirror goes to the member with fewer outstanding jobs.
///
/// Left out: stripe locks (two writes to one stripe do not wait for each other), the write hole,
/// and degraded or rebuilding sets.
#[derive(Debug)]
pub struct Raid {
    layout: Layout,
    members: Vec<PartId>,
    outstanding: Vec<u32>,
    jobs: Slab<Joined>,
    groups: Slab<Group>,
    /// Group and member of each child; the position is the child's ticket.
    children: Slab<(u32, u32)>,
    meter: Meter,
    /// Pieces of the present write; kept between jobs so that the memory is reused.
    pieces: Vec<Piece>,
    /// Extents of the present job, kept for the same reason.
    extents: Vec<Extent>,
}

/// A job, with the number of its groups that are not complete.
#[derive(Debug)]
struct Joined {
    job: Job,
    groups: u32,
    result: Result<(), IoError>,
}

/// Children that are in progress together, and the children that follow them.
#[derive(Debug)]
struct Group {
    job: u32,
    /// Number of children in progress.
    children: u32,
    /// Extents to write after the reads: the children of the second phase.
    then: Vec<Extent>,
}

/// Part of a write that lies in one data element.
#[derive(Debug, Clone, Copy)]
struct Piece {
    stripe: u64,
    column: u32,
    within: u64,
    length: u32,
}

impl Raid {
    /// Creates a RAID set over these members. They must have equal size; this is not checked.
    ///
    /// # Errors
    ///
    /// When the level needs more members, or the element is outside its range.
    pub fn new(parameters: RaidParameters, members: Vec<PartId>) -> Result<Self, ParameterError> {
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        Ok(Self {
            layout: Layout::new(parameters, count)?,
            outstanding: vec![0; members.len()],
            members,
            jobs: Slab::new(),
            groups: Slab::new(),
            children: Slab::new(),
            meter: Meter::new(0),
            pieces: Vec::new(),
            extents: Vec::new(),
        })
    }

    /// Starts children of a group.
    fn fork(&mut self, of: (u32, Operation), extents: &[Extent], out: &mut Outbox) {
        let (group, operation) = of;
        let state = &mut self.groups[group];
        state.children = u32::try_from(extents.len()).expect("as many as members and pieces");
        let parent = self.jobs[state.job].job;
        for extent in extents {
            let member = extent.member as usize;
            self.outstanding[member] += 1;
            let (offset, length) = (extent.offset, extent.length);
            let ticket = Ticket(self.children.insert((group, extent.member)));
            out.ask(self.members[member], Job { ticket, operation, offset, length, ..parent });
        }
    }

    fn read(&mut self, place: u32, job: &Job, out: &mut Outbox) {
        let mut extents = std::mem::take(&mut self.extents);
        extents.clear();
        let (layout, outstanding) = (self.layout, &self.outstanding);
        layout.cut(job.offset, job.length, |stripe, column, within, length| {
            let mut member = layout.member(stripe, column);
            let copies = match layout.level {
                RaidLevel::Raid1 => layout.members,
                RaidLevel::Raid10 => 2,
                _ => 1,
            };
            let first = member;
            for other in first..first + copies {
                if outstanding[other as usize] < outstanding[member as usize] {
                    member = other;
                }
            }
            extents.push(layout.extent(stripe, member, (within, length)));
        });
        join_neighbours(&mut extents);
        self.start(place, Operation::Read, &extents, Vec::new(), out);
        self.extents = extents;
    }

    fn start(
        &mut self,
        job: u32,
        operation: Operation,
        first: &[Extent],
        then: Vec<Extent>,
        out: &mut Outbox,
    ) {
        self.jobs[job].groups += 1;
        let group = self.groups.insert(Group { job, children: 0, then });
        self.fork((group, operation), first, out);
    }

    fn write_copies(&mut self, place: u32, job: &Job, out: &mut Outbox) {
        let mut extents = std::mem::take(&mut self.extents);
        extents.clear();
        let layout = self.layout;
        layout.cut(job.offset, job.length, |stripe, column, within, length| {
            let first = layout.member(stripe, column);
            let copies = match layout.level {
                RaidLevel::Raid1 => layout.members,
                RaidLevel::Raid10 => 2,
                _ => 1,
            };
            for member in first..first + copies {
                extents.push(layout.extent(stripe, member, (within, length)));
            }
        });
        join_neighbours(&mut extents);
        self.start(place, Operation::Write, &extents, Vec::new(), out);
        self.extents = extents;
    }

    fn write_parity(&mut self, place: u32, job: &Job, out: &mut Outbox) {
        let mut pieces = std::mem::take(&mut self.pieces);
        self.layout.cut(job.offset, job.length, |stripe, column, within, length| {
            pieces.push(Piece { stripe, column, within, length });
        });
        for stripe in pieces.chunk_by(|a, b| a.stripe == b.stripe) {
            let (reads, writes) = self.stripe_write(stripe);
            if reads.is_empty() {
                self.start(place, Operation::Write, &writes, Vec::new(), out);
            } else {
                self.start(place, Operation::Read, &reads, writes, out);
            }
        }
        pieces.clear();
        self.pieces = pieces;
    }

    /// Returns the extents that a write to one stripe reads first, perhaps none, and the extents
    /// that it then writes.
    fn stripe_write(&self, pieces: &[Piece]) -> (Vec<Extent>, Vec<Extent>) {
        let layout = &self.layout;
        let stripe = pieces[0].stripe;
        let start = pieces.iter().map(|piece| piece.within).min().unwrap_or(0);
        let ends = pieces.iter().map(|piece| piece.within + u64::from(piece.length));
        let end = ends.max().unwrap_or(0);
        let span = (start, u32::try_from(end - start).expect("within an element"));
        let data = |piece: &Piece| {
            let member = layout.member(stripe, piece.column);
            layout.extent(stripe, member, (piece.within, piece.length))
        };
        let parity = (0..layout.parities())
            .map(|number| layout.extent(stripe, layout.parity(stripe, number), span));
        let writes: Vec<Extent> = pieces.iter().map(data).chain(parity.clone()).collect();
        // Rebuild from the data that stays: elements not covered in the span of the parity.
        let is_covered = |column: u32| {
            pieces
                .iter()
                .any(|piece| piece.column == column && (piece.within, piece.length) == span)
        };
        let others: Vec<Extent> = (0..layout.data())
            .filter(|column| !is_covered(*column))
            .map(|column| layout.extent(stripe, layout.member(stripe, column), span))
            .collect();
        if others.len() < writes.len() {
            return (others, writes);
        }
        (writes.clone(), writes)
    }
}

/// Joins adjacent extents of one member (elements of consecutive stripes).
fn join_neighbours(extents: &mut Vec<Extent>) {
    if extents.len() < 2 {
        return;
    }
    extents.sort_unstable_by_key(|extent| (extent.member, extent.offset));
    extents.dedup_by(|extent, last| {
        let is_next =
            last.member == extent.member && last.offset + u64::from(last.length) == extent.offset;
        last.length += if is_next { extent.length } else { 0 };
        is_next
    });
}

impl Component for Raid {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        if job.length == 0 {
            // A flush: writes are answered when the members have them.
            return out.answer(&job, Ok(()));
        }
        self.meter.enter(now);
        let place = self.jobs.insert(Joined { job, groups: 0, result: Ok(()) });
        match job.operation {
            Operation::Read => self.read(place, &job, out),
            _ if self.layout.parities() == 0 => self.write_copies(place, &job, out),
            _ => self.write_parity(place, &job, out),
        }
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let (place, member) = self.children.remove(ticket.0);
        self.outstanding[member as usize] -= 1;
        let group = &mut self.groups[place];
        let joined = &mut self.jobs[group.job];
        joined.result = joined.result.and(result);
        group.children -= 1;
        if group.children > 0 {
            return;
        }
        let then = std::mem::take(&mut group.then);
        if !then.is_empty() && joined.result.is_ok() {
            return self.fork((place, Operation::Write), &then, out);
        }
        joined.groups -= 1;
        let job = group.job;
        let is_last = joined.groups == 0;
        self.groups.remove(place);
        if is_last {
            let Joined { job, result, .. } = self.jobs.remove(job);
            self.meter.leave(now, job.length);
            out.answer(&job, result);
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a RAID set sets no alarm");
    }

    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
