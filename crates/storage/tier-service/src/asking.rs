use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use block_server::{ClientTls, Running, Waker};

use crate::core::Core;
use crate::error::Refusal;
use crate::inbox::{Ask, Command, Inbox, Left, Reply};

/// A way to ask a set.
#[derive(Debug, Clone)]
pub struct Control {
    pub(crate) asks: Sender<Ask>,
    waker: Arc<OnceLock<Waker>>,
    /// Gone when its server is.
    pub(crate) core: Arc<OnceLock<Weak<Mutex<Core>>>>,
    /// One disk comes at a time, for two might want the same place.
    pub(crate) coming: Arc<Mutex<()>>,
    /// Each disk that is let go of now has a clone.
    pub(crate) giving: Arc<()>,
    /// Who this host is for peers of disks that come.
    pub(crate) tls: Option<ClientTls>,
    /// How long clients wait for another server, and for a disk that moves.
    pub(crate) patience: Duration,
    left: Arc<OnceLock<Left>>,
}

/// As long as the machine of docs/tier.md waits for a server.
const PATIENCE: Duration = Duration::from_secs(60);

impl Control {
    /// The set is served there: from now on its peers are heard.
    pub fn serve(&self, server: &Running) {
        self.waker.get_or_init(|| server.waker()).wake();
    }

    /// The same with certificates, for peers of disks that come later.
    #[must_use]
    pub fn with_tls(self, tls: Option<ClientTls>) -> Self {
        Self { tls, ..self }
    }

    /// The same with another time that clients wait for another server, and for a disk that moves: a minute if nobody
    /// says. What they asked for has failed then.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Asks, and waits for the answer: a report for a question of status. A disk that comes is waited for however
    /// long it takes.
    ///
    /// # Errors
    /// No such disk, what is refused, or no answer in this time.
    pub fn ask(&self, command: Command, server: &Running, patience: Duration) -> Reply {
        command.check()?;
        self.waker.get_or_init(|| server.waker());
        match command {
            Command::Attach(coming) => self.attach(&coming, server),
            Command::Detach { disk } => self.detach(&disk, server, patience),
            command => self.tell(|tell| Ask::Command(command, tell), Some(patience)),
        }
    }

    /// How the server left its set. Nothing while it runs, and nothing after a panic of its thread.
    #[must_use]
    pub fn left(&self) -> Option<Left> {
        self.left.get().cloned()
    }

    /// Tells the server's thread.
    pub(crate) fn send(&self, ask: Ask) -> Result<(), Refusal> {
        self.asks.send(ask).map_err(|_| Refusal::from("the server ends"))?;
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
        Ok(())
    }

    /// Has the server's thread answer.
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
                    Refusal::new(format!("not done within {} s; it goes on", patience.as_secs()))
                }
            })?,
        }
    }
}

/// A set's inbox, how it is reached, and what it tells.
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
