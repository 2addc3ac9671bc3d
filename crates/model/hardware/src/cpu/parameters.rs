use units::{Nanos, Ratio};

use crate::error::{Check, ParameterError};

/// Order in which ready virtual CPUs get a core's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunOrder {
    /// The virtual machine that has used least of its share comes first; shares are numbers of
    /// virtual CPUs.
    #[default]
    Shares,
    /// First come, first served, one time slice each, whichever virtual machine they belong to.
    Turns,
}

/// A host's processors.
///
/// With `n` running threads, a host does `min(n, cores)` cores' worth of work. Each thread beyond
/// the number of cores, up to a second one on every core, adds `threads - 1` of a core. The total
/// is limited to `capacity` of `cores * threads`; work beyond the limit waits and is ready time.
/// All running threads have the same pace, because over a time slice a scheduler moves them about,
/// so that none stays on a shared core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuParameters {
    /// Number of cores, at least 1.
    pub cores: u32,
    /// Pace of a core: a burst takes its cost divided by this, above 0. The costs of the shipped
    /// workloads are for a core of 2.9 GHz of about 2012.
    pub speed: f64,
    /// Work that two threads on one core do together, as a multiple of the work of a single thread:
    /// 1 (no hyper-threading) to 2. Intel's own figure for its processors is up to 1.3 (Marr et
    /// al., Intel Technology Journal 6(1), 2002, tables 2 to 4: 1.16 to 1.28 on server loads).
    pub threads: f64,
    /// Largest usable share of the work that all cores could do, above 0 to 1. Published
    /// consolidation runs on a hyper-converged cluster level off at 84 % while more load is
    /// offered.
    pub capacity: Ratio,
    /// Longest time that a virtual CPU runs while others are ready, above zero. 50 ms is the value
    /// published for the ESX scheduler.
    pub slice: Nanos,
    /// Order in which virtual CPUs get threads when cores are short.
    pub order: RunOrder,
    /// Run queues of threads; if absent, one queue serves all threads.
    pub thread_queues: Option<ThreadQueueParameters>,
}

const CHECK: Check = Check("host CPU");

impl CpuParameters {
    /// Returns a host with this many cores of speed 1, one thread on each, full capacity, time
    /// slices of 50 ms, and order by shares.
    pub const fn cores(cores: u32) -> Self {
        let slice = Nanos::from_millis(50);
        Self {
            cores,
            speed: 1.0,
            threads: 1.0,
            capacity: Ratio::ONE,
            slice,
            order: RunOrder::Shares,
            thread_queues: None,
        }
    }

    /// Returns the maximum work of all threads together, in cores of speed 1.
    pub fn work_max(&self) -> f64 {
        f64::from(self.cores) * self.threads * self.capacity.get()
    }

    /// Returns the work of `count` threads together, in cores, before it is limited by `capacity`.
    pub(super) fn unlimited(&self, count: u32) -> f64 {
        let second = count.saturating_sub(self.cores).min(self.cores);
        f64::from(count.min(self.cores)) + f64::from(second) * (self.threads - 1.0)
    }

    /// Returns the smallest number of threads that does all the work the host can do.
    pub(super) fn threads_max(&self) -> u32 {
        let enough = |count: &u32| self.unlimited(*count) >= self.work_max();
        (1..2 * self.cores).find(enough).unwrap_or(2 * self.cores)
    }

    /// Returns the share of a core's pace that each of `count` running threads has, above 0 to 1.
    pub(super) fn pace(&self, count: u32) -> f64 {
        self.unlimited(count).min(self.work_max()) / f64::from(count.max(1))
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let Self { cores, speed, threads, capacity, slice, order: _, thread_queues } = *self;
        if let Some(own) = thread_queues {
            own.check()?;
        }
        CHECK.that(
            (1..=1 << 16).contains(&cores),
            "cores",
            cores,
            "at least 1 and at most 65536",
        )?;
        CHECK.that(speed.is_finite() && speed > 0.0, "speed", speed, "above 0 and finite")?;
        CHECK.that((1.0..=2.0).contains(&threads), "threads", threads, "from 1 to 2")?;
        let is_share = capacity > Ratio::ZERO && capacity <= Ratio::ONE;
        CHECK.that(is_share, "capacity", capacity, "above 0 % and at most 100 %")?;
        CHECK.that(slice > Nanos::ZERO, "slice", slice, "above 0 s")
    }
}

/// How virtual CPUs wait for threads of their own. The defaults are those of ESXi 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadQueueParameters {
    /// Number of other threads that a move looks at. If it is not less than the number of threads,
    /// no thread idles while a virtual CPU waits.
    pub search: u32,
    /// Interval at which queues are balanced, above 0.
    pub rebalance: Nanos,
    /// Lead over the slowest sibling at which a virtual CPU is stopped; 0 for none.
    pub co_stop: Nanos,
    /// Lead up to which a stopped virtual CPU runs again, at most `co_stop`.
    pub co_start: Nanos,
    /// Interval at which leads are compared, above 0.
    pub check: Nanos,
}

impl Default for ThreadQueueParameters {
    fn default() -> Self {
        Self {
            search: 4,
            rebalance: Nanos::from_millis(20),
            co_stop: Nanos::from_millis(3),
            co_start: Nanos::from_millis(2),
            check: Nanos::from_millis(1),
        }
    }
}

const THREAD_QUEUES: Check = Check("thread queues");

impl ThreadQueueParameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Self { search: _, rebalance, co_stop, co_start, check } = *self;
        THREAD_QUEUES.that(rebalance > Nanos::ZERO, "rebalance", rebalance, "above 0 s")?;
        THREAD_QUEUES.that(co_start <= co_stop, "co-start", co_start, "at most co-stop")?;
        THREAD_QUEUES.that(check > Nanos::ZERO, "check", check, "above 0 s")
    }
}
