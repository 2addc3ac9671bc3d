//! What a run tells its observer while it goes on, and how it is asked to stop.
//!
//! An observer is called between slices on the thread that judges, never on a worker, and
//! must return soon; it cannot slow the load down, only the judging.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use run_store::gauge::Readings;
use run_store::run::{Disturbance, Step, Warning};
use run_store::series::StepKey;
use run_store::slice::{Slice, Topology};
use units::{Bytes, Nanos};

/// Something happened.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The plan is resolved and the target has passed preflight; nothing is written yet.
    Planned(&'a Overview),
    /// Disks are being filled.
    Prefill {
        /// Bytes written so far.
        done: Bytes,
        /// Bytes to write.
        total: Bytes,
        /// Bytes per second over the last moment.
        bytes_per_s: f64,
    },
    /// A quick search knows its edge roughly and goes on with larger disks.
    LargerDisks {
        /// Most tiles that held with the smaller disks.
        held: u32,
        /// Least tiles above them that did not.
        failed: u32,
        /// Bytes of a tile's disks until now.
        before: Bytes,
        /// Bytes of a tile's disks from now on.
        after: Bytes,
    },
    /// A step begins.
    StepBegins {
        /// Tiles in it.
        tiles: u32,
        /// Virtual machines in it.
        vms: u32,
        /// Which repeat, from 1.
        repeat: u32,
        /// Of how many.
        repeats: u32,
        /// How long it takes at most, warm-up included.
        at_most: Nanos,
    },
    /// A slice of the step has been measured and stored: the whole of it, also of the time
    /// after the measured window, for those who keep a copy. A [`Progress::Tick`] follows while
    /// the step is judged.
    Slice {
        /// Which part of which step.
        key: StepKey,
        /// Who is who in it.
        topology: &'a Topology,
        /// The slice.
        slice: &'a Slice,
        /// What the machine, the device and a model did in it.
        readings: &'a Readings,
    },
    /// A slice of the step has been measured.
    Tick(&'a Tick),
    /// A step is judged.
    StepEnds(&'a Step),
    /// Something a reader should know.
    Warning(&'a Warning),
    /// The run directory is complete.
    Finished {
        /// Where it is.
        directory: PathBuf,
    },
}

/// What will be done, before anything is.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The run's id.
    pub id: String,
    /// The target, as given.
    pub datastore: String,
    /// One line about it a person recognises.
    pub target_summary: String,
    /// The tile's name.
    pub tile: String,
    /// VMs in one tile.
    pub vms_per_tile: u32,
    /// Bytes of disks in one tile, after scaling.
    pub bytes_per_tile: Bytes,
    /// Bytes the run may write as files at most.
    pub capacity: Option<Bytes>,
    /// Most tiles the ladder can reach.
    pub tiles_max: u32,
    /// What the ladder does, in words.
    pub ladder: String,
    /// How long one step takes at most, all repeats.
    pub step_at_most: Nanos,
    /// How much the whole run is, as far as that is known.
    pub whole: Whole,
    /// The seed.
    pub seed: u64,
    /// Whether storage and time are a model.
    pub is_simulated: bool,
    /// Where the run directory will be.
    pub directory: PathBuf,
}

/// How much a run is, before it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// It ends by the clock: no step is begun that would end later.
    Time(Nanos),
    /// So many runs of steps at most.
    Runs(u32),
    /// Until the edge is known: so many runs at the edge at least.
    Search(u32),
}

/// One slice, for a live view.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Time since the step's start.
    pub elapsed: Nanos,
    /// Whether the measured window has begun.
    pub is_measured: bool,
    /// Time left of the warm-up's cap or of the measured window.
    pub left: Nanos,
    /// Whether the window goes on beyond what was asked for, because it did not decide.
    pub is_longer: bool,
    /// I/Os per second in the slice.
    pub operations_per_s: f64,
    /// Calls answered well per second in the slice; none of a tile that makes no calls.
    pub calls_per_s: Option<f64>,
    /// Share of them that are reads, 0 to 1.
    pub read_share: f64,
    /// Bytes per second in the slice.
    pub bytes_per_s: f64,
    /// 99th percentile of the I/Os' service time in the slice; of the calls' without I/O.
    pub service_p99: Option<Nanos>,
    /// Busiest worker's CPU share, 0 to 1.
    pub worker_cpu: f64,
    /// Per limit, worst tile: what it is, measured so far in the window, and the limit.
    pub limits: Vec<LimitSoFar>,
    /// Whose work is in the way in the measured window so far.
    pub disturbances: Vec<Disturbance>,
}

/// A limit while it is being measured: the tile that is worst so far.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitSoFar {
    /// `shop order p95`.
    pub name: String,
    /// Measured so far; none without samples.
    pub measured: Option<Nanos>,
    /// The limit.
    pub limit: Nanos,
}

impl LimitSoFar {
    /// Measured as a share of the limit; 0 without samples.
    pub fn share(&self) -> f64 {
        let limit = self.limit.as_secs_f64().max(1e-9);
        self.measured.map_or(0.0, |time| time.as_secs_f64() / limit)
    }
}

/// Receives what happens.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Progress<'_>);
}

/// An observer that looks away.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&mut self, _: &Progress<'_>) {}
}

/// How a run is asked to stop, from a signal handler or another thread.
#[derive(Debug, Default)]
pub struct Control {
    /// How often it was asked.
    asked: AtomicU8,
    is_out_of_time: AtomicBool,
}

/// What a run was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Go on.
    GoOn,
    /// End soon: finish what is in flight, remove our files, write a partial result.
    Stop,
    /// End at once: remove what can be removed quickly, promise nothing.
    Abort,
}

impl Control {
    /// Asks to stop; asked twice, to abort. Safe in a signal handler.
    pub fn interrupt(&self) {
        let _ = self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            Some(count.saturating_add(1))
        });
    }

    /// Ends it as [`Control::interrupt`] does, for the time that it may take is over: what was done is
    /// an answer then, and no interrupted one.
    pub fn end_for_time(&self) {
        self.is_out_of_time.store(true, Ordering::Relaxed);
    }

    /// Whether time, and nobody, has ended it.
    pub fn is_out_of_time(&self) -> bool {
        self.is_out_of_time.load(Ordering::Relaxed) && self.asked.load(Ordering::Relaxed) == 0
    }

    /// What is asked now.
    pub fn request(&self) -> Request {
        match self.asked.load(Ordering::Relaxed) {
            0 if self.is_out_of_time.load(Ordering::Relaxed) => Request::Stop,
            0 => Request::GoOn,
            1 => Request::Stop,
            _ => Request::Abort,
        }
    }
}

/// A time that is only estimated: `12 s`, `4 min`, `1 h 10 min`.
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
