use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use front::{Effects, Running};
use serde::{Deserialize, Serialize};
use tier::format::SidecarState;
use tier::{Counters, Event, Mode, Note, Order};

use crate::core::Core;

/// What may be asked of a running set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// How everything is doing.
    Status,
    /// A disk's log goes to its backing store; answered when it has.
    Drain {
        /// Its name.
        disk: String,
    },
    /// Its writes are answered so from now on; answered when they are.
    Mode {
        /// Its name.
        disk: String,
        /// Whether by the log.
        back: bool,
    },
    /// New pages come in or do not.
    Populate {
        /// Its name.
        disk: String,
        /// Whether they do.
        on: bool,
    },
}

/// A disk's share of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Its name.
    pub name: String,
    /// How its writes are answered: `through` or `back`.
    pub mode: String,
    /// Bytes that are not on its backing store yet, in whole blocks of 4 KiB.
    pub dirty_bytes: u64,
    /// Epochs that are not.
    pub epochs: usize,
    /// Chunks that its log takes.
    pub log_chunks: usize,
    /// What its sidecar says of the backing store alone: `clean`, `dirty`, `applying` or `burnt`.
    pub sidecar: String,
}

/// How a set is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Bytes of pages that there is room for.
    pub page_bytes: u64,
    /// Bytes of pages that can be served now.
    pub held_bytes: u64,
    /// Whether the cache device has failed.
    pub has_failed: bool,
    /// Reads answered without the backing store, with it in part, and by it alone.
    pub hits: u64,
    /// See [`Report::hits`].
    pub partial: u64,
    /// See [`Report::hits`].
    pub misses: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes and durable writes.
    pub flushes: u64,
    /// Bytes put into backing stores out of logs.
    pub destaged_bytes: u64,
    /// Bytes that came into pages.
    pub filled_bytes: u64,
    /// Pages that left.
    pub evicted: u64,
    /// Blocks of pages that were not what they should have been.
    pub checksum_errors: u64,
    /// Requests that are under way.
    pub in_flight: usize,
    /// Its disks.
    pub disks: Vec<DiskReport>,
}

type Reply = Result<Option<Report>, String>;

/// A way to ask a set.
#[derive(Debug, Clone)]
pub struct Control(Sender<(Command, SyncSender<Reply>)>);

impl Control {
    /// Asks, and waits for the answer: a report for a question of status.
    ///
    /// # Errors
    /// In words: no such disk, or no answer in this time.
    pub fn ask(&self, command: Command, server: &Running, patience: Duration) -> Reply {
        let (tell, told) = sync_channel(1);
        let gone = |_| "the server ends".to_owned();
        self.0.send((command, tell)).map_err(|error| gone(error.to_string()))?;
        server.attend().map_err(|error| error.to_string())?;
        told.recv_timeout(patience)
            .map_err(|_| format!("not done within {} s; it goes on", patience.as_secs()))?
    }
}

/// Where a set finds what is asked, and who waits for what.
#[derive(Debug)]
pub(crate) struct Inbox {
    asked: Receiver<(Command, SyncSender<Reply>)>,
    waiting: Vec<(Note, SyncSender<Reply>)>,
    /// Names of the disks, by index.
    pub(crate) names: Vec<Option<String>>,
    has_failed: bool,
}

pub(crate) fn inbox(names: Vec<Option<String>>) -> (Control, Inbox) {
    let (ask, asked) = channel();
    (Control(ask), Inbox { asked, waiting: Vec::new(), names, has_failed: false })
}

impl Core {
    /// Answers what was asked.
    pub(crate) fn attend(&mut self, fx: &mut Effects) {
        while let Ok((command, tell)) = self.inbox.asked.try_recv() {
            self.command(&command, tell, fx);
        }
    }

    fn command(&mut self, command: &Command, tell: SyncSender<Reply>, fx: &mut Effects) {
        let index = |name: &str| {
            let found = self.inbox.names.iter().position(|known| known.as_deref() == Some(name));
            let known: Vec<&str> = self.inbox.names.iter().flatten().map(String::as_str).collect();
            found
                .and_then(|index| u16::try_from(index).ok())
                .ok_or_else(|| format!("no disk \"{name}\"; there are {}", known.join(", ")))
        };
        let (disk, order) = match command {
            Command::Status => {
                // Whoever asked may have gone.
                let _ = tell.send(Ok(Some(self.report())));
                return;
            }
            Command::Drain { disk } => (disk, Order::Drain { disk: 0 }),
            Command::Mode { disk, back } => {
                let mode = if *back { Mode::Back } else { Mode::Through };
                (disk, Order::Mode { disk: 0, mode })
            }
            Command::Populate { disk, on } => (disk, Order::Populate { disk: 0, is_on: *on }),
        };
        let index = match index(disk) {
            Ok(index) => index,
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        let (order, awaited) = match order {
            Order::Drain { .. } => (Order::Drain { disk: index }, Some(Note::Drained(index))),
            Order::Mode { mode, .. } => {
                (Order::Mode { disk: index, mode }, Some(Note::Mode(index, mode)))
            }
            Order::Populate { is_on, .. } => (Order::Populate { disk: index, is_on }, None),
            Order::Close => (Order::Close, Some(Note::Closed)),
        };
        match awaited {
            Some(note) => self.inbox.waiting.push((note, tell)),
            None => {
                let _ = tell.send(Ok(None));
            }
        }
        self.handle(Event::Order(order), fx);
    }

    /// Something happened that somebody may wait for.
    pub(crate) fn noted(&mut self, note: Note) {
        match note {
            Note::Closed => {
                self.is_closed = true;
                for (backing, sidecar) in self.files.disks.iter().flatten() {
                    // Without it the next start is trusted as after a kill.
                    let _ = crate::closed::remember(backing, sidecar);
                }
            }
            // It can do no more, so nothing is waited for.
            Note::CacheFailed => (self.is_closed, self.inbox.has_failed) = (true, true),
            _ => {}
        }
        let waiting = std::mem::take(&mut self.inbox.waiting);
        for (awaited, tell) in waiting {
            if awaited == note {
                let _ = tell.send(Ok(None));
            } else {
                self.inbox.waiting.push((awaited, tell));
            }
        }
        self.notes.push(note);
    }

    fn report(&self) -> Report {
        let Counters { hits, partial, misses, writes, flushes, .. } = self.tier.counters();
        let counters = self.tier.counters();
        let geometry = self.tier.geometry();
        let disks = (0..).zip(&self.inbox.names).filter_map(|(index, name)| {
            let status = self.tier.status(index)?;
            Some(DiskReport {
                name: name.clone()?,
                mode: if status.mode == Mode::Back { "back" } else { "through" }.to_owned(),
                dirty_bytes: status.dirty_bytes,
                epochs: status.epochs,
                log_chunks: status.log_chunks,
                sidecar: match status.sidecar {
                    SidecarState::Clean => "clean",
                    SidecarState::Dirty => "dirty",
                    SidecarState::Applying { .. } => "applying",
                    SidecarState::Burnt => "burnt",
                }
                .to_owned(),
            })
        });
        Report {
            page_bytes: u64::from(geometry.slots()) * u64::from(geometry.page_bytes),
            held_bytes: self.tier.held_bytes(),
            has_failed: self.inbox.has_failed,
            hits,
            partial,
            misses,
            writes,
            flushes,
            destaged_bytes: counters.destaged_bytes,
            filled_bytes: counters.filled_bytes,
            evicted: counters.evicted,
            checksum_errors: counters.checksum_errors,
            in_flight: self.requests.count(),
            disks: disks.collect(),
        }
    }
}
