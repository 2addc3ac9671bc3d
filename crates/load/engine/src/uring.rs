use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, cqueue, opcode, squeue};
use state_machine::Operation;
use units::Nanos;

use crate::Options;
use crate::backend::{Backend, Completion, Submission, Wait};
use crate::blocking;
use crate::clock::{self, Clock};
use crate::iowq::{self, Helpers};

/// io_uring, used by one thread.
pub(crate) struct Uring {
    clock: Clock,
    // The three halves borrow from `_ring`. Fields are dropped in this order, so the halves go
    // first.
    submitter: Submitter<'static>,
    submissions: SubmissionQueue<'static>,
    completions: CompletionQueue<'static>,
    _ring: OwnedRing,
    /// True for each chunk of buffer memory that is registered.
    registered_chunks: Vec<bool>,
    can_linger: bool,
    helpers: Helpers,
    /// Number of requests that the kernel has not completed.
    in_ring: usize,
    /// Requests held back from the ring, so that this thread carries them out (see [`Self::help`]).
    own: VecDeque<Submission>,
    own_done: VecDeque<Completion>,
    // Open for as long as the ring may use them.
    files: Vec<Arc<File>>,
    watch: Option<Watch>,
}

/// File whose readability also ends a wait.
struct Watch {
    file: Arc<OwnedFd>,
    is_armed: bool,
}

/// User data of the poll of the watched file. It differs from all slots, which have 32 bits.
const WATCH: u64 = u64::MAX;

/// Maximum number of requests that this thread carries out between two turns of the ring, and
/// maximum size of these requests.
const OWN_MAX: usize = 8;
const OWN_BYTES_MAX: u32 = 64 << 10;

/// Sets of setup flags, best first. Deferred task work runs completions only when this thread asks
/// for them (Linux 6.1). Cooperative task work at least does not interrupt the thread (5.19). The
/// last set is empty.
const SETUPS: [fn(&mut io_uring::Builder); 3] = [
    |builder| {
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
    },
    |builder| {
        builder.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all();
    },
    |_| {},
];

impl Uring {
    /// Creates a ring over these files, with the depth from the options.
    pub(crate) fn new(
        clock: Clock,
        files: Vec<Arc<File>>,
        watched: Option<Arc<OwnedFd>>,
        options: &Options,
        chunks_max: usize,
    ) -> io::Result<Self> {
        let depth = options.depth;
        let watch = watched.map(|file| Watch { file, is_armed: false });
        let ring = Box::new(build(depth + u32::from(watch.is_some()))?);
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS)); // Before Linux 5.11.
        }
        let fds: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
        // The kernel refuses an empty list, and a worker may have instances without disks.
        if !fds.is_empty() {
            ring.submitter().register_files(&fds)?;
        }
        let chunks = u32::try_from(chunks_max).unwrap_or(u32::MAX);
        let sparse = ring.submitter().register_buffers_sparse(chunks).is_ok();
        let helpers = iowq::limit(&ring.submitter(), &files, depth, options.workers);
        let can_linger = ring.params().is_feature_min_timeout();
        let ring = OwnedRing(NonNull::from(Box::leak(ring)));
        // SAFETY: the box was just leaked, so the reference is valid until `OwnedRing` takes
        // it back, after the three halves are gone; no other reference to it is made.
        let (mut submitter, submissions, completions) = unsafe { &mut *ring.0.as_ptr() }.split();
        // Saves a look-up per call; without it everything works.
        let _ = submitter.register_ring_fd();
        Ok(Self {
            clock,
            submitter,
            submissions,
            completions,
            _ring: ring,
            registered_chunks: vec![false; if sparse { chunks_max } else { 0 }],
            can_linger,
            helpers,
            in_ring: 0,
            own: VecDeque::with_capacity(depth as usize),
            own_done: VecDeque::with_capacity(2 * OWN_MAX),
            files,
            watch,
        })
    }

    /// Returns the limit that was set on the kernel's helper threads.
    pub(crate) fn helpers(&self) -> Helpers {
        self.helpers
    }

    fn push_to_ring(&mut self, submission: &Submission) {
        let entry = self.entry(submission);
        self.in_ring += 1;
        // SAFETY: the buffer is on loan until the completion of this slot was reaped, and the
        // arena outlives the ring (or is leaked); the files are held open by `files`.
        let pushed = unsafe { self.submissions.push(&entry) };
        pushed.expect("the ring has as many entries as the worker has slots");
    }

    /// Polls the watched file, unless a poll is in progress.
    fn arm(&mut self) {
        let Some(watch) = self.watch.as_mut().filter(|watch| !watch.is_armed) else { return };
        let readable = u32::from(libc::POLLIN.unsigned_abs());
        let entry = opcode::PollAdd::new(Fd(watch.file.as_raw_fd()), readable).build();
        watch.is_armed = true;
        // SAFETY: the entry has no buffer, and `watch` holds its file open.
        let pushed = unsafe { self.submissions.push(&entry.user_data(WATCH)) };
        pushed.expect("the ring has one entry more than the worker has slots");
    }

    /// Divides the held-back requests between the ring and this thread.
    ///
    /// Only used for memory that cannot start I/O without blocking. There the kernel's helper
    /// threads, one per spare CPU, are the servers, and this thread would otherwise sleep. It acts
    /// as one more server, so that each server has an equal share of the outstanding requests. The
    /// ring always gets the first request.
    fn deal(&mut self, helpers: usize) {
        let outstanding = self.in_ring + self.own.len();
        let share = (outstanding * helpers / (helpers + 1)).max(1);
        while self.in_ring < share
            && let Some(submission) = self.own.pop_front()
        {
            self.push_to_ring(&submission);
        }
    }

    /// Carries out some of the held-back requests on this thread.
    fn help(&mut self) {
        let mut bytes = 0;
        for _ in 0..OWN_MAX {
            if bytes >= OWN_BYTES_MAX {
                break;
            }
            let Some(submission) = self.own.pop_front() else { break };
            bytes += submission.length;
            let result = blocking::carry_out(&self.files[submission.file as usize], &submission);
            let at = self.clock.now();
            self.own_done.push_back(Completion { slot: submission.slot, result, at });
        }
    }

    /// Submits the ring's entries and waits within `wait`.
    fn hand_over(&mut self, wait: Wait) -> io::Result<()> {
        self.arm();
        self.submissions.sync();
        let span = wait.until.saturating_sub(wait.now);
        let time = Timespec::new()
            .sec(span.0 / Nanos::SECOND.0)
            .nsec(u32::try_from(span.0 % Nanos::SECOND.0).expect("below a second"));
        let mut args = SubmitArgs::new().timespec(&time);
        let mut want = usize::from(span.0 > 0);
        if want > 0 && wait.want > 1 && self.can_linger && wait.linger.0 >= 1_000 {
            want = wait.want as usize;
            args =
                args.min_wait_usec(u32::try_from(wait.linger.0.min(span.0) / 1_000).unwrap_or(1));
        }
        let entered = self.submitter.submit_with_args(want, &args);
        self.submissions.sync();
        forgive(entered)
    }

    fn entry(&self, submission: &Submission) -> squeue::Entry {
        let file = Fixed(submission.file);
        let (offset, length) = (submission.offset, submission.length);
        let entry = match (submission.operation, submission.buffer) {
            (Operation::Flush, _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            (_, None) => unreachable!("reads and writes carry a buffer"),
            (operation, Some(buffer)) => {
                let start = buffer.start.as_ptr();
                let fixed =
                    self.registered_chunks.get(usize::from(buffer.chunk)).is_some_and(|is| *is);
                // RWF_DSYNC is FUA if the device has it, or a flush after the write (pwritev2(2)).
                let flags = if submission.durable { libc::RWF_DSYNC } else { 0 };
                match (operation, fixed) {
                    (Operation::Read, true) => {
                        opcode::ReadFixed::new(file, start, length, buffer.chunk)
                            .offset(offset)
                            .build()
                    }
                    (Operation::Read, false) => {
                        opcode::Read::new(file, start, length).offset(offset).build()
                    }
                    (_, true) => opcode::WriteFixed::new(file, start, length, buffer.chunk)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                    (_, false) => opcode::Write::new(file, start, length)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                }
            }
        };
        entry.user_data(u64::from(submission.slot))
    }
}

fn build(depth: u32) -> io::Result<IoUring> {
    let mut refusal = None;
    for setup in SETUPS {
        let mut builder = IoUring::<squeue::Entry, cqueue::Entry>::builder();
        builder.dontfork().setup_clamp();
        setup(&mut builder);
        match builder.build(depth) {
            Ok(ring) => return Ok(ring),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.expect("at least one set-up was tried"))
}

/// Ignores errors that only end a wait: a timeout, a signal, or a kernel that lacks a resource
/// until completions are reaped. The worker's next turn reaps and submits again.
fn forgive(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
            _ => Err(error),
        },
        Ok(_) => Ok(()),
    }
}

impl Backend for Uring {
    #[inline]
    fn now(&mut self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn push(&mut self, submission: &Submission) {
        match self.helpers {
            Helpers::PerSpareCpu(_) if submission.operation != Operation::Flush => {
                self.own.push_back(*submission);
            }
            _ => self.push_to_ring(submission),
        }
    }

    fn submit(&mut self) -> io::Result<()> {
        // Requests that this thread shares with helpers are divided when it enters.
        if matches!(self.helpers, Helpers::PerSpareCpu(_)) {
            return Ok(());
        }
        self.submissions.sync();
        let submitted = self.submitter.submit();
        self.submissions.sync();
        forgive(submitted)
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        if let Helpers::PerSpareCpu(helpers) = self.helpers {
            self.deal(helpers as usize);
        }
        let until = if self.own.is_empty() { wait.until } else { wait.now };
        let entered = self.hand_over(Wait { until, ..wait });
        self.help();
        entered
    }

    fn reap(&mut self, done: &mut Vec<Completion>, limit: usize) {
        done.extend(self.own_done.drain(..));
        self.completions.sync();
        if self.completions.is_empty() {
            return;
        }
        let at = self.clock.now();
        let before = done.len();
        for entry in self.completions.by_ref().take(limit) {
            let Ok(slot) = u32::try_from(entry.user_data()) else {
                // The poll has completed.
                self.watch.iter_mut().for_each(|watch| watch.is_armed = false);
                continue;
            };
            done.push(Completion { slot, result: entry.result(), at });
        }
        self.in_ring -= done.len() - before;
        self.completions.sync();
    }

    fn add_chunk(&mut self, chunk: u16, start: NonNull<u8>, length: usize) {
        let Some(registered) = self.registered_chunks.get_mut(usize::from(chunk)) else { return };
        let memory = libc::iovec { iov_base: start.as_ptr().cast(), iov_len: length };
        // SAFETY: the arena keeps the chunk mapped for the ring's life or leaks it.
        // A refusal (the limit on locked memory) only means unregistered I/O.
        *registered = unsafe {
            self.submitter.register_buffers_update(u32::from(chunk), &[memory], None).is_ok()
        };
    }

    fn cpu(&mut self) -> Nanos {
        clock::thread_cpu()
    }

    fn burn(&mut self, span: Nanos) {
        self.clock.burn(span);
    }
}

/// Boxed ring, freed when both halves of the queue are gone.
struct OwnedRing(NonNull<IoUring>);

impl Drop for OwnedRing {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak` in `Uring::new` and not freed before; `Uring` drops
        // everything that borrows from it first.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
