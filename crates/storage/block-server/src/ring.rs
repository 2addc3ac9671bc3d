//! io_uring that owns the buffers and files on which the kernel works.
//!
//! Buffers and files are moved into the ring with each operation and come out with its completion.
//! So no other code can read, write, free or close them meanwhile. This makes the calls safe.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::types::{CancelBuilder, Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use state_machine::Slab;

use crate::Action;
use crate::Buffer;
use crate::batch::Batch;
use crate::in_memory::InMemory;

/// Entries of the submission queue. If it is full, its entries are submitted at once.
const ENTRIES: u32 = 512;
/// Maximum number of segments of one send (`IOV_MAX`).
pub(crate) const PIECES_MAX: usize = 1024;
/// Number of polls between two reads of the clock.
const LOOKS: u32 = 16;
/// Maximum time that dropping a ring waits for the kernel to cancel operations.
const CALL_OFF: Timespec = Timespec::new().sec(5);
/// Interval and number of further waits for operations that cannot be cancelled.
const SETTLE: (Duration, u32) = (Duration::from_millis(100), 50);

/// Ring, used by one thread.
pub(crate) struct Ring<T: Copy> {
    ring: IoUring,
    held: Slab<InFlight<T>>,
    /// Completions that were taken early because a queue was full, or whose I/O was done by copying
    /// at once.
    early: Vec<Finished<T>>,
    in_memory: InMemory,
}

/// Operation that the kernel works on, with its owner's token.
struct InFlight<T> {
    token: T,
    _file: Arc<OwnedFd>,
    cargo: Cargo,
}

/// Memory or file that belongs to an operation.
pub(crate) enum Cargo {
    /// Nothing: the operation only completes.
    Nothing,
    /// Nothing yet: an accept is in progress.
    Accept,
    /// Socket of an accepted client.
    Client(OwnedFd),
    /// Bytes of a file, or received bytes.
    Buffer(Buffer),
    /// Bytes to send.
    Batch(Batch, Vectors),
}

/// Message header and segments that describe a batch to the kernel. The memory is reused.
pub(crate) struct Vectors {
    header: Box<libc::msghdr>,
    pieces: Vec<libc::iovec>,
}

/// Completion of an operation, with its result: a number of bytes, a file, or a negated error
/// number.
pub(crate) struct Finished<T> {
    pub token: T,
    pub result: i32,
    pub cargo: Cargo,
    /// True if the operation sends no more completions. A poll completes several times.
    pub is_last: bool,
}

/// User data of cancellations, whose completions are ignored.
const CALLING_OFF: u64 = u64::MAX;

/// Sets of ring features, best first (Linux 6.1, 5.19, none).
const SETUPS: [fn(&mut io_uring::Builder); 3] = [
    |builder| {
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
    },
    |builder| {
        builder.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all();
    },
    |_| {},
];

impl<T: Copy> Ring<T> {
    pub fn new() -> io::Result<Self> {
        let mut refusal = None;
        for setup in SETUPS {
            let mut builder = IoUring::<squeue::Entry, cqueue::Entry>::builder();
            builder.dontfork().setup_cqsize(4 * ENTRIES);
            setup(&mut builder);
            match builder.build(ENTRIES) {
                Ok(ring) if ring.params().is_feature_ext_arg() => {
                    return Ok(Self {
                        ring,
                        held: Slab::new(),
                        early: Vec::new(),
                        in_memory: InMemory::default(),
                    });
                }
                Ok(_) => refusal = Some(io::Error::from_raw_os_error(libc::ENOSYS)),
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.expect("at least one set-up was tried"))
    }

    /// Accepts a client.
    pub fn accept(&mut self, token: T, socket: &Arc<OwnedFd>) -> io::Result<()> {
        self.push(token, socket, Cargo::Accept, |fd, _| {
            let (none, length) = (std::ptr::null_mut(), std::ptr::null_mut());
            opcode::Accept::new(fd, none, length).flags(libc::SOCK_CLOEXEC).build()
        })
        .map(drop)
    }

    /// Receives into the buffer, after its first `behind` bytes.
    pub fn receive(
        &mut self,
        token: T,
        socket: &Arc<OwnedFd>,
        buffer: Buffer,
        behind: usize,
    ) -> io::Result<()> {
        self.push(token, socket, Cargo::Buffer(buffer), |fd, cargo| {
            let bytes = &mut cargo.buffer()[behind..];
            opcode::Recv::new(fd, bytes.as_mut_ptr(), length(bytes)).build()
        })
        .map(drop)
    }

    /// Sends the rest of a batch, or as many of its segments as one send allows.
    pub fn send(
        &mut self,
        token: T,
        socket: &Arc<OwnedFd>,
        batch: Batch,
        vectors: Option<Vectors>,
    ) -> io::Result<()> {
        let vectors = vectors.unwrap_or_else(Vectors::new);
        self.push(token, socket, Cargo::Batch(batch, vectors), |fd, cargo| {
            let Cargo::Batch(batch, vectors) = cargo else { unreachable!("just put there") };
            let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
            let message = vectors.describe(batch);
            opcode::SendMsg::new(fd, message).flags(flags.unsigned_abs()).build()
        })
        .map(drop)
    }

    /// Carries out a service's I/O on a file.
    pub fn file(
        &mut self,
        token: T,
        file: &Arc<OwnedFd>,
        action: Action,
        mut data: Buffer,
    ) -> io::Result<()> {
        if let Some(result) = self.in_memory.copy(file, action, &mut data) {
            let cargo = Cargo::Buffer(data);
            self.early.push(Finished { token, result, cargo, is_last: true });
            return Ok(());
        }
        self.push(token, file, Cargo::Buffer(data), |fd, cargo| {
            let data = cargo.buffer();
            match action {
                Action::Read { offset, skip } => {
                    let bytes = &mut data[skip as usize..];
                    opcode::Read::new(fd, bytes.as_mut_ptr(), length(bytes)).offset(offset).build()
                }
                Action::Write { offset, skip, durable } => {
                    let bytes = &data[skip as usize..];
                    let flags = if durable { libc::RWF_DSYNC } else { 0 };
                    opcode::Write::new(fd, bytes.as_ptr(), length(bytes))
                        .offset(offset)
                        .rw_flags(flags)
                        .build()
                }
                Action::Flush => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
                Action::Allocate { mode, offset, length } => {
                    opcode::Fallocate::new(fd, length).offset(offset).mode(mode).build()
                }
            }
        })
        .map(drop)
    }

    /// Passes a command to the driver of a file (`IORING_OP_URING_CMD`, Linux 5.19). The driver
    /// decides when it completes. The command refers to no memory.
    pub fn command(
        &mut self,
        token: T,
        file: &Arc<OwnedFd>,
        command: u32,
        words: [u8; 16],
    ) -> io::Result<()> {
        self.push(token, file, Cargo::Nothing, |fd, _| {
            opcode::UringCmd16::new(fd, command).cmd(words).build()
        })
        .map(drop)
    }

    /// Reads the counter of an eventfd once the eventfd is written.
    pub fn event(&mut self, token: T, event: &Arc<OwnedFd>) -> io::Result<()> {
        self.push(token, event, Cargo::Buffer(Buffer::zeroed(8)), |fd, cargo| {
            let bytes = cargo.buffer();
            opcode::Read::new(fd, bytes.as_mut_ptr(), length(bytes)).build()
        })
        .map(drop)
    }

    /// Polls an eventfd. The poll completes each time the eventfd is written, and does not change
    /// its counter (Linux 5.13). Returns the number for [`Self::call_off`].
    pub fn watch(&mut self, token: T, event: &Arc<OwnedFd>) -> io::Result<u32> {
        self.push(token, event, Cargo::Nothing, |fd, _| {
            opcode::PollAdd::new(fd, libc::POLLIN.unsigned_abs().into()).multi(true).build()
        })
    }

    /// Cancels a poll, which then completes for the last time.
    pub fn call_off(&mut self, number: u32) -> io::Result<()> {
        self.make_room()?;
        let entry = opcode::AsyncCancel::new(number.into()).build().user_data(CALLING_OFF);
        // SAFETY: it has no memory and no file.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))
    }

    fn make_room(&mut self) -> io::Result<()> {
        while self.ring.submission().is_full() {
            // The kernel takes no entries while its completion queue overflows.
            self.take_early();
            self.enter(Some(Duration::ZERO))?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        token: T,
        file: &Arc<OwnedFd>,
        cargo: Cargo,
        entry: impl FnOnce(Fd, &mut Cargo) -> squeue::Entry,
    ) -> io::Result<u32> {
        self.make_room()?;
        let number = self.held.insert(InFlight { token, _file: Arc::clone(file), cargo });
        let held = &mut self.held[number];
        let entry = entry(Fd(file.as_raw_fd()), &mut held.cargo).user_data(number.into());
        // SAFETY: buffers, vectors and file of the entry are in `held` until its completion was reaped,
        // and nothing gives access to them there; the memory of each is on the heap and stays where it
        // is when `held` grows. A ring that is dropped before leaves them allocated for ever.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.held.remove(number);
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        Ok(number)
    }

    /// Returns true if completions are available without a system call.
    pub fn has_more(&self) -> bool {
        !self.early.is_empty()
    }

    /// Submits entries, and waits until an operation completes or the time is up. `None` waits
    /// without limit.
    pub fn enter(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let is_told = self.has_more();
        let queue = self.ring.submission();
        if is_told && queue.is_empty() && !queue.taskrun() && !queue.cq_overflow() {
            return Ok(());
        }
        drop(queue);
        let wait = if is_told { Some(Duration::ZERO) } else { wait };
        let time = wait.map(|wait| Timespec::new().sec(wait.as_secs()).nsec(wait.subsec_nanos()));
        let mut args = SubmitArgs::new();
        if let Some(time) = &time {
            args = args.timespec(time);
        }
        let want = usize::from(wait != Some(Duration::ZERO));
        match self.ring.submitter().submit_with_args(want, &args) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The time is up, a signal came, or completions must be reaped first.
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Submits entries, and polls for a completion without sleeping, for at most `longest`. Returns
    /// the time after which one came.
    pub fn look(&mut self, longest: Duration) -> io::Result<Option<Duration>> {
        if !self.ring.submission().is_empty() {
            self.enter(Some(Duration::ZERO))?;
        }
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if !self.ring.completion().is_empty() || self.ring.submission().taskrun() {
                    return Ok(Some(start.elapsed()));
                }
                std::hint::spin_loop();
            }
            if start.elapsed() >= longest {
                return Ok(None);
            }
        }
    }

    fn take_early(&mut self) {
        let mut early = std::mem::take(&mut self.early);
        self.reap(&mut early);
        self.early = early;
    }

    /// Appends all available completions to `finished`.
    pub fn reap(&mut self, finished: &mut Vec<Finished<T>>) {
        finished.append(&mut self.early);
        for entry in self.ring.completion() {
            if entry.user_data() == CALLING_OFF {
                continue;
            }
            let number = u32::try_from(entry.user_data()).expect("numbers have 32 bits");
            let result = entry.result();
            if cqueue::more(entry.flags()) {
                let token = self.held[number].token;
                finished.push(Finished { token, result, cargo: Cargo::Nothing, is_last: false });
                continue;
            }
            let InFlight { token, cargo, .. } = self.held.remove(number);
            let is_client = matches!(cargo, Cargo::Accept) && result >= 0;
            // SAFETY: the kernel has just made this file for the one who accepts, and nobody else
            // knows of it.
            let client = is_client.then(|| unsafe { OwnedFd::from_raw_fd(result) });
            let cargo = client.map_or(cargo, Cargo::Client);
            finished.push(Finished { token, result, cargo, is_last: true });
        }
    }

    /// Cancels all operations, and waits for operations that cannot be cancelled.
    fn settle(&mut self) {
        // Linux before 6.0 cannot cancel in this way. The loop below then waits for the operations
        // in flight.
        let _ = self.ring.submitter().register_sync_cancel(Some(CALL_OFF), CancelBuilder::any());
        for _ in 0..SETTLE.1 {
            self.reap(&mut Vec::new());
            if !self.has_memory() || self.enter(Some(SETTLE.0)).is_err() {
                return;
            }
        }
    }

    /// Returns true if the kernel may still use memory that the ring owns. Memory that only a
    /// driver holds is freed with the ring.
    fn has_memory(&self) -> bool {
        let has = |number| !matches!(self.held[number].cargo, Cargo::Nothing);
        self.held.numbers().into_iter().any(has)
    }
}

impl<T: Copy> Drop for Ring<T> {
    fn drop(&mut self) {
        if self.held.len() > 0 {
            self.settle();
        }
        if self.has_memory() {
            // Leaked: the kernel may still write into these buffers.
            std::mem::forget(std::mem::replace(&mut self.held, Slab::new()));
        }
    }
}

impl Cargo {
    fn buffer(&mut self) -> &mut Buffer {
        match self {
            Self::Buffer(buffer) => buffer,
            _ => unreachable!("just put there"),
        }
    }
}

impl Vectors {
    fn new() -> Self {
        // SAFETY: all of its fields are numbers and pointers, for which zero is a value.
        let header = unsafe { std::mem::zeroed() };
        Self { header: Box::new(header), pieces: Vec::new() }
    }

    /// Describes a batch for the kernel. The batch must not change or be freed before the kernel
    /// has completed the send.
    fn describe(&mut self, batch: &Batch) -> *const libc::msghdr {
        self.pieces.clear();
        self.pieces.extend(batch.slices().take(PIECES_MAX).map(|bytes| libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        }));
        self.header.msg_iov = self.pieces.as_mut_ptr();
        self.header.msg_iovlen = self.pieces.len() as _;
        &raw const *self.header
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("buffers are far shorter than 4 GiB")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn more_operations_than_entries_complete_piece_by_piece() {
        let file: OwnedFd = tempfile::tempfile().unwrap().into();
        let file = Arc::new(file);
        let mut ring = Ring::new().unwrap();
        let count = 10 * ENTRIES;
        for token in 0..count {
            let (action, data) = (Action::Read { offset: 0, skip: 0 }, Buffer::zeroed(16));
            ring.file(token, &file, action, data).unwrap();
        }
        let (mut finished, mut tokens) = (Vec::new(), Vec::new());
        while tokens.len() < count as usize {
            ring.enter(None).unwrap();
            ring.reap(&mut finished);
            for Finished { token, result, cargo, is_last } in finished.drain(..) {
                assert!(
                    is_last && result == 0 && matches!(cargo, Cargo::Buffer(_)),
                    "an empty file"
                );
                tokens.push(token);
            }
        }
        tokens.sort_unstable();
        assert_eq!(tokens, (0..count).collect::<Vec<_>>());
    }

    #[test]
    fn a_look_finds_what_has_come_and_ends_when_nothing_does() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let near: Arc<OwnedFd> = Arc::new(near.into());
        let mut ring = Ring::new().unwrap();
        ring.receive('r', &near, Buffer::zeroed(4096), 0).unwrap();
        let (longest, begin) = (Duration::from_millis(1), Instant::now());
        assert_eq!(ring.look(longest).unwrap(), None);
        assert!(begin.elapsed() >= longest);
        rustix::io::write(&far, &[7]).unwrap();
        assert!(ring.look(Duration::from_secs(10)).unwrap().is_some());
        let mut finished = Vec::new();
        ring.enter(None).unwrap();
        ring.reap(&mut finished);
        assert!(matches!(finished[..], [Finished { token: 'r', result: 1, .. }]));
    }

    #[test]
    fn io_in_memory_completes_beside_io_of_the_kernel() {
        let in_memory: OwnedFd = tempfile::tempfile_in("/dev/shm").unwrap().into();
        let (in_memory, file) = (Arc::new(in_memory), tempfile::tempfile().unwrap());
        let file: Arc<OwnedFd> = Arc::new(file.into());
        let mut ring = Ring::new().unwrap();
        let write = Action::Write { offset: 0, skip: 0, durable: false };
        let mut finished = Vec::new();
        for (token, file) in [('k', &file), ('m', &in_memory)] {
            ring.file(token, file, write, Buffer::zeroed(512)).unwrap();
        }
        assert!(ring.has_more(), "nobody may sleep now");
        while finished.len() < 2 {
            ring.enter(None).unwrap();
            ring.reap(&mut finished);
        }
        let mut tokens: Vec<_> = finished.iter().map(|one| (one.token, one.result)).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, [('k', 512), ('m', 512)]);
        assert!(!ring.has_more());
    }

    #[test]
    fn an_event_is_told_of_each_time_until_it_is_called_off() {
        let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let event = Arc::new(event);
        let (mut ring, mut finished) = (Ring::new().unwrap(), Vec::new());
        let number = ring.watch('e', &event).unwrap();
        for _ in 0..3 {
            ring.enter(Some(Duration::ZERO)).unwrap();
            rustix::io::write(&event, &1_u64.to_ne_bytes()).unwrap();
            while finished.is_empty() {
                ring.enter(None).unwrap();
                ring.reap(&mut finished);
            }
            let told = finished.drain(..).all(|one| one.token == 'e' && !one.is_last);
            assert!(told, "it goes on");
        }
        ring.call_off(number).unwrap();
        while !finished.iter().any(|one| one.is_last) {
            ring.enter(None).unwrap();
            ring.reap(&mut finished);
        }
        drop(ring);
        assert_eq!(Arc::strong_count(&event), 1, "nothing is held any more");
    }

    #[test]
    fn a_ring_that_ends_has_the_kernel_let_go() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let near: Arc<OwnedFd> = Arc::new(near.into());
        let mut ring = Ring::new().unwrap();
        ring.receive((), &near, Buffer::zeroed(4096), 0).unwrap();
        ring.enter(Some(Duration::ZERO)).unwrap();
        drop(ring);
        assert_eq!(Arc::strong_count(&near), 1, "nothing is held any more");
        drop(far);
    }
}
