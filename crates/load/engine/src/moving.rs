//! Instances that leave a load under way and go on in another one, and a load that stands still.
//!
//! Everything a worker knows of an instance is data between two of its I/Os: what its machine has become,
//! what that was promised (timers, CPU bursts, answers that came meanwhile) and what it asked for and
//! nobody was given yet. Times in it count from the start of the load, so that two loads whose clocks
//! begin at one moment mean the same by them.

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

/// An instance on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// What its machine has become (`Machine::saved`).
    pub(crate) machine: Vec<u8>,
    /// Timers, each with when it is due, in that order.
    pub(crate) timers: Vec<(Nanos, Token, Fire)>,
    /// CPU bursts, and how much of each is left.
    pub(crate) bursts: Vec<(Token, Nanos)>,
    /// Requests that nobody was given yet.
    pub(crate) waiting: Vec<IoRequest>,
    /// What happened while it stood still.
    pub(crate) events: Vec<Event>,
    /// Since when it has stood still.
    pub left: Nanos,
}

/// What a timer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fire {
    Timer,
    Ran,
    Failed(IoError),
}

/// Why an instance did not move.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// It is not one of the load's.
    #[error("the load has no instance {0}")]
    Unknown(u32),
    /// It is where it is, or it is not.
    #[error("instance {0} is not there")]
    Absent(u32),
    /// It is where it is to go.
    #[error("instance {0} is there already")]
    Present(u32),
    /// Its machine cannot be saved, or is of another kind.
    #[error("the machine of instance {0} cannot go on elsewhere")]
    Machine(u32),
    /// The load has ended.
    #[error("the load has ended")]
    Ended,
    /// Its I/Os were not answered in time.
    #[error("the I/Os of instance {0} were not answered within 30 s")]
    Unanswered(u32),
    /// What is known of its disks cannot be used.
    #[error("following what is written failed: {0}")]
    Verify(#[from] StateError),
    /// What is known of its disks could not be handed over.
    #[error("handing over what was written failed: {0}")]
    Sync(#[source] std::io::Error),
}

/// What a worker is told.
pub(crate) enum Order {
    Take { instance: u32, to: Sender<Result<(Carried, Vec<Tracker>), MoveError>> },
    Put { put: Box<Put>, to: Sender<Result<Nanos, MoveError>> },
    Stand { until: Nanos },
}

/// An instance that arrives.
pub(crate) struct Put {
    pub instance: u32,
    /// None begins anew.
    pub carried: Option<Carried>,
    /// Of its disks, in order; none without verification.
    pub trackers: Vec<Tracker>,
}

/// The worker's end.
pub(crate) struct OrderLine {
    orders: Receiver<Order>,
    has_some: Arc<AtomicBool>,
}

impl OrderLine {
    /// The next order, if there is one.
    #[inline]
    pub fn next(&self) -> Option<Order> {
        if !self.has_some.load(Ordering::Relaxed) {
            return None;
        }
        // Before it is looked at: one that comes meanwhile sets it again.
        self.has_some.store(false, Ordering::Release);
        let next = self.orders.try_recv().ok()?;
        self.has_some.store(true, Ordering::Release);
        Some(next)
    }
}

/// The other end of it.
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

/// Tells a load under way what to do with its instances. Instances are numbered as they were given to
/// [`crate::start`].
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

/// Where an instance is, and what it needs when it comes.
#[derive(Debug)]
pub(crate) struct Home {
    pub worker: usize,
    /// Its number there.
    pub local: u32,
    pub disks: Vec<VirtualDisk>,
    pub verify: Option<Setup>,
}

/// How long I/Os in flight of an instance that leaves are waited for. Our choice: as long as those of a
/// load that ends.
const ANSWERS_MAX: Duration = Duration::from_secs(30);
/// How long somebody else may still hold what is known of a disk: a host that lost its power does so
/// until its I/Os have ended.
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

    /// Takes an instance out: it asks for nothing more, what it has in flight is answered, and all that
    /// it has become is returned. Others go on.
    ///
    /// # Errors
    /// When it is not there, cannot be saved, or is not answered in time.
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

    /// Puts an instance in, or lets it begin anew here, now; since when it goes on.
    ///
    /// # Errors
    /// When it is there already, was of another kind, or what is known of its disks cannot be used.
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

    /// All workers stand still until this moment of the load; answers are seen after it.
    ///
    /// # Errors
    /// When the load has ended.
    pub fn stand_still(&self, until: Nanos) -> Result<(), MoveError> {
        (0..self.0.workers.len()).try_for_each(|worker| self.tell(worker, Order::Stand { until }))
    }

    /// Ends the load as a power cut would: nobody is told of anything any more, and a write without an
    /// answer has none.
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
    /// The same, of an instance by its number in the load.
    fn of(self, instance: u32) -> Self {
        match self {
            Self::Absent(_) => Self::Absent(instance),
            Self::Present(_) => Self::Present(instance),
            Self::Machine(_) => Self::Machine(instance),
            other => other,
        }
    }
}

/// Follows a disk that somebody else may have followed until now.
fn follow(setup: &Setup, disk: &VirtualDisk) -> Result<Tracker, StateError> {
    let until = Instant::now() + HELD_MAX;
    loop {
        match Tracker::open(setup, disk) {
            Err(StateError::Locked { .. }) if Instant::now() < until => std::thread::sleep(LOOK),
            other => return other,
        }
    }
}
