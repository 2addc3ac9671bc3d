use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use crate::counters::Counters;
use crate::listen::Listener;
use crate::shared::{Note, Shared};
use crate::worker::{Change, Worker};
use crate::{Counts, Disk, Limits, Listen, ListenAddress, Offer, StartError};

/// Running server. Dropping the handle stops the server.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    changes: Sender<Change>,
    thread: Option<JoinHandle<io::Result<()>>>,
    places: Vec<ListenAddress>,
}

/// Starts a server that offers these disks, each under its export's name, at these addresses.
///
/// # Errors
/// If two disks have the same name, a socket cannot be opened, or the kernel has no io_uring.
pub fn start(
    disks: Vec<Box<dyn Disk>>,
    listen: &[Listen],
    limits: Limits,
) -> Result<Running, StartError> {
    start_with(Offer { disks, ..Offer::default() }, listen, limits)
}

/// Starts a server with disks, a service and a catalog.
///
/// # Errors
/// The errors of [`start`].
pub fn start_with(offer: Offer, listen: &[Listen], limits: Limits) -> Result<Running, StartError> {
    let mut names = BTreeSet::new();
    for name in offer.disks.iter().map(|disk| disk.export().name()) {
        if !names.insert(name) {
            return Err(StartError::Twice { name: name.to_owned() });
        }
    }
    let disks: Vec<_> = offer.disks.iter().map(|disk| disk.export().clone()).collect();
    let open = |listen| Listener::open(listen, &disks);
    let listeners = listen.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let places = listeners.iter().map(|listener| listener.place.clone()).collect();
    let event =
        eventfd(0, EventfdFlags::CLOEXEC).map_err(|errno| failed("make an event")(errno.into()))?;
    let shared = Arc::new(Shared {
        stop: AtomicBool::new(false),
        event: Arc::new(event),
        counters: Counters::default(),
        notes: Mutex::default(),
    });
    let (tell, told) = sync_channel(1);
    let (changes, changed) = channel();
    let thread = std::thread::Builder::new().name("front".to_owned()).spawn({
        let shared = Arc::clone(&shared);
        move || match Worker::new(offer, changed, listeners, limits, shared) {
            Ok(worker) => {
                let _ = tell.send(None);
                worker.run()
            }
            Err(error) => {
                let _ = tell.send(Some(error));
                Ok(())
            }
        }
    });
    let thread = thread.map_err(failed("start a thread"))?;
    let running = Running { shared, changes, thread: Some(thread), places };
    match told.recv() {
        Ok(None) => Ok(running),
        Ok(Some(error)) => Err(failed("set up io_uring")(error)),
        Err(_) => Err(failed("set up io_uring")(io::Error::other("the thread ended"))),
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::Kernel { what, source }
}

impl Running {
    /// Returns the addresses at which the server listens, in the order of `listen`.
    #[must_use]
    pub fn places(&self) -> &[ListenAddress] {
        &self.places
    }

    /// Returns the counts since the start of the server.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counters.counts()
    }

    /// Returns the notes for an operator since the last call. Each note is returned once.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        std::mem::take(&mut *self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true if the server has stopped by itself because its ring failed. [`Self::stop`]
    /// returns the error.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Offers one more disk. If the server has a service, the service handles the disk's I/O.
    ///
    /// # Errors
    /// If a disk of this name is offered or still being withdrawn; if the server has ended.
    pub fn add(&self, disk: Box<dyn Disk>) -> Result<(), StartError> {
        self.change(|tell| Change::Add(disk, tell))
    }

    /// Stops offering a disk: no new client gets the disk, and its clients are disconnected once
    /// their requests are answered. Waits until no client has the disk. A second call waits for the
    /// same event.
    ///
    /// # Errors
    /// If no disk has this name; if the server has ended.
    pub fn withdraw(&self, name: &str) -> Result<(), StartError> {
        self.change(|tell| Change::Withdraw(name.to_owned(), tell))
    }

    fn change(
        &self,
        change: impl FnOnce(SyncSender<Result<(), StartError>>) -> Change,
    ) -> Result<(), StartError> {
        let (tell, told) = sync_channel(1);
        self.changes.send(change(tell)).map_err(|_| StartError::Ended)?;
        self.waker().wake();
        told.recv().map_err(|_| StartError::Ended)?
    }

    /// Makes the server call [`crate::Service::told`] of its services.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn attend(&self) -> io::Result<()> {
        rustix::io::write(&self.shared.event, &1_u64.to_ne_bytes())?;
        Ok(())
    }

    /// Returns a handle by which other threads can wake the services.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.shared.event))
    }

    /// Begins to stop the server, and does not wait for the end, unlike [`Self::stop`]. Other
    /// threads that wait for a change get an error.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn begin_to_stop(&self) -> io::Result<()> {
        self.shared.stop.store(true, Ordering::Release);
        self.attend()
    }

    /// Stops the server: no more requests are taken, requests in progress are answered, and the
    /// thread ends.
    ///
    /// # Errors
    /// If the ring failed, now or before.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.begin_to_stop()?;
        thread.join().map_err(|_| io::Error::other("the server's thread panicked"))?
    }
}

/// Handle that makes the server call [`crate::Service::told`], from any thread. After the server
/// has ended it does nothing.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Makes the server call [`crate::Service::told`] once.
    pub fn wake(&self) {
        // A full counter will be read soon.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A caller that wants the error calls `stop`.
        let _ = self.end();
    }
}
