//! Queues for receivers that get each message once: web hooks and programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use http_client::Address;

use super::receiver::{Reports, Timing};
use super::trouble::{Problem, SendError};
use crate::program::Program;

/// Maximum number of messages that wait for a receiver. Our choice: more simultaneous alarms than
/// anybody reads.
const WAITING_MAX: usize = 256;
/// Maximum number of attempts at a message. With the usual pauses they take half a minute, in
/// addition to the waiting for answers.
const ATTEMPTS: u32 = 6;
/// Interval of the checks whether watching has ended.
const LOOK: Duration = Duration::from_millis(50);

/// Channel of a receiver's messages.
#[derive(Debug, Clone)]
pub(crate) enum Channel {
    Webhook(Address),
    Command(Program),
}

/// Queue of a receiver.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: SyncSender<Vec<u8>>,
    state: Arc<QueueState>,
    reports: Reports,
}

#[derive(Debug, Default)]
struct QueueState {
    lost: AtomicU64,
    /// Number of messages not delivered yet, including the one being delivered.
    open: AtomicU64,
    is_ending: AtomicBool,
    has_ended: AtomicBool,
}

impl Queue {
    /// Starts the thread of a receiver.
    pub fn start(way: Channel, timing: Timing, reports: Reports) -> std::io::Result<Self> {
        let (waiting, messages) = sync_channel(WAITING_MAX);
        let state = Arc::new(QueueState::default());
        let worker = Worker { way, timing, reports: reports.clone(), state: Arc::clone(&state) };
        std::thread::Builder::new()
            .name("alarms".to_owned())
            .spawn(move || worker.run(&messages))?;
        Ok(Self { waiting, state, reports })
    }

    /// Adds a message, or counts it as lost if too many wait.
    pub fn add(&self, message: Vec<u8>) {
        self.state.open.fetch_add(1, Ordering::SeqCst);
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.waiting.try_send(message)
        {
            self.state.open.fetch_sub(1, Ordering::SeqCst);
            let lost = self.state.lost.fetch_add(1, Ordering::SeqCst) + 1;
            self.reports.tell(Problem::Full { lost });
        }
    }

    /// Delivers the waiting messages with one attempt each, until a time, and then gives up.
    pub fn finish(self, until: Instant) {
        self.state.is_ending.store(true, Ordering::SeqCst);
        drop(self.waiting);
        while !self.state.has_ended.load(Ordering::SeqCst) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let open = self.state.open.load(Ordering::SeqCst);
        if open > 0 {
            self.reports.tell(Problem::Unsent(open));
        }
    }
}

struct Worker {
    way: Channel,
    timing: Timing,
    reports: Reports,
    state: Arc<QueueState>,
}

impl Worker {
    fn run(&self, messages: &Receiver<Vec<u8>>) {
        while let Ok(message) = messages.recv() {
            self.deliver(&message);
            self.state.open.fetch_sub(1, Ordering::SeqCst);
        }
        self.state.has_ended.store(true, Ordering::SeqCst);
    }

    fn deliver(&self, message: &[u8]) {
        let mut pause = self.timing.pause;
        for attempt in 1..=ATTEMPTS {
            let Err(error) = self.send(message) else {
                if attempt > 1 {
                    self.reports.tell(Problem::Works);
                }
                return;
            };
            if attempt == ATTEMPTS || !error.is_passing() || self.is_ending() {
                let lost = self.state.lost.fetch_add(1, Ordering::SeqCst) + 1;
                self.reports.tell(Problem::Lost { error, lost });
                return;
            }
            if attempt == 1 {
                self.reports.tell(Problem::Failing(error));
            }
            let until = Instant::now() + pause;
            while !self.is_ending() && Instant::now() < until {
                std::thread::sleep(LOOK.min(pause));
            }
            pause *= 2;
        }
    }

    fn is_ending(&self) -> bool {
        self.state.is_ending.load(Ordering::SeqCst)
    }

    fn send(&self, message: &[u8]) -> Result<(), SendError> {
        match &self.way {
            Channel::Webhook(address) => {
                address.post(address.path(), message, self.timing.patience).map_err(Into::into)
            }
            Channel::Command(program) => {
                program.tell(message, self.timing.patience).map_err(Into::into)
            }
        }
    }
}
