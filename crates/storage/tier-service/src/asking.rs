use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use block_server::{ClientTls, Running, Waker};

use crate::core::Core;
use crate::error::Refusal;
use crate::inbox::{Ask, Command, Inbox, Left, Reply};

/// Sender of commands to a running set.
#[derive(Debug, Clone)]
pub struct Control {
    pub(crate) asks: Sender<Ask>,
    waker: Arc<OnceLock<Waker>>,
    /// State of the set; the reference is dead once the server has ended.
    pub(crate) core: Arc<OnceLock<Weak<Mutex<Core>>>>,
    /// Lock that is held while a disk is attached. Two simultaneous attaches might choose the same
    /// entry of the set.
    pub(crate) coming: Arc<Mutex<()>>,
    /// Counter of the disks that are being moved to another server: each move holds a clone.
    pub(crate) giving: Arc<()>,
    /// Certificates of this host, for peers of disks that are attached later.
    pub(crate) tls: Option<ClientTls>,
    /// Maximum time that clients wait for another server, or for a disk that is being moved.
    pub(crate) patience: Duration,
    left: Arc<OnceLock<Left>>,
}

/// Default of `patience`: the time for which the state machine waits for a peer (docs/tier.md).
const PATIENCE: Duration = Duration::from_secs(60);

impl Control {
    /// Connects the control to the server of the set. From then on, messages of peers are
    /// processed.
    pub fn serve(&self, server: &Running) {
        self.waker.get_or_init(|| server.waker()).wake();
    }

    /// Sets the certificates for peers of disks that are attached later.
    #[must_use]
    pub fn with_tls(self, tls: Option<ClientTls>) -> Self {
        Self { tls, ..self }
    }

    /// Sets the maximum time that clients wait for another server, or for a disk that is being
    /// moved (default one minute). After that, their requests fail.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sends a command and waits for its answer. The answer to a status command is a report. An
    /// attach is awaited without a time limit.
    ///
    /// # Errors
    /// If the disk is unknown, the command is refused, or no answer comes within `patience`.
    pub fn ask(&self, command: Command, server: &Running, patience: Duration) -> Reply {
        command.check()?;
        self.waker.get_or_init(|| server.waker());
        match command {
            Command::Attach(coming) => self.attach(&coming, server),
            Command::Detach { disk } => self.detach(&disk, server, patience),
            command => self.tell(|tell| Ask::Command(command, tell), Some(patience)),
        }
    }

    /// Returns the state of the set when its server ended; `None` while the server runs, and after
    /// a panic of its thread.
    #[must_use]
    pub fn left(&self) -> Option<Left> {
        self.left.get().cloned()
    }

    /// Sends a message to the server's thread and wakes the thread.
    pub(crate) fn send(&self, ask: Ask) -> Result<(), Refusal> {
        self.asks.send(ask).map_err(|_| Refusal::from("the server ends"))?;
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
        Ok(())
    }

    /// Sends a message to the server's thread and waits for the answer.
    pub(crate) fn tell<T>(
        &self,
        ask: impl FnOnce(SyncSender<Result<T, Refusal>>) -> Ask,
        patience: Option<Duration>,
    ) -> Result<T, Refusal> {
        let (tell, told) = sync_channel(1);
        let gone = || Refusal::from("the server ends");
        self.send(ask(tell))?;
        match patience {
            None => told.recv().map_err(|_| gone())?,
            Some(patience) => told.recv_timeout(patience).map_err(|error| match error {
                RecvTimeoutError::Disconnected => gone(),
                RecvTimeoutError::Timeout => {
                    Refusal::new(format!("not done within {} s; it continues", patience.as_secs()))
                }
            })?,
        }
    }
}

/// Creates the inbox of a set, the control that sends to it, and the receiver of messages for the
/// operator.
pub(crate) fn inbox(
    names: Vec<Option<String>>,
    peers: Vec<Vec<String>>,
    waker: Arc<OnceLock<Waker>>,
) -> (Control, Inbox, Receiver<String>) {
    let ((ask, asked), (told, heard)) = (channel(), channel());
    let left = Arc::default();
    let waiting = Vec::new();
    let inbox =
        Inbox { asked, waiting, names, peers, has_failed: false, told, left: Arc::clone(&left) };
    let (core, coming, giving) = (Arc::default(), Arc::default(), Arc::default());
    let (tls, patience) = (None, PATIENCE);
    (Control { asks: ask, waker, core, coming, giving, tls, patience, left }, inbox, heard)
}
