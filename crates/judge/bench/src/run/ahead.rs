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

/// Who simulates steps before a run comes to them.
pub trait Foresee: Sync {
    /// Steps that are simulated at the same time.
    fn threads(&self) -> NonZeroUsize;

    /// What the load of a step says, for this repeat (from 0); nothing if it could not be had: then the run
    /// simulates the step itself, and hears why.
    fn foresee(&self, tiles: u32, repeat: u32) -> Option<Foreseen>;

    /// Ends what goes on: nobody wants it any more.
    fn end(&self);
}

/// Threads of this process. They share warmed tiers.
#[derive(Debug)]
pub struct Here {
    stage: Stage,
    array: Array,
    threads: NonZeroUsize,
    warmed: Warmed,
    control: Control,
}

impl Here {
    /// So many threads, for a plan on an array.
    ///
    /// # Errors
    ///
    /// When a workload has no reference.
    pub fn new(
        plan: &ResolvedPlan,
        array: Array,
        threads: NonZeroUsize,
    ) -> Result<Self, BenchError> {
        let stage = Stage::of(plan)?;
        Ok(Self { stage, array, threads, warmed: Warmed::default(), control: Control::default() })
    }

    /// What a step comes to.
    ///
    /// # Errors
    ///
    /// As [`Stage::step`].
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

/// The steps of a range, each handed out once, and what they came to.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    /// Tiles and repeat, in the order in which a run comes to them.
    points: Vec<(u32, u32)>,
    /// So many are begun or known and not yet wanted, at most: each is megabytes.
    most: usize,
    state: Mutex<State>,
    has_changed: Condvar,
    control: &'a Control,
}

#[derive(Debug, Default)]
struct State {
    /// The next one to be begun.
    next: usize,
    /// The one that the run has come to.
    wanted: usize,
    /// What is known and not yet wanted; nothing of one that could not be had.
    known: BTreeMap<usize, Option<Foreseen>>,
    is_over: bool,
}

/// How often somebody who waits looks whether he is still wanted.
const LOOK: Duration = Duration::from_millis(50);

impl<'a> Ahead<'a> {
    /// The steps of a plan with a range; a search has none that are known before.
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

    /// Works through the steps, beside others who do.
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

    /// Nothing more is begun.
    fn end(&self) {
        self.state().is_over = true;
        self.has_changed.notify_all();
    }
}

/// Ends both when the run is over, however it ends.
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
            // One that nobody has begun is ours: a step that is run again, say.
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

/// A step that somebody works on; whatever becomes of him, it is known then.
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
