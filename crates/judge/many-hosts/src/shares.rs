use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use bench::BenchError;
use bench::progress::{Control, Request};
use serde::Serialize;

use crate::controller::Controller;
use crate::under_way::held;

/// Hosts that simulate, each as many simulations at a time as it has CPUs. The input is data, so
/// results are exactly the same on any host. Work of a lost host is repeated on the others.
pub(crate) struct Shares<'a> {
    pub controller: Controller,
    places: Mutex<Places>,
    has_changed: Condvar,
    numbers: AtomicU64,
    tell_lost: &'a (dyn Fn(&str) + Sync),
}

#[derive(Debug, Default)]
struct Places {
    /// Hosts with free capacity; each is listed once per free place.
    free: Vec<usize>,
    /// For each host, numbers of the results that it may drop.
    received: Vec<Vec<u64>>,
    is_lost: Vec<bool>,
}

/// Work for a host.
pub(crate) struct Share {
    pub host: usize,
    /// Number of the work, assigned by this controller.
    pub number: u64,
    /// Numbers of the results that were received from this host.
    pub received: Vec<u64>,
}

/// Interval for polling a result, which takes seconds.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// Maximum time to send the input. A study of hundreds of configurations has some megabytes.
const HANDED_OUT_WITHIN: Duration = Duration::from_secs(60);

impl<'a> Shares<'a> {
    /// Sends the input under this topic. `tell_lost` is called for a lost host.
    pub fn hand_out<Q: Serialize + Sync>(
        controller: Controller,
        (topic, asked): (&str, &Q),
        tell_lost: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Self, BenchError> {
        let hosts = controller.present().len();
        let everyone: Vec<(usize, &Q)> = (0..hosts).map(|host| (host, asked)).collect();
        controller.link.ask_all::<_, ()>(topic, &everyone, HANDED_OUT_WITHIN)?;
        // One place of each host, then a second one of each: with less work than processors, every
        // host has a part.
        let cores: Vec<usize> =
            controller.present().iter().map(|host| host.hello.processors.max(1)).collect();
        let most = cores.iter().copied().max().unwrap_or(1);
        let of_turn =
            |turn| (0..hosts).rev().filter(|host| cores[*host] > turn).collect::<Vec<_>>();
        let free = (0..most).rev().flat_map(of_turn).collect();
        let places =
            Places { free, received: vec![Vec::new(); hosts], is_lost: vec![false; hosts] };
        Ok(Self {
            controller,
            places: Mutex::new(places),
            has_changed: Condvar::new(),
            numbers: AtomicU64::new(1),
            tell_lost,
        })
    }

    /// Returns the number of concurrent simulations.
    pub fn threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(held(&self.places).free.len()).unwrap_or(NonZeroUsize::MIN)
    }

    /// Runs work on a host, or on the next host if that one is lost meanwhile. `None` if no host is
    /// left, or `control` stops.
    pub fn on_one<T>(
        &self,
        control: &Control,
        done: impl Fn(Share) -> Result<T, BenchError>,
    ) -> Result<T, NoHost> {
        while control.request() == Request::GoOn {
            let host = self.take().ok_or(NoHost::Left)?;
            if held(&self.places).is_lost[host] {
                continue;
            }
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            let received = std::mem::take(&mut held(&self.places).received[host]);
            match done(Share { host, number, received }) {
                Ok(done) => {
                    self.give_back(host, number);
                    return Ok(done);
                }
                Err(error) => self.lose(host, &error),
            }
        }
        Err(NoHost::Stopped)
    }

    /// Takes a free place on a host. `None` if no host is left.
    fn take(&self) -> Option<usize> {
        let mut places = held(&self.places);
        loop {
            if let Some(host) = places.free.pop() {
                return Some(host);
            }
            if places.is_lost.iter().all(|is_lost| *is_lost) {
                return None;
            }
            places = self.has_changed.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, host: usize, number: u64) {
        let mut places = held(&self.places);
        places.free.push(host);
        places.received[host].push(number);
        self.has_changed.notify_all();
    }

    fn lose(&self, host: usize, error: &BenchError) {
        let mut places = held(&self.places);
        places.free.retain(|free| *free != host);
        if !std::mem::replace(&mut places.is_lost[host], true) {
            (self.tell_lost)(&format!("{error}; other hosts simulate its share"));
        }
        self.has_changed.notify_all();
    }
}

/// Reason why work was not done.
pub(crate) enum NoHost {
    /// All hosts are lost.
    Left,
    /// The run was stopped.
    Stopped,
}
