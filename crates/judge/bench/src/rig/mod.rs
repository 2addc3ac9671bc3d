//! Drivers of load: the engine on a datastore, or a simulation on a modelled array.

mod export;
#[cfg(test)]
pub mod fake;
mod foreseen;
mod holding;
mod host_event;
mod host_load;
mod machines;
mod over;
mod prefilled;
mod real;
mod real_load;
mod services;
mod simulated;
mod speed;
mod through;
mod tile_servers;
mod warmed;

pub use self::over::{Over, OverLoad};
pub use crate::error::Failure;
pub use engine::{Carried, MoveError, Orders};
pub use foreseen::{Foreseen, ForeseenSlice, Foresight};
pub use host_event::HostEvent;
pub use host_load::HostLoad;
pub use machines::{Machines, check as check_machines};
pub use prefilled::Prefilled;
pub use real::{RealRig, Reopen, SecondStore, clocks};
pub use real_load::RealLoad;
pub use services::{Passwords, Services, reach};
pub use sim::plant::PlantError;
pub use simulated::{SimLoad, SimRig, VIRTUAL_TIME};
pub use through::{Through, TierSpec, TierSpecError};
pub use tile_servers::check as check_applications;
pub use warmed::{SharedState, WarmKey, Warmed};

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use meter::Panel;
use run_store::gauge::GaugeSource;
use run_store::run::{Disturbance, MeterEnergy, MeterFacts, ModelFacts, Warning};
use run_store::slice::Slice;
use serde::{Deserialize, Serialize};
use stats::Compact;
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::fleet::{DiskNeed, Driven, StepOrder};
use crate::plan::ResolvedPlan;
use crate::progress::{Control, Request};
use crate::tile_load::TileLoad;
use bystanders::HostWatch;

/// Two clocks whose difference shows a step of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// Monotonic clock, in nanoseconds from any start.
    pub monotonic_ns: i128,
    /// The wall clock, in nanoseconds since 1970.
    pub realtime_ns: i128,
}

/// Progress of a prefill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillSoFar {
    /// Bytes written so far.
    pub done: Bytes,
    /// Bytes to write in total.
    pub total: Bytes,
    /// Current speed, in bytes per second.
    pub bytes_per_s: f64,
}

/// Provider of disks that drives load on them.
pub trait Rig {
    /// A load under way.
    type Load: Load;

    /// Current time by both clocks.
    fn clocks(&self) -> Clocks;

    /// Time of day, as results have it.
    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Bytes that all disks together may take.
    fn capacity(&self) -> Bytes;

    /// Most tiles of this load whose disks fit.
    fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        load.fits(self.capacity(), None)
    }

    /// Makes missing disks and writes each once. Returns the figures of the prefill; `None` if no
    /// disk was new. `progress` returns false to end the prefill early.
    fn prepare(
        &mut self,
        disks: &[DiskNeed],
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError>;

    /// Removes all disks during a run, so that [`Rig::prepare`] makes new ones of other sizes.
    /// Returns false, without a change, if the rig cannot do that.
    ///
    /// # Errors
    ///
    /// The disks could not be removed, or their datastore could not be claimed again.
    fn renew_disks(&mut self) -> Result<bool, BenchError> {
        Ok(false)
    }

    /// Reads everything back that was written and verified. Returns the findings in words, if there
    /// is verification; wrong blocks are an error.
    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        Ok(None)
    }

    /// Watch on the host that makes the load; `None` if no host does.
    fn watch(&self) -> Option<HostWatch> {
        None
    }

    /// More gauges that are read with every slice of a step.
    fn meters(&self) -> Vec<Box<dyn GaugeSource>> {
        Vec::new()
    }

    /// Power meters, which run from step to step; `None` without meters.
    fn power(&self) -> Option<Arc<Panel>> {
        None
    }

    /// Facts about modelled supplies; empty without a model.
    fn supplies(&self) -> Vec<MeterFacts> {
        Vec::new()
    }

    /// True if time passes without load, so that storage can rest.
    fn can_rest(&self) -> bool {
        false
    }

    /// Lets storage and host rest without load, until the time is over or a user asks to stop.
    fn rest(&self, time: Nanos, control: &Control) {
        if !self.can_rest() {
            return;
        }
        let until = Instant::now() + Duration::from_nanos(time.0);
        while Instant::now() < until && control.request() == Request::GoOn {
            let left = until.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// Starts the load of an order, on prepared disks. Only data is passed, so that it can also be
    /// driven on other hosts.
    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<Self::Load, BenchError>;
}

/// A rig that drives given state machines, without a plan.
pub trait Drives: Rig {
    /// Starts the load on prepared disks.
    fn drive(&mut self, load: Vec<Driven>) -> Result<Self::Load, BenchError>;
}

/// Next message of a load.
#[derive(Debug)]
pub enum Received {
    /// A slice was completed.
    Slice(Slice),
    /// The time is over without a message.
    Nothing,
    /// The load has ended; there are no more slices.
    Ended,
    /// The load cannot continue; there are no more slices.
    Failed(BenchError),
}

/// A load under way. Its gauges are what its storage reports about itself; real storage reports
/// nothing.
pub trait Load: GaugeSource {
    /// Waits for the next slice, at most this long.
    fn next(&mut self, wait: Duration) -> Received;

    /// Marks the begin of the measured time. Real storage does not need the mark.
    fn mark(&mut self) {}

    /// Facts about modelled parts since the mark; `None` for real storage.
    fn model(&mut self) -> Option<ModelFacts> {
        None
    }

    /// Energy of modelled supplies since the mark; empty for real storage, which has meters.
    fn energy(&mut self) -> Vec<MeterEnergy> {
        Vec::new()
    }

    /// Facts about each host's part since the mark, in the plan's order; empty if only this host
    /// drives.
    fn hosts(&mut self) -> Vec<HostLoad> {
        Vec::new()
    }

    /// Events of hosts so far, in the order of their begin.
    fn events(&mut self) -> Vec<HostEvent> {
        Vec::new()
    }

    /// Position of the driving host of each tile, at the end of the slice that was handed out last;
    /// `None` while no tile has moved.
    fn driven_by(&mut self) -> Option<Vec<usize>> {
        None
    }

    /// Begin of the load by this host's monotonic clock: time 0 of its slices. `None` in virtual
    /// time.
    fn began(&self) -> Option<Nanos> {
        None
    }

    /// Alignment of the storage's requests, in bytes.
    fn unit(&self) -> Bytes {
        Bytes::new(512)
    }

    /// Error of the driver itself that is the cause of any failed I/O.
    fn cause(&mut self) -> Option<BenchError> {
        None
    }

    /// Stops new I/O, and lets I/Os in flight end.
    fn stop(&mut self);

    /// Waits for the end of the load.
    fn finish(self) -> Result<LoadOutcome, BenchError>;

    /// Leaves the load as it is, because the program is about to end.
    fn abandon(self);
}

/// Outcome of a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// Number of I/Os submitted.
    pub submitted: u64,
    /// Number of I/Os completed, including failed ones.
    pub completed: u64,
    /// Failed I/Os, by disk.
    pub failures: Vec<Failure>,
    /// Blocks that did not hold what was written to them, in words.
    pub mismatches: Vec<String>,
    /// Most I/Os in flight per worker.
    pub depth: u32,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
    /// I/O backend, as results name it.
    pub backend: String,
    /// Time from the first event to the last answer.
    pub elapsed: Nanos,
    /// CPU time of the whole process meanwhile, in user mode and in the kernel, in seconds; `None`
    /// if no process was driven.
    pub cpu_s: Option<(f64, f64)>,
    /// Delay of submissions behind their due times; empty in virtual time.
    pub handed_over_late: Compact,
    /// Disturbances on the driving hosts, if this host does not drive.
    pub disturbances: Vec<Disturbance>,
}
