use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use datastore::{Datastore, DiskRequest, VirtualDisk};
use engine::prefill;
use engine::{BackendChoice, EngineInstance, Running};
use record::run::{Latency, Prefill, RateFacts, Warning};
use rustix::time::{ClockId, clock_gettime};
use units::{Bytes, Ratio};

use crate::error::BenchError;
use crate::plan::ResolvedPlan;
use crate::rig::{Clocks, Failure, Load, LoadOutcome, PrefillSoFar, Received, Rig};
use crate::step::{DiskNeed, FleetInstance};

/// I/Os each worker can have in flight. Our choice: a step of 40 tiles has some hundreds, and
/// what waits for a slot of ours makes a step inconclusive.
pub const DEPTH: u32 = 1024;

/// The engine on a datastore. Dropping it removes what the datastore made, unless it is to
/// be kept.
#[derive(Debug)]
pub struct RealRig {
    datastore: Option<Datastore>,
    keep: bool,
    filled: Vec<String>,
    seed: u64,
    options: engine::Options,
}

impl RealRig {
    /// A rig on an open datastore.
    pub fn new(datastore: Datastore, plan: &ResolvedPlan, keep: bool) -> Self {
        let options = engine::Options {
            workers: usize::try_from(plan.workers.value).unwrap_or(1),
            depth: DEPTH,
            slice: plan.slice.value,
            backend: BackendChoice::Auto,
            pin: false,
            ..engine::Options::default()
        };
        let seed = plan.seed.value;
        Self { datastore: Some(datastore), keep, filled: Vec::new(), seed, options }
    }

    /// The datastore.
    pub fn datastore(&self) -> &Datastore {
        self.datastore.as_ref().expect("it is taken only when the rig is given up")
    }

    /// Removes what was made, unless it is to be kept. Paths that stayed.
    pub fn remove(mut self) -> Result<Vec<std::path::PathBuf>, BenchError> {
        match self.datastore.take() {
            Some(datastore) if !self.keep => Ok(datastore.remove()?.kept),
            _ => Ok(Vec::new()),
        }
    }

    fn provision(&mut self, disks: &[DiskNeed]) -> Result<Vec<VirtualDisk>, BenchError> {
        let request = |disk: &DiskNeed| DiskRequest { name: disk.name.clone(), size: disk.size };
        let requests: Vec<DiskRequest> = disks.iter().map(request).collect();
        let datastore = self.datastore.as_mut().expect("it is taken only at the end");
        Ok(datastore.provision(&requests)?)
    }
}

impl Drop for RealRig {
    fn drop(&mut self) {
        if let Some(datastore) = self.datastore.take().filter(|_| !self.keep) {
            // A panic or an early return: nobody is left to tell, and `cleanup` finds the rest.
            let _ = datastore.remove();
        }
    }
}

impl Rig for RealRig {
    type Load = RealLoad;

    fn clocks(&self) -> Clocks {
        let read = |clock| {
            let now = clock_gettime(clock);
            i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
        };
        Clocks { monotonic_ns: read(ClockId::Monotonic), realtime_ns: read(ClockId::Realtime) }
    }

    fn capacity(&self) -> Bytes {
        self.datastore().capacity()
    }

    fn prepare(
        &mut self,
        disks: &[DiskNeed],
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefill>, BenchError> {
        let open = self.provision(disks)?;
        let plan = |(disk, need): (VirtualDisk, &DiskNeed)| prefill::Plan {
            filled: self.filled.contains(&disk.name),
            disk,
            compressible_percent: percent(need.data.compressible),
            dedupable_percent: percent(need.data.dedupable),
            seed: self.seed,
        };
        let plans: Vec<prefill::Plan> = open.into_iter().zip(disks).map(plan).collect();
        if plans.iter().all(|plan| plan.filled) {
            return Ok(None);
        }
        // The rewrite figure is a fact about the storage, taken once.
        let rewrite_max = if self.filled.is_empty() { REWRITE_MAX } else { Bytes::ZERO };
        let options = prefill::Options { rewrite_max, ..prefill::Options::default() };
        let cancel = AtomicBool::new(false);
        let mut speed = Speed::new(self.clocks().monotonic_ns);
        let report = prefill::run(&plans, &options, &cancel, &mut |so_far| {
            let now = clock_gettime(ClockId::Monotonic);
            let now = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
            let bytes_per_s = speed.at(now, so_far.done);
            let seen = PrefillSoFar { done: so_far.done, total: so_far.total, bytes_per_s };
            if !progress(seen) {
                cancel.store(true, Ordering::Relaxed);
            }
        })?;
        self.filled.extend(report.filled.iter().cloned());
        Ok(Some(Prefill {
            bytes: report.first_write.bytes.get(),
            first_write: rate_facts(&report.first_write),
            rewrite: rate_facts(&report.rewrite),
        }))
    }

    fn start(&mut self, instances: Vec<FleetInstance>) -> Result<RealLoad, BenchError> {
        let mut ready = Vec::with_capacity(instances.len());
        for instance in instances {
            let disks = self.provision(&instance.disks)?;
            let (machine, shape) = (instance.machine, instance.shape);
            ready.push(EngineInstance { machine, shape, disks });
        }
        Ok(RealLoad(engine::start(ready, self.options.clone())?))
    }
}

/// At most so much is written again for the rewrite figure: seconds on an ordinary disk.
const REWRITE_MAX: Bytes = Bytes::new(128 << 20);

fn percent(ratio: Ratio) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let percent = (ratio.get() * 100.0).round() as u8;
    percent
}

fn rate_facts(stats: &prefill::RateStats) -> Option<RateFacts> {
    (stats.bytes > Bytes::ZERO).then(|| RateFacts {
        bytes: stats.bytes.get(),
        duration_ns: stats.elapsed.0,
        bytes_per_s: stats.bytes_per_second(),
        service: Some(Latency::from(&stats.latency)),
    })
}

/// Speed over at least half a second.
struct Speed {
    since_ns: i128,
    bytes: Bytes,
    last: f64,
}

impl Speed {
    const fn new(now_ns: i128) -> Self {
        Self { since_ns: now_ns, bytes: Bytes::ZERO, last: 0.0 }
    }

    fn at(&mut self, now_ns: i128, done: Bytes) -> f64 {
        let elapsed = now_ns - self.since_ns;
        if elapsed >= 500_000_000 {
            #[expect(clippy::cast_precision_loss, reason = "only shown")]
            let seconds = elapsed as f64 / 1e9;
            self.last = done.saturating_sub(self.bytes).as_f64() / seconds;
            (self.since_ns, self.bytes) = (now_ns, done);
        }
        self.last
    }
}

/// A load of the engine.
#[derive(Debug)]
pub struct RealLoad(Running);

impl Load for RealLoad {
    fn next(&mut self, wait: Duration) -> Received {
        match self.0.slices().recv_timeout(wait) {
            Ok(slice) => Received::Slice(slice),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Ended,
        }
    }

    fn stop(&mut self) {
        self.0.stop();
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        let outcome = self.0.join()?;
        let warning = |warning: engine::Warning| Warning {
            id: warning.id.to_owned(),
            text: warning.text,
            value: None,
            limit: None,
            hint: None,
        };
        Ok(LoadOutcome {
            submitted: outcome.submitted,
            completed: outcome.completed,
            failures: outcome.errors.into_iter().map(failure).collect(),
            warnings: outcome.warnings.into_iter().map(warning).collect(),
            backend: outcome.backend.to_owned(),
            elapsed: outcome.elapsed,
        })
    }

    fn abandon(self) {
        // Its drop would wait for requests that may never be answered.
        std::mem::forget(self.0);
    }
}

fn failure(errors: engine::FirstErrors) -> Failure {
    Failure {
        disk: errors.disk,
        offset: errors.offset,
        operation: match errors.operation {
            machine::Operation::Read => "read",
            machine::Operation::Write => "write",
            machine::Operation::Flush => "flush",
        },
        error: errors.error.to_string(),
        count: errors.count,
    }
}
