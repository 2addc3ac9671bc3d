use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use units::Nanos;

use crate::backend::{Backend, Completion, Submission, Wait};
use crate::blocking;
use crate::clock::{self, Clock};

/// Maximum number of threads that one worker starts. Further requests wait for a free thread.
const THREADS_MAX: usize = 128;

/// Backend for hosts that refuse io_uring: threads that block in `pread`, `pwrite` and `fdatasync`.
/// It works everywhere, but costs more per request, and its timing is only as exact as a thread
/// switch.
pub(crate) struct Threads {
    clock: Clock,
    shared: Arc<Shared>,
    queued: Vec<Submission>,
    depth: usize,
    in_flight: usize,
    pool: Vec<JoinHandle<()>>,
    watcher: Option<JoinHandle<()>>,
}

struct Shared {
    clock: Clock,
    files: Vec<Arc<File>>,
    state: Mutex<State>,
    work: Condvar,
    answers: Condvar,
    /// Signals that the worker has handled the watched file.
    looked: Condvar,
}

#[derive(Default)]
struct State {
    work: VecDeque<Submission>,
    done: VecDeque<Completion>,
    want: usize,
    /// True if the watched file is readable.
    is_called: bool,
    closed: bool,
}

impl State {
    fn is_idle(&self) -> bool {
        self.done.is_empty() && !self.is_called
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No statement that can panic leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    pub(crate) fn new(
        clock: Clock,
        files: Vec<Arc<File>>,
        watched: Option<Arc<OwnedFd>>,
        depth: u32,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            clock: clock.clone(),
            files,
            state: Mutex::default(),
            work: Condvar::new(),
            answers: Condvar::new(),
            looked: Condvar::new(),
        });
        let watcher = watched.map(|watched| {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("tilemark-calls".to_owned());
            thread.spawn(move || watch(&shared, &watched))
        });
        Ok(Self {
            watcher: watcher.transpose()?,
            clock,
            shared,
            queued: Vec::with_capacity(depth as usize),
            depth: depth as usize,
            in_flight: 0,
            pool: Vec::new(),
        })
    }

    /// Starts threads until there is one per request, up to the limits.
    fn staff(&mut self) -> io::Result<()> {
        while self.pool.len() < self.in_flight.min(self.depth).min(THREADS_MAX) {
            let shared = Arc::clone(&self.shared);
            let thread =
                std::thread::Builder::new().name("tilemark-io".to_owned()).stack_size(128 << 10);
            match thread.spawn(move || serve(&shared)) {
                Ok(handle) => self.pool.push(handle),
                Err(error) if self.pool.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(())
    }
}

/// Interval at which the watcher checks if the run has ended.
const WATCH_POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Wakes the worker whenever the watched file is readable. After a wake-up, waits until the worker
/// has handled the file.
fn watch(shared: &Shared, watched: &OwnedFd) {
    loop {
        let ready = poll(&mut [PollFd::new(watched, PollFlags::IN)], Some(&WATCH_POLL));
        let mut state = shared.lock();
        if ready.is_ok_and(|ready| ready > 0) {
            state.is_called = true;
            shared.answers.notify_one();
        }
        let looked = shared.looked.wait_while(state, |state| state.is_called && !state.closed);
        if looked.unwrap_or_else(PoisonError::into_inner).closed {
            return;
        }
    }
}

fn serve(shared: &Shared) {
    loop {
        let mut state = shared.lock();
        let submission = loop {
            if let Some(submission) = state.work.pop_front() {
                break submission;
            }
            if state.closed {
                return;
            }
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let result = blocking::carry_out(&shared.files[submission.file as usize], &submission);
        let answer = Completion { slot: submission.slot, result, at: shared.clock.now() };
        let mut state = shared.lock();
        state.done.push_back(answer);
        if state.done.len() >= state.want {
            shared.answers.notify_one();
        }
    }
}

impl Backend for Threads {
    fn now(&mut self) -> Nanos {
        self.clock.now()
    }

    fn push(&mut self, submission: &Submission) {
        self.queued.push(*submission);
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        self.in_flight += self.queued.len();
        self.staff()?;
        let mut state = self.shared.lock();
        for submission in self.queued.drain(..) {
            state.work.push_back(submission);
            self.shared.work.notify_one();
        }
        state.want = 1;
        let span = wait.until.saturating_sub(wait.now).to_duration();
        if !span.is_zero() && state.is_idle() {
            let waited = self.shared.answers.wait_timeout_while(state, span, |s| s.is_idle());
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        Ok(())
    }

    fn reap(&mut self, done: &mut Vec<Completion>, limit: usize) {
        let mut state = self.shared.lock();
        let count = state.done.len().min(limit);
        done.extend(state.done.drain(..count));
        self.in_flight -= count;
        if std::mem::take(&mut state.is_called) {
            self.shared.looked.notify_one();
        }
    }

    fn add_chunk(&mut self, _chunk: u16, _start: NonNull<u8>, _length: usize) {}

    fn cpu(&mut self) -> Nanos {
        clock::thread_cpu()
    }

    fn burn(&mut self, span: Nanos) {
        self.clock.burn(span);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        self.shared.looked.notify_one();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        for handle in self.pool.drain(..) {
            // A thread that is stuck in the kernel is left behind; the arena is leaked too.
            if self.in_flight == 0 {
                let _ = handle.join();
            }
        }
    }
}
