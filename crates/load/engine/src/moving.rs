//! Instances that move from a running load to another one, and loads that pause.
//!
//! Between two I/Os, a worker's whole state of an instance is data: the saved state machine, the
//! events that it awaits (timers, CPU bursts, pending completions), and requests that were not
//! submitted yet. Times count from the start of the load, so they have the same meaning in two
//! loads whose clocks start at the same moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use datastore::VirtualDisk;
use serde::{Deserialize, Serialize};
use state_machine::{Event, IoError, IoRequest, Token};
use units::Nanos;

use crate::clock::Clock;
use crate::verify::{Setup, StateError, Tracker};

/// State of an instance that moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// Saved state machine (`Machine::saved`).
    pub(crate) machine: Vec<u8>,
    /// Timers, sorted by due time.
    pub(crate) timers: Vec<(Nanos, Token, Fire)>,
    /// CPU bursts, with the remaining time of each.
    pub(crate) bursts: Vec<(Token, Nanos)>,
    /// Requests that were not submitted yet.
    pub(crate) waiting: Vec<IoRequest>,
    /// Events that arrived while the instance was paused.
    pub(crate) events: Vec<Event>,
    /// Time at which the instance was paused.
    pub left: Nanos,
}

/// Event that a timer delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fire {
    Timer,
    Ran,
    Failed(IoError),
}

/// Reason why an instance was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The load has no instance of this number.
    #[error("the load has no instance {0}")]
    Unknown(u32),
    /// The instance is not driven by this load, or is already leaving it.
    #[error("instance {0} is not on this host")]
    Absent(u32),
    /// The instance is already driven by this load.
    #[error("instance {0} is already on this host")]
    Present(u32),
    /// The state machine cannot be saved, or is of another kind.
    #[error("the state machine of instance {0} cannot continue on another host")]
    Machine(u32),
    /// The load has ended.
    #[error("the load has ended")]
    Ended,
    /// The I/Os of the instance did not complete in time.
    #[error("the I/Os of instance {0} did not complete within 30 s")]
    Unanswered(u32),
    /// The verification state of its disks cannot be used.
    #[error("tracking writes for verification failed: {0}")]
    Verify(#[from] StateError),
    /// The verification state of its disks could not be handed over.
    #[error("transferring the state of verification failed: {0}")]
    Sync(#[source] std::io::Error),
}

/// Order to a worker.
pub(crate) enum Order {
    Take { instance: u32, to: Sender<Result<(Carried, Vec<Tracker>), MoveError>> },
    Put { put: Box<Put>, to: Sender<Result<Nanos, MoveError>> },
    Stand { until: Nanos },
}

/// Instance to be put into a load.
pub(crate) struct Put {
    pub instance: u32,
    /// State to resume from; `None` starts anew.
    pub carried: Option<Carried>,
    /// Trackers of its disks, in order; empty without verification.
    pub trackers: Vec<Tracker>,
}

/// Receiving end of a worker's order channel.
pub(crate) struct OrderLine {
    orders: Receiver<Order>,
    has_some: Arc<AtomicBool>,
}

impl OrderLine {
    /// Returns the next order, if there is one.
    #[inline]
    pub fn next(&self) -> Option<Order> {
        if !self.has_some.load(Ordering::Relaxed) {
            return None;
        }
        // Cleared before the queue is read: an order that arrives in between sets it again.
        self.has_some.store(false, Ordering::Release);
        let next = self.orders.try_recv().ok()?;
        self.has_some.store(true, Ordering::Release);
        Some(next)
    }
}

/// Sending end of a worker's order channel.
#[derive(Debug, Clone)]
pub(crate) struct ToWorker {
    orders: Sender<Order>,
    has_some: Arc<AtomicBool>,
}

impl ToWorker {
    pub fn new() -> (Self, OrderLine) {
        let (sender, orders) = channel();
        let has_some = Arc::new(AtomicBool::new(false));
        (Self { orders: sender, has_some: Arc::clone(&has_some) }, OrderLine { orders, has_some })
    }

    fn tell(&self, order: Order) -> Result<(), MoveError> {
        self.orders.send(order).map_err(|_| MoveError::Ended)?;
        self.has_some.store(true, Ordering::Release);
        Ok(())
    }
}

/// Handle to move instances of a running load, and to pause or abort the load. Instances are
/// numbered in the order given to [`crate::start`].
#[derive(Debug, Clone)]
pub struct Orders(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    workers: Vec<Mutex<ToWorker>>,
    homes: Vec<Home>,
    clock: Clock,
    stop: Arc<AtomicBool>,
    lost: Arc<AtomicBool>,
}

/// Worker of an instance, and the data that the instance needs when it arrives.
#[derive(Debug)]
pub(crate) struct Home {
    pub worker: usize,
    /// Number of the instance within its worker.
    pub local: u32,
    pub disks: Vec<VirtualDisk>,
    pub verify: Option<Setup>,
}

/// Maximum wait for the I/Os in flight of an instance that leaves. Our choice: the same as at the
/// end of a load.
const ANSWERS_MAX: Duration = Duration::from_secs(30);
/// Maximum wait for another host to release the verification state of a disk. A host that lost
/// power holds it until its I/Os have completed.
const HELD_MAX: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

impl Orders {
    pub(crate) fn new(
        workers: Vec<ToWorker>,
        homes: Vec<Home>,
        clock: Clock,
        (stop, lost): (Arc<AtomicBool>, Arc<AtomicBool>),
    ) -> Self {
        let workers = workers.into_iter().map(Mutex::new).collect();
        Self(Arc::new(Inner { workers, homes, clock, stop, lost }))
    }

    /// Returns the time since the load began.
    pub fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    /// Takes an instance out of the load. It issues no further requests, its I/Os in flight
    /// complete, and its state is returned. Other instances continue.
    ///
    /// # Errors
    /// If it is not in this load, cannot be saved, or its I/Os do not complete in time.
    pub fn take(&self, instance: u32) -> Result<Carried, MoveError> {
        let home = self.home(instance)?;
        let (to, taken) = channel();
        self.tell(home.worker, Order::Take { instance: home.local, to })?;
        let (carried, trackers) = match taken.recv_timeout(ANSWERS_MAX) {
            Ok(taken) => taken.map_err(|error| error.of(instance))?,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                return Err(MoveError::Unanswered(instance));
            }
            Err(_) => return Err(MoveError::Ended),
        };
        for tracker in trackers {
            tracker.hand_over().map_err(MoveError::Sync)?;
        }
        Ok(carried)
    }

    /// Puts an instance into the load, with its state or anew. Returns the time at which it starts
    /// to run.
    ///
    /// # Errors
    /// If it is already in this load, was of another kind, or the verification state of its disks
    /// cannot be used.
    pub fn put(&self, instance: u32, carried: Option<Carried>) -> Result<Nanos, MoveError> {
        let home = self.home(instance)?;
        let trackers = match &home.verify {
            Some(setup) => {
                home.disks.iter().map(|disk| follow(setup, disk)).collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        let (to, put) = channel();
        let order = Put { instance: home.local, carried, trackers };
        self.tell(home.worker, Order::Put { put: Box::new(order), to })?;
        put.recv().map_err(|_| MoveError::Ended)?.map_err(|error| error.of(instance))
    }

    /// Pauses all workers until this time of the load. Completions are only seen after the pause.
    ///
    /// # Errors
    /// If the load has ended.
    pub fn stand_still(&self, until: Nanos) -> Result<(), MoveError> {
        (0..self.0.workers.len()).try_for_each(|worker| self.tell(worker, Order::Stand { until }))
    }

    /// Ends the load like a power cut: no instance gets another event, and writes in flight are
    /// never acknowledged.
    pub fn lose(&self) {
        self.0.lost.store(true, Ordering::Release);
        self.0.stop.store(true, Ordering::Release);
    }

    fn home(&self, instance: u32) -> Result<&Home, MoveError> {
        self.0.homes.get(instance as usize).ok_or(MoveError::Unknown(instance))
    }

    fn tell(&self, worker: usize, order: Order) -> Result<(), MoveError> {
        self.0.workers[worker].lock().unwrap_or_else(PoisonError::into_inner).tell(order)
    }
}

impl MoveError {
    /// Returns advice on what to try next.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Verify(error) => error.hint(),
            _ => None,
        }
    }

    /// Replaces the instance number by its number in the load, because a worker only knows its own
    /// number.
    fn of(self, instance: u32) -> Self {
        match self {
            Self::Absent(_) => Self::Absent(instance),
            Self::Present(_) => Self::Present(instance),
            Self::Machine(_) => Self::Machine(instance),
            other => other,
        }
    }
}

/// Starts tracking a disk that another host may have tracked so far.
fn follow(setup: &Setup, disk: &VirtualDisk) -> Result<Tracker, StateError> {
    let until = Instant::now() + HELD_MAX;
    loop {
        match Tracker::open(setup, disk) {
            Err(StateError::Locked { .. }) if Instant::now() < until => std::thread::sleep(LOOK),
            other => return other,
        }
    }
}
