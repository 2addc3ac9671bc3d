use std::any::Any;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use run_store::slice::Slice;
use state_machine::Machine;
use units::Nanos;

use crate::clock::{Clock, ProcessCpu, wait_until};
use crate::disks::DiskTable;
use crate::instance::{
    EngineInstance, calls_of, check_shapes, open_content, table_of, telemetry_of,
};
use crate::merge::{self, Line};
use crate::moving::{Home, Orders, ToWorker};
use crate::real::Real;
use crate::served::{Links, WithServed};
use crate::verify::Setup;
use crate::worker::{Job, Worker};
use crate::{EngineError, Options, Outcome, Warning};

/// Running load. Dropping it stops the load and waits until it has ended.
#[derive(Debug)]
pub struct Running {
    slices: Receiver<Slice>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<Result<Outcome, EngineError>>>,
    merger: Option<JoinHandle<()>>,
    cpu_before: ProcessCpu,
    began_late: Nanos,
    orders: Orders,
}

impl Running {
    /// Returns the delay of the load's start after [`Options::begin_at`].
    pub const fn began_late(&self) -> Nanos {
        self.began_late
    }

    /// Returns the merged slices of all workers in order, each when it is complete. The last one is
    /// shorter. The channel is unbounded: a slow reader costs memory, but never delays I/O.
    pub fn slices(&self) -> &Receiver<Slice> {
        &self.slices
    }

    /// Tells the workers to stop; [`Running::join`] waits for them.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the flag that stops the workers, for signal handlers and other threads.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Returns a handle for orders to the load, for other threads.
    pub fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Returns true if all workers have ended, whether by themselves or because of
    /// [`Running::stop`].
    pub fn is_finished(&self) -> bool {
        self.workers.iter().all(JoinHandle::is_finished)
    }

    /// Stops the workers, waits for the requests in flight, and returns the outcome. Unread slices
    /// are lost. To get all of them, read until the channel closes.
    ///
    /// # Errors
    /// If a worker failed. The others were also stopped and waited for.
    pub fn join(mut self) -> Result<Outcome, EngineError> {
        self.end()
    }

    /// Stops the workers, waits for the requests in flight, and also returns the unread slices.
    ///
    /// # Errors
    /// As [`Running::join`].
    pub fn finish(mut self) -> Result<(Outcome, Vec<Slice>), EngineError> {
        let outcome = self.end()?;
        Ok((outcome, self.slices.try_iter().collect()))
    }

    fn end(&mut self) -> Result<Outcome, EngineError> {
        self.stop();
        let mut total = Outcome::default();
        let mut failure = None;
        for (worker, handle) in self.workers.drain(..).enumerate() {
            match handle.join() {
                Ok(Ok(outcome)) => {
                    total.backend = outcome.backend;
                    total.merge(outcome);
                }
                Ok(Err(error)) => failure = failure.or(Some(error)),
                Err(panic) => failure = failure.or(Some(died(worker, panic.as_ref()))),
            }
        }
        if let Some(merger) = self.merger.take() {
            let _ = merger.join();
        }
        let cpu = ProcessCpu::now().since(self.cpu_before);
        (total.cpu_seconds_user, total.cpu_seconds_system) = (cpu.user_s, cpu.system_s);
        failure.map_or(Ok(total), Err)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn died(worker: usize, panic: &(dyn Any + Send)) -> EngineError {
    let message = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "no message".to_owned());
    EngineError::Worker { worker, message }
}

/// Starts a load: one thread per worker, with the instances dealt out in turn. Returns when every
/// worker is set up and the start time has come. The common clock starts then.
///
/// # Errors
/// If options or shapes are wrong, or if rings or threads cannot be created.
pub fn start<M: Machine + Send + 'static>(
    instances: Vec<EngineInstance<M>>,
    options: Options,
) -> Result<Running, EngineError> {
    options.check()?;
    check_shapes(&instances)?;
    let (clock, stop) = (Clock::start(), Arc::new(AtomicBool::new(false)));
    let lost = Arc::new(AtomicBool::new(false));
    // A worker without an instance would only spend a ring and a thread.
    let workers = options.workers.min(instances.len()).max(1);
    let (to_workers, lines): (Vec<_>, Vec<_>) = (0..workers).map(|_| ToWorker::new()).unzip();
    let homes = homes(&instances, workers, options.verify.as_ref());
    let ends = (Arc::clone(&stop), Arc::clone(&lost));
    let (parcels, from_workers) = channel();
    let (to_reader, slices) = channel();
    let (ready, readiness) = channel();
    let mut backs = Vec::new();
    let mut running = Running {
        slices,
        stop: Arc::clone(&stop),
        workers: Vec::new(),
        merger: None,
        cpu_before: ProcessCpu::now(),
        began_late: Nanos::ZERO,
        orders: Orders::new(to_workers, homes, clock.clone(), ends),
    };
    let mut go = Vec::new();
    let shares = deal(instances, workers).into_iter().zip(lines);
    for (worker, (share, orders)) in shares.enumerate() {
        let (back, returned) = channel();
        let (start, started) = channel();
        // The second set of telemetry; the worker makes the first itself.
        let _ = back.send(telemetry_of(&share));
        backs.push(back);
        go.push(start);
        let job = Job {
            calls: calls_of(&options, &share)?,
            instances: share,
            options: options.clone(),
            stop: Arc::clone(&stop),
            lost: Arc::clone(&lost),
            orders: Some(orders),
            until: Nanos::MAX,
            seed: worker as u64,
        };
        let line = Line { worker, to: parcels.clone(), back: returned };
        let (clock, ready) = (clock.clone(), ready.clone());
        let main = move || {
            let ended =
                catch_unwind(AssertUnwindSafe(|| work(worker, job, clock, line, &ready, &started)));
            ended.unwrap_or_else(|panic| Err(died(worker, panic.as_ref())))
        };
        running.workers.push(spawn(format!("tilemark-{worker}"), main)?);
    }
    drop((parcels, ready));
    running.merger = Some(spawn("tilemark-merge".to_owned(), move || {
        merge::run(&from_workers, &backs, &to_reader);
    })?);
    let set_up = readiness.iter().take(go.len()).filter(|ok| *ok).count();
    if set_up < go.len() {
        drop(go); // Workers that are ready see this and end.
        running.end()?;
        return Err(EngineError::Worker { worker: 0, message: "set-up failed".to_owned() });
    }
    running.began_late = options.begin_at.map_or(Nanos::ZERO, wait_until);
    running.cpu_before = ProcessCpu::now();
    match options.begin_at {
        Some(at) => clock.begin_at(at),
        None => clock.restart(),
    }
    for start in go {
        let _ = start.send(());
    }
    Ok(running)
}

/// Returns the worker and number of each instance, as [`deal`] deals them out.
fn homes<M>(instances: &[EngineInstance<M>], workers: usize, verify: Option<&Setup>) -> Vec<Home> {
    let mut counts = vec![0; workers];
    let home = |(position, instance): (usize, &EngineInstance<M>)| {
        let worker = turn(position, workers);
        counts[worker] += 1;
        let state_dir = instance.guest.as_ref().and_then(|guest| guest.state_dir.clone());
        let verify = verify.map(|setup| match state_dir {
            Some(state_dir) => Setup { state_dir, ..setup.clone() },
            None => setup.clone(),
        });
        Home { worker, local: counts[worker] - 1, disks: instance.disks.clone(), verify }
    };
    instances.iter().enumerate().map(home).collect()
}

fn spawn<T: Send + 'static>(
    name: String,
    main: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, EngineError> {
    Builder::new()
        .name(name.clone())
        .spawn(main)
        .map_err(|source| EngineError::Thread { name, source })
}

/// Creates the backend for a worker's disks, with connections to the server if disks are served.
fn reach(
    clock: Clock,
    table: DiskTable,
    watched: Option<Arc<OwnedFd>>,
    options: &Options,
) -> Result<(Real, Vec<Warning>, Option<Links>), EngineError> {
    let Some(served) = &options.served else {
        let (real, warnings) = Real::new(clock, table.files, watched, options)?;
        return Ok((real, warnings, None));
    };
    let failed = |source| EngineError::Served { server: served.server.to_string(), source };
    let links = served.connect(&table).map_err(failed)?;
    let watched = links.watched(watched).map_err(failed)?;
    let (real, warnings) = Real::new(clock, table.files, Some(watched), options)?;
    Ok((real, warnings, Some(links)))
}

/// Runs a worker. This is the function of its thread.
fn work<M: Machine>(
    worker: usize,
    job: Job<M>,
    clock: Clock,
    line: Line,
    ready: &Sender<bool>,
    started: &Receiver<()>,
) -> Result<Outcome, EngineError> {
    if job.options.pin {
        pin(worker);
    }
    // Timers of this thread fire when they are due, not up to 50 us later.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let table = table_of(&job.instances);
    let watched = job.calls.as_ref().map(|calls| Arc::clone(calls.set()));
    let real = reach(clock, table, watched, &job.options);
    let content = open_content(&job.options, &job.instances);
    let _ = ready.send(real.is_ok() && content.is_ok());
    let ((backend, warnings, links), content) = (real?, content?);
    if started.recv().is_err() {
        return Ok(Outcome::default());
    }
    let name = backend.name();
    let (mut outcome, _line) = match (backend, links) {
        (Real::Uring(ring), None) => Worker::new(job, content, *ring, name, line).run()?,
        (Real::Threads(pool), None) => Worker::new(job, content, *pool, name, line).run()?,
        (Real::Uring(ring), Some(links)) => {
            Worker::new(job, content, WithServed::new(*ring, links), name, line).run()?
        }
        (Real::Threads(pool), Some(links)) => {
            Worker::new(job, content, WithServed::new(*pool, links), name, line).run()?
        }
    };
    outcome.warnings.extend(warnings);
    Ok(outcome)
}

/// Pins the calling thread to one of the CPUs that it may use. A refusal is ignored.
fn pin(worker: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cpus: Vec<usize> =
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    if let Some(cpu) = cpus.get(worker % cpus.len().max(1)) {
        let mut set = rustix::thread::CpuSet::new();
        set.set(*cpu);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

/// Deals instances out to workers in turn, starting one worker later in every round. Without this
/// shift, a tile whose length is a multiple of the number of workers would put all its mail servers
/// on the same worker.
fn deal<T>(items: Vec<T>, workers: usize) -> Vec<Vec<T>> {
    let mut shares: Vec<Vec<T>> = (0..workers).map(|_| Vec::new()).collect();
    for (position, item) in items.into_iter().enumerate() {
        shares[turn(position, workers)].push(item);
    }
    shares
}

/// Returns the worker of the instance at a position.
const fn turn(position: usize, workers: usize) -> usize {
    (position + position / workers) % workers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dealing_spreads_equal_positions_of_tiles_over_workers() {
        let shares = deal((0..8).collect(), 2);
        assert_eq!(shares, [[0, 3, 4, 7], [1, 2, 5, 6]]);
        assert_eq!(deal(Vec::<u8>::new(), 3).len(), 3);
    }
}
