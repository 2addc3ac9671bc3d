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
use crate::shared::Shared;
use crate::worker::{Change, Worker};
use crate::{Counts, Disk, Limits, Listen, Offer, Place, StartError};

/// A server; dropped, it stops.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    changes: Sender<Change>,
    thread: Option<JoinHandle<io::Result<()>>>,
    places: Vec<Place>,
}

/// Serves these disks, each under its export's name, to whoever comes in there.
///
/// # Errors
/// When two disks have one name, a socket cannot be had, or the kernel has no io_uring.
pub fn start(
    disks: Vec<Box<dyn Disk>>,
    listen: &[Listen],
    limits: Limits,
) -> Result<Running, StartError> {
    start_with(Offer { disks, ..Offer::default() }, listen, limits)
}

/// The same, with more than disks.
///
/// # Errors
/// As [`start`].
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
    /// Where it listens, in the order in which it was told to.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What it has seen so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counters.counts()
    }

    /// What an operator should know, in words: each is told once.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it has ended by itself, because its ring failed; [`Self::stop`] says why.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Offers one more disk from now on, whose service is the server's where it has one.
    ///
    /// # Errors
    /// One of its name is offered, or on its way out; the server ends.
    pub fn add(&self, disk: Box<dyn Disk>) -> Result<(), StartError> {
        self.change(|tell| Change::Add(disk, tell))
    }

    /// Offers a disk no more: nobody gets it from now on, and who has it goes when he is answered what he
    /// asked. Waits until nobody has it; whoever asks again waits for the same.
    ///
    /// # Errors
    /// There is none of this name; the server ends.
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

    /// Asks for the services' attention ([`crate::Service::told`]).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn attend(&self) -> io::Result<()> {
        rustix::io::write(&self.shared.event, &1_u64.to_ne_bytes())?;
        Ok(())
    }

    /// A way for other threads to ask for it.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.shared.event))
    }

    /// Begins to end, as [`Self::stop`] does, which is for whoever has it alone: others who wait for something of it are
    /// told that it ends.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn begin_to_stop(&self) -> io::Result<()> {
        self.shared.stop.store(true, Ordering::Release);
        self.attend()
    }

    /// Takes no more requests, answers those it has, and ends.
    ///
    /// # Errors
    /// When the ring failed, now or before.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.begin_to_stop()?;
        thread.join().map_err(|_| io::Error::other("the server's thread panicked"))?
    }
}

/// Asks a server for its disks' attention, from any thread; of one that has ended it asks nothing.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Asks once.
    pub fn wake(&self) {
        // What is full is about to be read.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whoever wants to know of an error stops it.
        let _ = self.end();
    }
}
