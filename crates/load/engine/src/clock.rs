use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use units::Nanos;

/// Clock of the run: `CLOCK_MONOTONIC` (read through the vDSO), counted from one origin that all
/// workers share.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Arc<AtomicU64>,
}

impl Clock {
    /// Creates a clock whose zero is now.
    pub fn start() -> Self {
        Self { origin: Arc::new(AtomicU64::new(monotonic().0)) }
    }

    /// Sets the zero of this clock and all its clones to now. Call it only before the clock is
    /// used.
    pub(crate) fn restart(&self) {
        self.origin.store(monotonic().0, Ordering::Release);
    }

    /// Sets the zero of this clock and all its clones to this time of the monotonic clock. The time
    /// may be in the past, because clocks of other hosts start there. Call it only before the clock
    /// is used.
    pub(crate) fn begin_at(&self, at: Nanos) {
        self.origin.store(at.0, Ordering::Release);
    }

    /// Returns the time since the origin.
    #[inline]
    pub fn now(&self) -> Nanos {
        monotonic().saturating_sub(Nanos(self.origin.load(Ordering::Relaxed)))
    }

    /// Keeps the calling thread busy for a span of elapsed time.
    pub(crate) fn burn(&self, span: Nanos) {
        let end = self.now().saturating_add(span);
        while self.now() < end {
            std::hint::spin_loop();
        }
    }
}

fn monotonic() -> Nanos {
    read(ClockId::Monotonic)
}

/// Sleeps until this time of the monotonic clock. Returns the lateness of the wake-up.
pub fn wait_until(at: Nanos) -> Nanos {
    // A sleep may end 50 us late by default, to save power.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let seconds = i64::try_from(at.0 / Nanos::SECOND.0).unwrap_or(i64::MAX);
    let nanos = i64::try_from(at.0 % Nanos::SECOND.0).unwrap_or(0);
    let until = Timespec { tv_sec: seconds, tv_nsec: nanos };
    // Signals interrupt the sleep.
    while monotonic() < at && clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {}
    // Restores the thread's default.
    let _ = rustix::thread::set_current_timer_slack(None);
    monotonic().saturating_sub(at)
}

/// Returns the CPU time of the calling thread, user and system.
pub(crate) fn thread_cpu() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

#[inline]
fn read(id: ClockId) -> Nanos {
    let time = clock_gettime(id);
    // Neither clock is ever negative.
    Nanos(time.tv_sec.unsigned_abs() * Nanos::SECOND.0 + time.tv_nsec.unsigned_abs())
}

/// CPU time of the whole process, user and system, including the kernel's helper threads of the
/// ring.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessCpu {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
}

impl ProcessCpu {
    pub(crate) fn now() -> Self {
        // SAFETY: rusage is plain numbers, for which all zeroes is a value; the pointer is
        // valid for the call.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        Self { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { user_s: self.user_s - before.user_s, system_s: self.system_s - before.system_s }
    }
}

#[expect(clippy::cast_precision_loss, reason = "CPU seconds are far below 2^53")]
fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
