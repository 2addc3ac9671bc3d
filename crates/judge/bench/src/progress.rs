//! Messages of a run to its observer, and requests to stop a run.
//!
//! An observer is called between slices on the judging thread, never on a worker, and must return
//! soon. A slow observer only delays the judging, not the load.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use run_store::gauge::Readings;
use run_store::run::{Disturbance, Step, Warning};
use run_store::series::StepKey;
use run_store::slice::{Slice, Topology};
use units::{Bytes, Nanos};

/// Message of a run.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The plan is resolved and the target has passed preflight. Nothing is written yet.
    Planned(&'a Overview),
    /// Progress of filling the disks.
    Prefill {
        /// Bytes written so far.
        done: Bytes,
        /// Bytes to write in total.
        total: Bytes,
        /// Current speed, in bytes per second.
        bytes_per_s: f64,
    },
    /// A quick search has a rough estimate of its edge, and continues with larger disks.
    LargerDisks {
        /// Largest number of tiles at which all limits were met with the smaller disks.
        held: u32,
        /// Smallest number of tiles above `held` that failed.
        failed: u32,
        /// Size of a tile's disks so far.
        before: Bytes,
        /// Size of a tile's disks from now on.
        after: Bytes,
    },
    /// A step begins.
    StepBegins {
        /// Tiles of the step.
        tiles: u32,
        /// Virtual machines of the step.
        vms: u32,
        /// Number of the repeat, counted from 1.
        repeat: u32,
        /// Number of repeats in total.
        repeats: u32,
        /// Maximum duration, including the warm-up.
        at_most: Nanos,
    },
    /// A slice of the step was measured and stored. Slices after the measurement window are
    /// included, for observers that keep a copy. During the step, a [`Progress::Tick`] follows.
    Slice {
        /// Step, repeat and phase of the slice.
        key: StepKey,
        /// Names of the step's VMs and instances.
        topology: &'a Topology,
        /// Slice as it was stored.
        slice: &'a Slice,
        /// Gauges of the host, the device and a model.
        readings: &'a Readings,
    },
    /// Figures of a slice for a live view.
    Tick(&'a Tick),
    /// A step was judged.
    StepEnds(&'a Step),
    /// Warning for the user.
    Warning(&'a Warning),
    /// The run directory is complete.
    Finished {
        /// Path of the run directory.
        directory: PathBuf,
    },
}

/// Overview of a run before its start.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Identifier of the run.
    pub id: String,
    /// Datastore as given.
    pub datastore: String,
    /// One-line description of the target.
    pub target_summary: String,
    /// Name of the tile.
    pub tile: String,
    /// Virtual machines per tile.
    pub vms_per_tile: u32,
    /// Size of the disks per tile, after scaling.
    pub bytes_per_tile: Bytes,
    /// Maximum number of bytes in files that the run may write; `None` if unlimited.
    pub capacity: Option<Bytes>,
    /// Maximum number of tiles that the ladder can reach.
    pub tiles_max: u32,
    /// Strategy of the ladder, in words.
    pub ladder: String,
    /// Maximum duration of a step with all repeats.
    pub step_at_most: Nanos,
    /// Extent of the whole run, as far as it is known.
    pub whole: Whole,
    /// Seed of the run.
    pub seed: u64,
    /// True for a simulation.
    pub is_simulated: bool,
    /// Path of the future run directory.
    pub directory: PathBuf,
}

/// Extent of a run, before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// Time limit: no step starts that would end later.
    Time(Nanos),
    /// Maximum number of step runs.
    Runs(u32),
    /// A search until the edge is known, with at least this many runs at the edge.
    Search(u32),
}

/// Figures of a slice for a live view.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Time since the start of the step.
    pub elapsed: Nanos,
    /// True if the measurement window has begun.
    pub is_measured: bool,
    /// Time left until the warm-up's limit or the end of the measurement window.
    pub left: Nanos,
    /// True if the window was extended because the results were undecided.
    pub is_longer: bool,
    /// I/Os per second in the slice.
    pub operations_per_s: f64,
    /// Successful calls per second in the slice; `None` for a tile without calls.
    pub calls_per_s: Option<f64>,
    /// Share of reads in the I/Os, 0 to 1.
    pub read_share: f64,
    /// Bytes per second in the slice.
    pub bytes_per_s: f64,
    /// 99th percentile of service times in the slice: of I/Os, or of calls if there is no I/O.
    pub service_p99: Option<Nanos>,
    /// CPU share of the busiest worker, 0 to 1.
    pub worker_cpu: f64,
    /// Each limit with its worst tile: name, value measured so far, and limit.
    pub limits: Vec<LimitSoFar>,
    /// Disturbances by other programs in the measurement window so far.
    pub disturbances: Vec<Disturbance>,
}

/// State of a limit during the measurement, in its worst tile so far.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitSoFar {
    /// Name of the limit, such as `shop order p95`.
    pub name: String,
    /// Value measured so far; `None` without samples.
    pub measured: Option<Nanos>,
    /// Limit for the measured value.
    pub limit: Nanos,
}

impl LimitSoFar {
    /// Returns the measured value as a share of the limit; 0 without samples.
    pub fn share(&self) -> f64 {
        let limit = self.limit.as_secs_f64().max(1e-9);
        self.measured.map_or(0.0, |time| time.as_secs_f64() / limit)
    }
}

/// Receiver of a run's messages.
pub trait Observer {
    /// Handles a message.
    fn event(&mut self, event: &Progress<'_>);
}

/// An observer that ignores all messages.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&mut self, _: &Progress<'_>) {}
}

/// Handle to stop a run from a signal handler or another thread.
#[derive(Debug, Default)]
pub struct Control {
    /// Number of requests to stop.
    asked: Arc<AtomicU8>,
    is_out_of_time: AtomicBool,
}

/// Current request to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Continue the run.
    GoOn,
    /// Stop soon: complete I/Os in flight, remove this program's files, write a partial result.
    Stop,
    /// Abort at once: remove only files that can be removed quickly, without a guarantee.
    Abort,
}

impl Control {
    /// Requests a stop. A second call requests an abort. Safe in a signal handler.
    pub fn interrupt(&self) {
        let _ = self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            Some(count.saturating_add(1))
        });
    }

    /// Ends the run because its time is up. It stops as after [`Control::interrupt`], but the
    /// result counts as an answer and not as interrupted.
    pub fn end_for_time(&self) {
        self.is_out_of_time.store(true, Ordering::Relaxed);
    }

    /// Returns the number of requests to stop, for work that cannot see this control.
    pub fn requests(&self) -> Arc<AtomicU8> {
        Arc::clone(&self.asked)
    }

    /// Returns true if the run was ended because its time was up, and not by a user.
    pub fn is_out_of_time(&self) -> bool {
        self.is_out_of_time.load(Ordering::Relaxed) && self.asked.load(Ordering::Relaxed) == 0
    }

    /// Returns the current request to the run.
    pub fn request(&self) -> Request {
        match self.asked.load(Ordering::Relaxed) {
            0 if self.is_out_of_time.load(Ordering::Relaxed) => Request::Stop,
            0 => Request::GoOn,
            1 => Request::Stop,
            _ => Request::Abort,
        }
    }
}

/// Formats an estimated time: `12 s`, `4 min`, `1 h 10 min`.
pub fn about(time: Nanos) -> String {
    let seconds = time.0.div_ceil(1_000_000_000);
    match (seconds, seconds.div_ceil(60)) {
        (0..100, _) => format!("{seconds} s"),
        (_, minutes @ 0..100) => format!("{minutes} min"),
        (_, minutes) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_once_it_stops_and_asked_again_it_aborts() {
        let control = Control::default();
        assert_eq!(control.request(), Request::GoOn);
        control.end_for_time();
        assert_eq!((control.request(), control.is_out_of_time()), (Request::Stop, true));
        control.interrupt();
        assert_eq!((control.request(), control.is_out_of_time()), (Request::Stop, false));
        control.interrupt();
        control.interrupt();
        assert_eq!(control.request(), Request::Abort);
    }
}
