//! What carries the load out: the engine on a datastore, or a simulation on a modelled array.

#[cfg(test)]
pub mod fake;
mod foreseen;
mod holding;
mod host_event;
mod host_load;
mod machines;
mod prefilled;
mod real;
mod real_load;
mod simulated;
mod through;
mod warmed;

pub use crate::error::Failure;
pub use engine::{Carried, MoveError, Orders};
pub use foreseen::{Foreseen, ForeseenSlice, Foresight};
pub use host_event::HostEvent;
pub use host_load::HostLoad;
pub use machines::{Machines, check as check_machines};
pub use prefilled::Prefilled;
pub use real::{RealRig, Reopen, SecondStore, Services, clocks, reach};
pub use real_load::RealLoad;
pub use sim::plant::PlantError;
pub use simulated::{SimLoad, SimRig, VIRTUAL_TIME};
pub use through::{Through, TierSpec, TierSpecError};
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

/// The two clocks whose difference shows a clock step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// A clock that never steps, in nanoseconds from any start.
    pub monotonic_ns: i128,
    /// The wall clock, in nanoseconds since 1970.
    pub realtime_ns: i128,
}

/// How far a prefill is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillSoFar {
    /// Bytes written so far.
    pub done: Bytes,
    /// Bytes to write.
    pub total: Bytes,
    /// Speed over the last moment.
    pub bytes_per_s: f64,
}

/// Provides disks and drives load on them.
pub trait Rig {
    /// A load under way.
    type Load: Load;

    /// The time now.
    fn clocks(&self) -> Clocks;

    /// The time of day, as results name it.
    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Bytes that disks may take altogether.
    fn capacity(&self) -> Bytes;

    /// Most tiles of this load whose disks fit.
    fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        load.fits(self.capacity(), None)
    }

    /// Makes the disks that do not exist yet and writes each once. What the prefill came to,
    /// or nothing if no disk was new. `progress` returns false to end it early.
    fn prepare(
        &mut self,
        disks: &[DiskNeed],
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError>;

    /// Removes all disks during a run, so that [`Rig::prepare`] makes new ones of other sizes. Whether it can: if not,
    /// nothing changed.
    ///
    /// # Errors
    ///
    /// When they could not be removed, or what held them could not be claimed again.
    fn renew_disks(&mut self) -> Result<bool, BenchError> {
        Ok(false)
    }

    /// Reads back everything that was written and verified. What was found, in words, if
    /// there is verification; blocks that are wrong are an error.
    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        Ok(None)
    }

    /// Looks at the machine on which the load is made; nothing where that is none.
    fn watch(&self) -> Option<HostWatch> {
        None
    }

    /// What else is read beside every slice of a step.
    fn meters(&self) -> Vec<Box<dyn GaugeSource>> {
        Vec::new()
    }

    /// Meters of watts, which go on from step to step; none where nobody asked for any.
    fn power(&self) -> Option<Arc<Panel>> {
        None
    }

    /// What is to be said of modelled supplies; none where nothing is modelled.
    fn supplies(&self) -> Vec<MeterFacts> {
        Vec::new()
    }

    /// Whether time passes while nothing is asked of the storage, so that it can rest.
    fn can_rest(&self) -> bool {
        false
    }

    /// Lets storage and machine rest without load, until somebody wants to stop.
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

    /// Starts the load that an order means, on disks that are prepared. Nothing but data is
    /// handed over, so that it may as well be done elsewhere.
    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<Self::Load, BenchError>;
}

/// A rig that drives machines which are here, of a load that no plan describes.
pub trait Drives: Rig {
    /// Starts it, on disks that are prepared.
    fn drive(&mut self, load: Vec<Driven>) -> Result<Self::Load, BenchError>;
}

/// What came next from a load.
#[derive(Debug)]
pub enum Received {
    /// A slice.
    Slice(Slice),
    /// Nothing in the time given.
    Nothing,
    /// The load has ended; there are no more slices.
    Ended,
    /// The load cannot go on; there are no more slices.
    Failed(BenchError),
}

/// A load under way. What its storage says of itself are its gauges: real storage says nothing.
pub trait Load: GaugeSource {
    /// The next slice, waiting for it at most this long.
    fn next(&mut self, wait: Duration) -> Received;

    /// The measured time begins now. Real storage is not told.
    fn mark(&mut self) {}

    /// What modelled parts did since the mark; nothing on real storage, which does not say.
    fn model(&mut self) -> Option<ModelFacts> {
        None
    }

    /// What modelled supplies gave since the mark; nothing on real storage, which has meters.
    fn energy(&mut self) -> Vec<MeterEnergy> {
        Vec::new()
    }

    /// What each host that drives a part did since the mark, in the plan's order; none where it is
    /// all driven here.
    fn hosts(&mut self) -> Vec<HostLoad> {
        Vec::new()
    }

    /// What happened to hosts so far, in the order in which it was begun.
    fn events(&mut self) -> Vec<HostEvent> {
        Vec::new()
    }

    /// The position of the host that drives each tile at the end of the slice that was handed out last;
    /// nothing while each is where it was placed.
    fn driven_by(&mut self) -> Option<Vec<usize>> {
        None
    }

    /// When it began, by this machine's steady clock: time 0 of its slices. Nothing in virtual time.
    fn began(&self) -> Option<Nanos> {
        None
    }

    /// The unit in which the storage takes requests.
    fn unit(&self) -> Bytes {
        Bytes::new(512)
    }

    /// Asks it to end: no new I/O, answers for those in flight.
    fn stop(&mut self);

    /// Waits for the end.
    fn finish(self) -> Result<LoadOutcome, BenchError>;

    /// Leaves it to itself, whatever it still does: the program is about to end.
    fn abandon(self);
}

/// What a load came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// I/Os handed to the storage.
    pub submitted: u64,
    /// I/Os answered, failed ones included.
    pub completed: u64,
    /// Failed I/Os, disk by disk.
    pub failures: Vec<Failure>,
    /// Blocks that did not hold what was written to them, in words.
    pub mismatches: Vec<String>,
    /// I/Os each worker could have in flight.
    pub depth: u32,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
    /// What moved the data.
    pub backend: String,
    /// From the first event to the last answer.
    pub elapsed: Nanos,
    /// CPU time of the whole process meanwhile, in user mode and in the kernel, in seconds;
    /// nothing where no process was driven.
    pub cpu_s: Option<(f64, f64)>,
    /// By how much I/Os were handed to the storage after they were due; empty where time is
    /// virtual.
    pub handed_over_late: Compact,
    /// Whose work was in the way where it was driven, if that is not here.
    pub disturbances: Vec<Disturbance>,
}
