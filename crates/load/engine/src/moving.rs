//! Instances that move from a running load to another one, and loads that pause.
//!
//! Between two I/Os, all of a worker's state of an instance is data: the saved state machine, the
//! events that it was promised (timers, CPU bursts, completions that came meanwhile), and requests
//! that were not submitted yet. Times count from the start of the load, so they mean the same in
//! two loads whose clocks begin at one moment.

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
    /// Timers with their due times, in that order.
    pub(crate) timers: Vec<(Nanos, Token, Fire)>,
    /// CPU bursts, and the rest of each.
    pub(crate) bursts: Vec<(Token, Nanos)>,
    /// Requests that were not submitted yet.
    pub(crate) waiting: Vec<IoRequest>,
    /// Events that arrived while the instance stood still.
    pub(crate) events: Vec<Event>,
    /// Time since which the instance has stood still.
    pub left: Nanos,
}

/// Event that a timer delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fire {
    Timer,
    Ran,
    Failed(IoError),
}

/// Reason why an instance did not move.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The load has no instance of this number.
    #[error("the load has no instance {0}")]
    Unknown(u32),
    /// The instance is not driven by this load, or is leaving it already.
    #[error("instance {0} is not there")]
    Absent(u32),
    /// The instance is driven by this load already.
    #[error("instance {0} is there already")]
    Present(u32),
    /// The state machine cannot be saved, or is of another kind.
    #[error("the machine of instance {0} cannot go on elsewhere")]
    Machine(u32),
    /// The load has ended.
    #[error("the load has ended")]
    Ended,
    /// The I/Os of the instance were not answered in time.
    #[error("the I/Os of instance {0} were not answered within 30 s")]
    Unanswered(u32),
    /// The verification state of its disks cannot be used.
    #[error("following what is written failed: {0}")]
    Verify(#[from] StateError),
    /// The verification state of its disks could not be handed over.
    #[error("handing over what was written failed: {0}")]
    Sync(#[source] std::io::Error),
}

/// Order to a worker.
pub(crate) enum Order {
    Take { instance: u32, to: Sender<Result<(Carried, Vec<Tracker>), MoveError>> },
    Put { put: Box<Put>, to: Sender<Result<Nanos, MoveError>> },
    Stand { until: Nanos },
}

/// Instance that arrives.
pub(crate) struct Put {
    pub instance: u32,
    /// State to go on from; `None` begins anew.
    pub carried: Option<Carried>,
    /// Trackers of its disks, in order; none without verification.
    pub trackers: Vec<Tracker>,
}

/// Worker's end of the line of orders.
pub(crate) struct OrderLine {
    orders: Receiver<Order>,
    has_some: Arc<AtomicBool>,
}

impl OrderLine {
    /// Next order, if there is one.
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

/// Sender's end of the line of orders.
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

/// Moves instances of a running load, pauses it, or loses it. Instances are numbered in the order
/// given to [`crate::start`].
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

/// Place of an instance, and what it needs when it arrives.
#[derive(Debug)]
pub(crate) struct Home {
    pub worker: usize,
    /// Number of the instance within its worker.
    pub local: u32,
    pub disks: Vec<VirtualDisk>,
    pub verify: Option<Setup>,
}

/// Longest wait for I/Os in flight of an instance that leaves. Our choice: the same as for a load
/// that ends.
const ANSWERS_MAX: Duration = Duration::from_secs(30);
/// Longest wait for another host to release the verification state of a disk. A host that lost its
/// power holds it until its I/Os have ended.
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

    /// Time since the load began.
    pub fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    /// Takes an instance out of the load: it asks for nothing more, its I/Os in flight are
    /// answered, and its state is returned. Other instances go on.
    ///
    /// # Errors
    /// If it is not here, cannot be saved, or is not answered in time.
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

    /// Puts an instance into the load, or begins it anew. Returns the time from which on it runs.
    ///
    /// # Errors
    /// If it is here already, was of another kind, or the verification state of its disks cannot be
    /// used.
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

    /// Pauses all workers until this time of the load. Completions are seen after it.
    ///
    /// # Errors
    /// If the load has ended.
    pub fn stand_still(&self, until: Nanos) -> Result<(), MoveError> {
        (0..self.0.workers.len()).try_for_each(|worker| self.tell(worker, Order::Stand { until }))
    }

    /// Ends the load as a power cut would: no instance gets an event any more, and a write without
    /// an answer stays unanswered.
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
    /// Advice on what to try next.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Verify(error) => error.hint(),
            _ => None,
        }
    }

    /// Puts in the number of the instance in the load, because a worker knows only its own number.
    fn of(self, instance: u32) -> Self {
        match self {
            Self::Absent(_) => Self::Absent(instance),
            Self::Present(_) => Self::Present(instance),
            Self::Machine(_) => Self::Machine(instance),
            other => other,
        }
    }
}

/// Starts tracking a disk that another host may have tracked until now.
fn follow(setup: &Setup, disk: &VirtualDisk) -> Result<Tracker, StateError> {
    let until = Instant::now() + HELD_MAX;
    loop {
        match Tracker::open(setup, disk) {
            Err(StateError::Locked { .. }) if Instant::now() < until => std::thread::sleep(LOOK),
            other => return other,
        }
    }
}
