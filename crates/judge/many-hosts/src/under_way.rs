use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bench::rig::{Carried, Load, LoadOutcome, MoveError, Orders, RealLoad, Received};
use bystanders::HostWatch;
use bystanders::disturbance::WindowSums;
use run_store::gauge::GaugeSource;
use run_store::run::Disturbance;
use units::Nanos;

use crate::refusal::{AgentError, remote};
use crate::wire::{Came, Finished, Sent, Stands, Taken};

/// Maximum time of one wait for a slice.
const POLL: Duration = Duration::from_millis(100);
/// Sampling time without load, to find other work on this host, as in `bench`.
const QUIET: Duration = Duration::from_millis(1500);

/// Function that sends slices to the controller. Messages may be lost.
pub(crate) type Send = Box<dyn Fn(&[u8]) + std::marker::Send>;

/// Running load on this host. A separate thread receives its slices, stores them and sends them.
#[derive(Debug)]
pub(crate) struct UnderWay {
    epoch: u64,
    stop: AtomicBool,
    marked: AtomicBool,
    orders: Orders,
    /// Tile of each instance, counted from 0.
    tiles: Vec<u32>,
    /// True if slices are no longer sent.
    is_lost: AtomicBool,
    /// Slices as they were sent.
    kept: Mutex<Vec<Arc<Vec<u8>>>>,
    ended: (Mutex<Option<Finished>>, Condvar),
}

/// Observers of this host.
pub(crate) struct Eyes {
    pub watch: Option<HostWatch>,
    pub meters: Vec<Box<dyn GaugeSource>>,
}

impl UnderWay {
    /// Takes over a load that has started.
    pub fn start(
        (epoch, tiles): (u64, Vec<u32>),
        load: RealLoad,
        eyes: impl FnOnce() -> Eyes + std::marker::Send + 'static,
        send: Send,
    ) -> std::io::Result<Arc<Self>> {
        let own = Arc::new(Self {
            epoch,
            stop: AtomicBool::new(false),
            marked: AtomicBool::new(false),
            orders: load.orders(),
            tiles,
            is_lost: AtomicBool::new(false),
            kept: Mutex::default(),
            ended: (Mutex::default(), Condvar::new()),
        });
        let of_thread = Arc::clone(&own);
        std::thread::Builder::new()
            .name("slices".to_owned())
            .spawn(move || of_thread.pump(load, eyes(), &send))?;
        Ok(own)
    }

    /// Returns the epoch of the load.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Stops the load.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Takes a tile out of the load, with all its instances at the same time.
    pub fn take(&self, tile: u32) -> Result<Taken, AgentError> {
        let (own, orders) = (self.instances_of(tile)?, &self.orders);
        let taken: Result<Vec<Carried>, MoveError> = std::thread::scope(|scope| {
            let take = |instance: &u32| {
                let instance = *instance;
                scope.spawn(move || orders.take(instance))
            };
            let all: Vec<_> = own.iter().map(take).collect();
            all.into_iter().map(|one| one.join().unwrap_or(Err(MoveError::Ended))).collect()
        });
        Ok(Taken { instances: taken? })
    }

    /// Puts a tile into the load. Without a state, its users start from the beginning.
    pub fn put(&self, tile: u32, taken: Option<Taken>) -> Result<Came, AgentError> {
        let (own, orders) = (self.instances_of(tile)?, &self.orders);
        let mut carried: Vec<Option<Carried>> = match taken {
            Some(taken) => taken.instances.into_iter().map(Some).collect(),
            None => vec![None; own.len()],
        };
        if carried.len() != own.len() {
            let came = format!("{} of {} instances arrived", carried.len(), own.len());
            return Err(AgentError::refused(came));
        }
        let came: Result<Vec<Nanos>, MoveError> = std::thread::scope(|scope| {
            let put = |(instance, carried): (&u32, Option<Carried>)| {
                let instance = *instance;
                scope.spawn(move || orders.put(instance, carried))
            };
            let all: Vec<_> = own.iter().zip(carried.drain(..)).map(put).collect();
            all.into_iter().map(|one| one.join().unwrap_or(Err(MoveError::Ended))).collect()
        });
        let last = came?.into_iter().max().unwrap_or_default();
        Ok(Came { goes_on_ns: last.0 })
    }

    /// Pauses the load for a time.
    pub fn stand_still(&self, time: Nanos) -> Result<Stands, AgentError> {
        let from = self.orders.now();
        let until = from.saturating_add(time);
        self.orders.stand_still(until)?;
        Ok(Stands { from_ns: from.0, until_ns: until.0 })
    }

    /// Ends the load as in a power cut.
    pub fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
        self.orders.lose();
        self.stop();
    }

    fn instances_of(&self, tile: u32) -> Result<Vec<u32>, AgentError> {
        let all = (0..).zip(&self.tiles);
        let own: Vec<u32> = all.filter(|(_, own)| **own == tile).map(|(at, _)| at).collect();
        let unknown = || AgentError::refused(format!("tile {} is not known here", tile + 1));
        if own.is_empty() { Err(unknown()) } else { Ok(own) }
    }

    /// Marks the start of the measurement.
    pub fn mark(&self) {
        self.marked.store(true, Ordering::Release);
    }

    /// Returns a slice as it was sent; `None` if there is none with this number yet.
    pub fn slice(&self, number: u64) -> Option<Arc<Vec<u8>>> {
        held(&self.kept).get(usize::try_from(number).ok()?).cloned()
    }

    /// Returns the result of the load. Waits up to `within` for it.
    pub fn finished(&self, within: Duration) -> Option<Finished> {
        let (ended, changed) = &self.ended;
        let waited = changed.wait_timeout_while(held(ended), within, |ended| ended.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn pump(&self, mut load: RealLoad, mut eyes: Eyes, send: &Send) {
        let (mut own_bytes, mut is_stopping, mut number) = (0.0, false, 0);
        if let Some(watch) = &mut eyes.watch {
            let _ = watch.look();
        }
        let failure = loop {
            if self.stop.load(Ordering::Acquire) && !is_stopping {
                load.stop();
                is_stopping = true;
            }
            let asked = Instant::now();
            let received = load.next(POLL);
            if let Some(watch) = &mut eyes.watch {
                watch.waited(POLL.into(), asked.elapsed().into());
            }
            let slice = match received {
                Received::Slice(slice) => slice,
                Received::Nothing => continue,
                Received::Ended => break None,
                Received::Failed(error) => break Some(error),
            };
            if self.marked.swap(false, Ordering::AcqRel) {
                own_bytes = 0.0;
                if let Some(watch) = &mut eyes.watch {
                    watch.restart();
                }
            }
            own_bytes += slice.io.iter().map(|row| row.bytes.as_f64()).sum::<f64>();
            let sent = Sent { epoch: self.epoch, number, slice: Some(slice), gauges: eyes.read() };
            let bytes = sent.write();
            if self.is_lost.load(Ordering::Acquire) {
                continue;
            }
            send(&bytes);
            held(&self.kept).push(Arc::new(bytes));
            number += 1;
        };
        let outcome = match failure {
            Some(error) => Err(error),
            None => load.finish(),
        };
        let is_lost = self.is_lost.load(Ordering::Acquire);
        let disturbances = if is_lost { Vec::new() } else { eyes.disturbances(own_bytes) };
        let outcome = outcome
            .map(|outcome| LoadOutcome { disturbances, ..outcome })
            .map_err(|error| remote(&error));
        let end = Sent { epoch: self.epoch, number, slice: None, gauges: Vec::new() };
        *held(&self.ended.0) = Some(Finished { slices: number, outcome });
        self.ended.1.notify_all();
        if !self.is_lost.load(Ordering::Acquire) {
            send(&end.write());
        }
    }
}

impl Eyes {
    fn read(&mut self) -> Vec<run_store::gauge::Gauge> {
        let mut all = self.watch.as_mut().map(HostWatch::read).unwrap_or_default();
        self.meters.iter_mut().for_each(|meter| all.add(meter.read()));
        all.gauges
    }

    /// Returns other work that disturbed the load since the mark, and that continues now without
    /// load.
    fn disturbances(&mut self, own_bytes: f64) -> Vec<Disturbance> {
        let Some(watch) = &mut self.watch else { return Vec::new() };
        let load = WindowSums::of(watch.seconds(), watch.device());
        let found = load.disturbances(own_bytes);
        watch.restart();
        if found.is_empty() || watch.look().is_err() {
            return bystanders::disturbance::seen(found);
        }
        watch.restart();
        std::thread::sleep(QUIET);
        match watch.look() {
            Ok(()) => WindowSums::of(watch.seconds(), watch.device()).confirms(found, &load),
            Err(_) => bystanders::disturbance::seen(found),
        }
    }
}

pub(crate) fn held<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
