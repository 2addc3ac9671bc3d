use hardware::{Class, Component, Job, Outbox, PartId, StreamId, Ticket, Usage};
use state_machine::{IoError, Operation, Slab};
use units::Nanos;

/// Size of a read and of the write that follows it, and their maximum number at the same time: the
/// values of a disk's move by an operation (`copy_size` and `copy_outstanding` in `spec`).
const BLOCK: u32 = 1 << 20;
const OUTSTANDING: u32 = 16;

/// Part that copies virtual disks of running virtual machines to another pool (storage migration).
///
/// While a disk is copied, its requests enter here. A write to the part that was copied already, or
/// is being copied, goes to both places, and is answered when both are done. All others go to the
/// old place. vSphere has the same mirror since version 5.0 (Mashtizadeh and others, "The Design
/// and Evolution of Live Storage Migration in VMware ESX", USENIX 2011).
#[derive(Debug, Default)]
pub struct DiskCopier {
    /// Disks that are being copied or mirrored.
    disks: Vec<DiskCopy>,
    tickets: Slab<Pending>,
    due: Vec<u32>,
}

/// Place of a virtual disk: the part that its requests enter, and the address of its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskPlace {
    pub entry: PartId,
    pub base: u64,
}

/// Copy of a virtual disk.
#[derive(Debug, Clone, Copy)]
pub struct DiskCopy {
    /// Number of the migration.
    pub owner: u32,
    pub stream: StreamId,
    pub old: DiskPlace,
    pub new: DiskPlace,
    pub size: u64,
    /// First byte of the disk whose copy has not begun.
    next: u64,
    outstanding: u32,
}

#[derive(Debug, Clone, Copy)]
enum Pending {
    /// Block that is read, or written, for the copy of a stream's disk by a migration.
    Read {
        of: (u32, StreamId),
        offset: u64,
        length: u32,
    },
    Written {
        of: (u32, StreamId),
    },
    /// Request that goes to both places.
    Mirrored {
        job: Job,
        left: u32,
        result: Result<(), IoError>,
    },
}

impl DiskCopy {
    pub const fn new(owner: u32, stream: StreamId, ways: [DiskPlace; 2], size: u64) -> Self {
        let [old, new] = ways;
        Self { owner, stream, old, new, size, next: 0, outstanding: 0 }
    }
}

impl DiskCopier {
    /// Begins the copy of a disk. It is due when everything is copied, and stays mirrored until
    /// [`DiskCopier::end`].
    pub fn begin(&mut self, copy: DiskCopy, out: &mut Outbox) {
        self.disks.push(copy);
        self.fill(self.disks.len() - 1, out);
    }

    /// Ends the mirroring of a migration's disks. Requests in flight still complete.
    pub fn end(&mut self, owner: u32) {
        self.disks.retain(|disk| disk.owner != owner);
    }

    /// Takes the migrations of which a disk was copied.
    pub fn take_due(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.due)
    }

    fn position(&self, (owner, stream): (u32, StreamId)) -> Option<usize> {
        self.disks.iter().position(|disk| disk.owner == owner && disk.stream == stream)
    }

    fn fill(&mut self, at: usize, out: &mut Outbox) {
        let own = &mut self.disks[at];
        while own.next < own.size && own.outstanding < OUTSTANDING {
            let (stream, offset) = (own.stream, own.next);
            let length = u32::try_from(own.size - offset).unwrap_or(u32::MAX).min(BLOCK);
            own.next += u64::from(length);
            own.outstanding += 1;
            let of = (own.owner, stream);
            let ticket = Ticket(self.tickets.insert(Pending::Read { of, offset, length }));
            let offset = own.old.base + offset;
            let (from, class, operation) = (own.old.entry, Class::Copy, Operation::Read);
            let job = Job { from, ticket, operation, offset, length, stream, class };
            out.ask(own.old.entry, job);
        }
        if own.next == own.size && own.outstanding == 0 {
            self.due.push(own.owner);
        }
    }

    fn mirror(&mut self, job: Job, disk: DiskCopy, out: &mut Outbox) {
        let pending = Pending::Mirrored { job, left: 2, result: Ok(()) };
        let ticket = Ticket(self.tickets.insert(pending));
        out.ask(disk.old.entry, Job { ticket, ..job });
        let is_flush = job.operation == Operation::Flush;
        let offset = if is_flush { job.offset } else { job.offset - disk.old.base + disk.new.base };
        out.ask(disk.new.entry, Job { ticket, offset, ..job });
    }
}

impl Component for DiskCopier {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        let Some(disk) = self.disks.iter().find(|disk| disk.stream == job.stream).copied() else {
            debug_assert!(false, "only disks that are copied enter here");
            return out.answer(&job, Ok(()));
        };
        let is_copied = job.offset.saturating_sub(disk.old.base) < disk.next;
        match job.operation {
            Operation::Flush => self.mirror(job, disk, out),
            Operation::Write if is_copied => self.mirror(job, disk, out),
            Operation::Read | Operation::Write => out.hand_on(disk.old.entry, job),
        }
    }

    fn finished(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        match &mut self.tickets[ticket.0] {
            Pending::Mirrored { job, left, result: all } => {
                *left -= 1;
                *all = all.and(result);
                if *left == 0 {
                    out.answer(job, *all);
                    self.tickets.remove(ticket.0);
                }
            }
            Pending::Read { of, offset, length } => {
                let (of, offset, length) = (*of, *offset, *length);
                self.tickets.remove(ticket.0);
                // The migration may have been given up meanwhile.
                let Some(disk) = self.position(of).map(|at| self.disks[at]) else { return };
                let ticket = Ticket(self.tickets.insert(Pending::Written { of }));
                let (offset, stream) = (disk.new.base + offset, disk.stream);
                let (from, class, operation) = (disk.new.entry, Class::Copy, Operation::Write);
                let job = Job { from, ticket, operation, offset, length, stream, class };
                out.ask(disk.new.entry, job);
            }
            Pending::Written { of } => {
                let of = *of;
                self.tickets.remove(ticket.0);
                let Some(at) = self.position(of) else { return };
                self.disks[at].outstanding -= 1;
                self.fill(at, out);
            }
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "the copier sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
