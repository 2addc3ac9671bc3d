//! Drivers of load: the engine on a datastore, or a simulation of a modelled array.

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
mod silence;
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
pub use services::{Logins, Services, reach};
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
    /// Monotonic clock, in nanoseconds since any origin.
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

/// Provider of disks that also drives load on them.
pub trait Rig {
    /// A load in progress.
    type Load: Load;

    /// Returns the current time of both clocks.
    fn clocks(&self) -> Clocks;

    /// Returns the time of day in the form used in results.
    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Returns the maximum total size of all disks.
    fn capacity(&self) -> Bytes;

    /// Returns the maximum number of tiles of this load whose disks fit.
    fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        load.fits(self.capacity(), None)
    }

    /// Creates missing disks and writes each once. Returns the figures of the prefill; `None` if no
    /// disk was new. If `progress` returns false, the prefill ends early.
    fn prepare(
        &mut self,
        disks: &[DiskNeed],
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError>;

    /// Removes all disks during a run, so that [`Rig::prepare`] creates new ones of other sizes.
    /// Returns false, and changes nothing, if the rig cannot do that.
    ///
    /// # Errors
    ///
    /// The disks could not be removed, or their datastore could not be claimed again.
    fn renew_disks(&mut self) -> Result<bool, BenchError> {
        Ok(false)
    }

    /// Reads back everything that was written with verification. Returns the result in words;
    /// `None` without verification. Wrong blocks are an error.
    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        Ok(None)
    }

    /// Returns true if tiles may move without an event of the plan, because something balances the
    /// load of the hosts.
    fn is_balanced(&self) -> bool {
        false
    }

    /// Returns a watch over the host that generates the load; `None` if no host does.
    fn watch(&self) -> Option<HostWatch> {
        None
    }

    /// Returns further gauges, which are read with every slice of a step.
    fn meters(&self) -> Vec<Box<dyn GaugeSource>> {
        Vec::new()
    }

    /// Returns the power meters, which run continuously over all steps; `None` without meters.
    fn power(&self) -> Option<Arc<Panel>> {
        None
    }

    /// Returns facts about modelled supplies; empty without a model.
    fn supplies(&self) -> Vec<MeterFacts> {
        Vec::new()
    }

    /// Returns true if time passes without load, so that storage can rest.
    fn can_rest(&self) -> bool {
        false
    }

    /// Waits without load so that storage and host can rest, until the time is over or a user
    /// requests a stop.
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

    /// Starts the load of an order, on prepared disks. Only data is passed, so the load can also be
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
    /// A completed slice.
    Slice(Slice),
    /// The wait ended without a message.
    Nothing,
    /// The load has ended. No more slices follow.
    Ended,
    /// The load cannot continue. No more slices follow.
    Failed(BenchError),
}

/// A load in progress. As a gauge source, it returns what its storage reports about itself. Real
/// storage reports nothing.
pub trait Load: GaugeSource {
    /// Waits for the next message, at most for `wait`.
    fn next(&mut self, wait: Duration) -> Received;

    /// Marks the start of the measurement. Real storage does not need the mark.
    fn mark(&mut self) {}

    /// Returns facts about modelled parts since the mark; `None` for real storage.
    fn model(&mut self) -> Option<ModelFacts> {
        None
    }

    /// Returns the energy of modelled supplies since the mark; empty for real storage, which has
    /// meters.
    fn energy(&mut self) -> Vec<MeterEnergy> {
        Vec::new()
    }

    /// Returns facts about each host's share since the mark, in the plan's order; empty if only
    /// this host drives.
    fn hosts(&mut self) -> Vec<HostLoad> {
        Vec::new()
    }

    /// Returns events of hosts so far, in order of their start.
    fn events(&mut self) -> Vec<HostEvent> {
        Vec::new()
    }

    /// Returns the position of the driving host of each tile, at the end of the last slice that was
    /// handed out; `None` while no tile has moved.
    fn driven_by(&mut self) -> Option<Vec<usize>> {
        None
    }

    /// Returns the start of the load by this host's monotonic clock, which is time 0 of its slices.
    /// `None` in virtual time.
    fn began(&self) -> Option<Nanos> {
        None
    }

    /// Returns the alignment of the storage's requests, in bytes.
    fn unit(&self) -> Bytes {
        Bytes::new(512)
    }

    /// Returns the driver's own error that caused failed I/Os, if there is one.
    fn cause(&mut self) -> Option<BenchError> {
        None
    }

    /// Stops new I/O, and lets I/Os in flight complete.
    fn stop(&mut self);

    /// Waits until the load has ended.
    fn finish(self) -> Result<LoadOutcome, BenchError>;

    /// Leaves the load unfinished, because the program is about to exit.
    fn abandon(self);
}

/// Totals and errors of a load that has ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// Number of I/Os submitted.
    pub submitted: u64,
    /// Number of I/Os completed, including failed ones.
    pub completed: u64,
    /// Failed I/Os, by disk.
    pub failures: Vec<Failure>,
    /// Blocks whose content differs from the last write, in words.
    pub mismatches: Vec<String>,
    /// Maximum number of I/Os in flight per worker.
    pub depth: u32,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
    /// Name of the I/O backend in results.
    pub backend: String,
    /// Time from the first event to the last completion.
    pub elapsed: Nanos,
    /// CPU time of the whole process during the load, in user mode and in the kernel, in seconds;
    /// `None` if no process was driven.
    pub cpu_s: Option<(f64, f64)>,
    /// Delays of submissions after their due times; empty in virtual time.
    pub handed_over_late: Compact,
    /// Disturbances on the driving hosts, if this host does not drive.
    pub disturbances: Vec<Disturbance>,
}
