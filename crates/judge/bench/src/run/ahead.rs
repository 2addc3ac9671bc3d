use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use spec::array::Array;

use crate::error::BenchError;
use crate::fleet::round;
use crate::ladder::Climb;
use crate::plan::ResolvedPlan;
use crate::progress::{Control, Request};
use crate::rig::{Foreseen, Foresight, Warmed};
use crate::simulate::Stage;

/// Simulator that computes steps before the run reaches them.
pub trait Foresee: Sync {
    /// Returns the number of steps that are simulated concurrently.
    fn threads(&self) -> NonZeroUsize;

    /// Returns the load of a step for this repeat (counted from 0). `None` if it could not be
    /// computed: the run simulates the step itself, and gets the error.
    fn foresee(&self, tiles: u32, repeat: u32) -> Option<Foreseen>;

    /// Stops all work, because its results are no longer needed.
    fn end(&self);
}

/// Simulator with threads of this process, which share warmed tiers.
#[derive(Debug)]
pub struct Here {
    stage: Stage,
    array: Array,
    threads: NonZeroUsize,
    warmed: Warmed,
    control: Control,
}

impl Here {
    /// Creates a simulator with this many threads, for a plan on an array.
    ///
    /// # Errors
    ///
    /// A workload has no reference.
    pub fn new(
        plan: &ResolvedPlan,
        array: Array,
        threads: NonZeroUsize,
    ) -> Result<Self, BenchError> {
        let stage = Stage::of(plan)?;
        Ok(Self { stage, array, threads, warmed: Warmed::default(), control: Control::default() })
    }

    /// Computes the load of a step.
    ///
    /// # Errors
    ///
    /// Errors of [`Stage::step`].
    pub fn step(&self, tiles: u32, repeat: u32) -> Result<Foreseen, BenchError> {
        self.stage.foresee(&self.array, (tiles, repeat), &self.control, &self.warmed)
    }
}

impl Foresee for Here {
    fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    fn foresee(&self, tiles: u32, repeat: u32) -> Option<Foreseen> {
        self.step(tiles, repeat).ok()
    }

    fn end(&self) {
        self.control.interrupt();
    }
}

/// Steps of a range, each of which is started once, with their loads.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    /// Tiles and repeat of each step, in the order in which the run reaches them.
    points: Vec<(u32, u32)>,
    /// Maximum number of steps that are started or complete before the run needs them. Each takes
    /// megabytes.
    most: usize,
    state: Mutex<State>,
    has_changed: Condvar,
    control: &'a Control,
}

#[derive(Debug, Default)]
struct State {
    /// Position of the next step to start.
    next: usize,
    /// Position of the step that the run has reached.
    wanted: usize,
    /// Loads that the run has not reached, by position; `None` for one that could not be computed.
    known: BTreeMap<usize, Option<Foreseen>>,
    is_over: bool,
}

/// Interval at which a waiting thread checks if the run has ended.
const LOOK: Duration = Duration::from_millis(50);

impl<'a> Ahead<'a> {
    /// Returns the steps of a plan with a range; `None` for a search, whose steps are not known in
    /// advance.
    pub fn of(plan: &ResolvedPlan, threads: NonZeroUsize, control: &'a Control) -> Option<Self> {
        let (Climb::Range { first, last } | Climb::Every { first, last }) = plan.climb else {
            return None;
        };
        let repeats = plan.repeats;
        let points = (first..=last).flat_map(|tiles| (0..repeats).map(move |at| (tiles, at)));
        let (state, has_changed) = (Mutex::default(), Condvar::new());
        Some(Self {
            points: points.collect(),
            most: 2 * threads.get(),
            state,
            has_changed,
            control,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes steps until none is left. Several threads may call it.
    pub fn work(&self, by: &dyn Foresee) {
        while let Some(mut begun) = self.begin() {
            let (tiles, repeat) = self.points[begun.at];
            begun.foreseen = by.foresee(tiles, repeat);
        }
    }

    fn begin(&self) -> Option<Begun<'_, 'a>> {
        let mut state = self.state();
        loop {
            state.next = state.next.max(state.wanted);
            let at = state.next;
            if state.is_over || at >= self.points.len() {
                return None;
            }
            if at < state.wanted + self.most {
                state.next += 1;
                return Some(Begun { all: self, at, foreseen: None });
            }
            state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stops starting steps.
    fn end(&self) {
        self.state().is_over = true;
        self.has_changed.notify_all();
    }
}

/// Guard that stops both when the run is over, also after an error or panic.
pub(super) struct Ending<'s>(pub &'s Ahead<'s>, pub &'s dyn Foresee);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
        self.1.end();
    }
}

impl Foresight for Ahead<'_> {
    fn of(&self, tiles: u32, wanted: u64) -> Option<Foreseen> {
        let is_it =
            |&(other, repeat): &(u32, u32)| other == tiles && round(other, repeat) == wanted;
        let at = self.points.iter().position(is_it)?;
        let mut state = self.state();
        state.wanted = state.wanted.max(at);
        state.known.retain(|known, _| *known >= at);
        self.has_changed.notify_all();
        loop {
            if let Some(foreseen) = state.known.remove(&at) {
                return foreseen;
            }
            // A step that no thread has started is run here, for example a repeated step.
            if at >= state.next {
                state.next = at + 1;
                return None;
            }
            if self.control.request() != Request::GoOn {
                return None;
            }
            let waited = self.has_changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A step that a thread is computing. Dropping it marks the step as done, also after a panic.
struct Begun<'s, 'a> {
    all: &'s Ahead<'a>,
    at: usize,
    foreseen: Option<Foreseen>,
}

impl Drop for Begun<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.all.state();
        if self.at >= state.wanted {
            state.known.insert(self.at, self.foreseen.take());
        }
        drop(state);
        self.all.has_changed.notify_all();
    }
}
