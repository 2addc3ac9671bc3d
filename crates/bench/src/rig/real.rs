use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use datastore::{Datastore, DiskList, DiskRequest, Fill, HeldDir, OwnDir, Removed, VirtualDisk};
use engine::client::Service;
use engine::prefill::{self, RateStats};
use engine::verify::{self, CheckError, DiskReport, Setup};
use engine::{BackendChoice, EngineInstance, Running};
use record::gauge::GaugeSource;
use record::run::Warning;
use rustix::time::{ClockId, clock_gettime};
use units::{Bytes, Nanos, Ratio};

use crate::error::BenchError;
use crate::fleet::{DiskNeed, Driven, StepOrder, driven};
use crate::plan::{ResolvedPlan, endpoints};
use crate::rig::{
    Clocks, Drives, Failure, Load, LoadOutcome, PrefillSoFar, Prefilled, Received, Rig,
};
use host::{HostWatch, Watched};

/// Bounds of the I/Os each worker can have in flight. Within them it is as many as the step
/// has users, shared out over the workers: what waits for a slot of ours is a queue that the
/// storage did not make. Our choice: no array takes more than a few thousand from a host.
const DEPTH_MIN: u32 = 256;
const DEPTH_MAX: u32 = 8192;

/// Most buffer memory per worker; taken only as it is needed. 8192 I/Os of 64 KiB.
const BUFFERS_MAX: Bytes = Bytes::new(512 << 20);

/// The engine on a datastore. Dropping it removes what the datastore made, unless it is to
/// be kept.
#[derive(Debug)]
pub struct RealRig {
    datastore: Option<Datastore>,
    keep: bool,
    filled: Vec<String>,
    is_rewrite_known: bool,
    seed: u64,
    /// Of the stamps: as on the disks, where an earlier run stamped them.
    stamp_seed: u64,
    options: engine::Options,
    /// Where verification keeps its state, if there is any.
    state: Option<State>,
    /// What answers endpoints, by name.
    services: Services,
}

/// Services that are there, by the names of the endpoints that they answer.
pub type Services = BTreeMap<String, Arc<Service>>;

/// How long a service may take to accept the connection that shows that it is there. Our choice:
/// two repeats of a lost first packet (RFC 6298: 1 s, then 2 s) and time to answer.
const REACH_MAX: Duration = Duration::from_secs(5);

/// Resolves the names in a plan's addresses, and sees that somebody accepts a connection at each.
///
/// # Errors
///
/// When an address means nothing, or nobody is there.
pub fn reach(plan: &ResolvedPlan) -> Result<Services, BenchError> {
    let reached = endpoints::addresses(&plan.endpoints, &plan.tile_set)?
        .into_iter()
        .map(|(name, address)| Ok((name.clone(), Arc::new(Service::reach(address, REACH_MAX)?))));
    reached.collect()
}

/// The clocks of this machine.
pub fn clocks() -> Clocks {
    let read = |clock| {
        let now = clock_gettime(clock);
        i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
    };
    Clocks { monotonic_ns: read(ClockId::Monotonic), realtime_ns: read(ClockId::Realtime) }
}

/// Where verification keeps its state.
#[derive(Debug)]
struct State {
    dir: OwnDir,
    /// Unless it is beside the disks.
    outside: Option<Outside>,
}

/// State in a directory of its own.
#[derive(Debug)]
struct Outside {
    base: HeldDir,
    name: CString,
    disks: DiskList,
    listed: usize,
}

impl State {
    fn make(path: &Path) -> std::io::Result<Self> {
        let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidFilename);
        let base = path.parent().ok_or_else(invalid)?;
        let name = path.file_name().ok_or_else(invalid)?;
        let name = CString::new(name.as_bytes()).map_err(|_| invalid())?;
        std::fs::create_dir_all(base)?;
        let base = HeldDir::open(base)?;
        let dir = OwnDir::make(&base, &name)?;
        let disks = DiskList::create(&dir)?;
        Ok(Self { dir, outside: Some(Outside { base, name, disks, listed: 0 }) })
    }
}

impl RealRig {
    /// A rig on an open datastore.
    ///
    /// Verification keeps its state beside the disks; where only disks fit (a file, a
    /// device), in `state_dir`, which is made and removed.
    pub fn new(
        datastore: Datastore,
        plan: &ResolvedPlan,
        keep: bool,
        state_dir: PathBuf,
    ) -> Result<Self, BenchError> {
        let options = engine::Options {
            workers: usize::try_from(plan.workers.value).unwrap_or(1),
            depth: DEPTH_MIN,
            buffers_max: BUFFERS_MAX,
            slice: plan.slice.value,
            backend: BackendChoice::Auto,
            pin: false,
            ..engine::Options::default()
        };
        let state = match (plan.verify.value, datastore.state_dir()) {
            (false, _) => None,
            (true, Some(beside)) => Some(State { dir: beside.clone(), outside: None }),
            (true, None) => Some(
                State::make(&state_dir)
                    .map_err(|source| BenchError::StateDir { path: state_dir, source })?,
            ),
        };
        let seed = plan.seed.value;
        let stamp_seed =
            if datastore.is_taken_over() { stamp_seed(datastore.state_dir(), plan)? } else { seed };
        Ok(Self {
            datastore: Some(datastore),
            keep,
            filled: Vec::new(),
            is_rewrite_known: false,
            seed,
            stamp_seed,
            options,
            state,
            services: Services::new(),
        })
    }

    /// Calls go to these.
    #[must_use]
    pub fn with_services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// A rig for single loads on an open datastore: one worker, no verification. Dropping or
    /// removing it removes what the datastore made.
    pub fn over(datastore: Datastore, seed: u64, slice: Nanos) -> Self {
        let options = engine::Options {
            depth: DEPTH_MIN,
            buffers_max: BUFFERS_MAX,
            slice,
            ..engine::Options::default()
        };
        Self {
            datastore: Some(datastore),
            keep: false,
            filled: Vec::new(),
            is_rewrite_known: true,
            seed,
            stamp_seed: seed,
            options,
            state: None,
            services: Services::new(),
        }
    }

    /// The next load begins at this moment of the monotonic clock, not as soon as it is set up.
    pub const fn begin_at(&mut self, at: Nanos) {
        self.options.begin_at = Some(at);
    }

    /// Gives later loads slices of this width.
    pub const fn set_slice(&mut self, slice: Nanos) {
        self.options.slice = slice;
    }

    /// Leaves the disks in place, whatever was to become of them, and where they are.
    pub fn keep(mut self) {
        self.keep = true;
        // What stays is a few megabytes among the runs, where `runs` shows it.
        self.remove_state(&mut Removed::default());
    }

    /// How this moment's writes are followed, if they are.
    fn verification(&self) -> Option<Setup> {
        let state_dir = self.state.as_ref()?.dir.clone();
        let now = u64::try_from(self.clocks().realtime_ns).unwrap_or(0);
        Some(Setup { state_dir, seed: self.stamp_seed, epoch_unix_ns: now })
    }

    /// Removes state that is kept elsewhere than beside the disks.
    fn remove_state(&mut self, removed: &mut Removed) {
        if let Some(State { dir, outside: Some(outside) }) = self.state.take() {
            let Outside { base, name, disks, .. } = outside;
            drop(disks);
            removed.outside(dir, &base, &name);
        }
    }

    /// The datastore.
    pub fn datastore(&self) -> &Datastore {
        self.datastore.as_ref().expect("it is taken only when the rig is given up")
    }

    /// Leaves disks and state in place when the rig is given up: they are evidence. Where the
    /// disks are, and the state if that is elsewhere.
    pub fn keep_evidence(&mut self) -> Vec<PathBuf> {
        self.keep = true;
        let disks = self.datastore().path().to_owned();
        let outside = self.state.as_ref().filter(|state| state.outside.is_some());
        let state = outside.map(|state| state.dir.path().to_owned());
        std::iter::once(disks).chain(state).collect()
    }

    /// Removes what was made, unless it is to be kept.
    pub fn clear(mut self) -> Removed {
        self.give_up()
    }

    /// As [`RealRig::clear`]; the first thing that could not be removed is the error. Paths
    /// that stayed.
    pub fn remove(self) -> Result<Vec<PathBuf>, BenchError> {
        let mut removed = self.clear();
        match removed.failed.is_empty() {
            true => Ok(removed.kept),
            false => Err(removed.failed.remove(0).into()),
        }
    }

    fn give_up(&mut self) -> Removed {
        let datastore = self.datastore.take().filter(|_| !self.keep);
        let mut removed = datastore.map(Datastore::clear).unwrap_or_default();
        if !self.keep {
            self.remove_state(&mut removed);
        }
        removed
    }

    fn fill(&self, need: &DiskNeed) -> Fill {
        Fill {
            seed: self.seed,
            compressible_percent: percent(need.data.compressible),
            dedupable_percent: percent(need.data.dedupable),
        }
    }

    /// Finds among new-found disks those that an earlier run filled. Their bytes.
    fn recognise<'a>(
        &mut self,
        disks: impl Iterator<Item = (&'a VirtualDisk, &'a DiskNeed)>,
    ) -> Bytes {
        let mut bytes = Bytes::ZERO;
        for (disk, need) in disks {
            let is_new =
                self.datastore().is_adopted(&disk.name) && !self.filled.contains(&disk.name);
            if is_new && self.datastore().is_filled(disk, &self.fill(need)) {
                self.filled.push(disk.name.clone());
                bytes = bytes + disk.size;
            }
        }
        bytes
    }

    /// Remembers disks that are filled and synced, in the datastore too.
    fn record(&mut self, filled: &[String], plans: &[prefill::Plan]) -> Result<(), BenchError> {
        for plan in plans.iter().filter(|plan| filled.contains(&plan.disk.name)) {
            let fill = Fill {
                seed: plan.seed,
                compressible_percent: plan.compressible_percent,
                dedupable_percent: plan.dedupable_percent,
            };
            self.datastore().record_filled(&plan.disk, &fill)?;
        }
        self.filled.extend(filled.iter().cloned());
        Ok(())
    }

    fn provision(&mut self, disks: &[DiskNeed]) -> Result<Vec<VirtualDisk>, BenchError> {
        let request = |disk: &DiskNeed| DiskRequest { name: disk.name.clone(), size: disk.size };
        let requests: Vec<DiskRequest> = disks.iter().map(request).collect();
        let datastore = self.datastore.as_mut().expect("it is taken only at the end");
        let provisioned = datastore.provision(&requests)?;
        let outside = self.state.as_mut().and_then(|state| state.outside.as_mut());
        if let Some(outside) = outside {
            // After kill -9 the verification finds them by this.
            for disk in &datastore.disks()[outside.listed..] {
                outside.disks.add(disk).map_err(|source| BenchError::StateDir {
                    path: outside.base.path().to_owned(),
                    source,
                })?;
            }
            outside.listed = datastore.disks().len();
        }
        Ok(provisioned)
    }
}

impl Drop for RealRig {
    fn drop(&mut self) {
        // A panic or an early return: nobody is left to tell, and `cleanup` finds the rest.
        let _ = self.give_up();
    }
}

impl Rig for RealRig {
    type Load = RealLoad;

    fn clocks(&self) -> Clocks {
        clocks()
    }

    fn capacity(&self) -> Bytes {
        self.datastore().capacity()
    }

    fn watch(&self) -> Option<HostWatch> {
        let device = self.datastore().preflight().device.as_ref();
        Some(HostWatch::of_device(device.and_then(|device| {
            let (major, minor) = device.number.split_once(':')?;
            let number = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
            Some(Watched { number, name: device.name.clone() })
        })))
    }

    fn meters(&self) -> Vec<Box<dyn GaugeSource>> {
        host::meters()
    }

    fn can_rest(&self) -> bool {
        true
    }

    fn prepare(
        &mut self,
        disks: &[DiskNeed],
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError> {
        let open = self.provision(disks)?;
        let prepared_before_bytes = self.recognise(open.iter().zip(disks)).get();
        let plan = |(disk, need): (VirtualDisk, &DiskNeed)| {
            let fill = self.fill(need);
            prefill::Plan {
                filled: self.filled.contains(&disk.name),
                disk,
                compressible_percent: fill.compressible_percent,
                dedupable_percent: fill.dedupable_percent,
                seed: fill.seed,
            }
        };
        let plans: Vec<prefill::Plan> = open.into_iter().zip(disks).map(plan).collect();
        if plans.iter().all(|plan| plan.filled) {
            return Ok((prepared_before_bytes > 0).then(|| Prefilled {
                prepared_before_bytes,
                first_write_absent: Some(PREPARED_BEFORE.to_owned()),
                ..Prefilled::default()
            }));
        }
        // The rewrite figure is a fact about the storage, taken once.
        let rewrite_max = if self.is_rewrite_known { Bytes::ZERO } else { REWRITE_MAX };
        let verify = self.verification();
        let options = prefill::Options { rewrite_max, verify, ..prefill::Options::default() };
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
        self.is_rewrite_known = true;
        self.record(&report.filled, &plans)?;
        // What is there may have been written before it was left, in part or as a whole.
        let is_first = !report.filled.iter().any(|disk| self.datastore().is_adopted(disk));
        Ok(Some(Prefilled {
            bytes: report.first_write.bytes.get(),
            first_write: if is_first { report.first_write } else { RateStats::default() },
            rewrite: report.rewrite,
            prepared_before_bytes,
            first_write_absent: (!is_first).then(|| PREPARED_BEFORE.to_owned()),
        }))
    }

    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        let Some(state) = &self.state else { return Ok(None) };
        let report = verify::check_all(self.datastore().disks(), &state.dir)?;
        let mut wrong: Vec<String> = report.disks.iter().flat_map(DiskReport::bad).collect();
        let total: u64 = report.disks.iter().map(DiskReport::bad_total).sum();
        match total.saturating_sub(wrong.len() as u64) {
            0 => {}
            more => wrong.push(format!("and {more} more blocks")),
        }
        // What an earlier run left and this one did not use is not gone.
        let gone = report.missing.iter().filter(|disk| !self.datastore().has_disk(disk));
        wrong.extend(gone.map(|disk| format!("disk \"{disk}\" is gone")));
        if !wrong.is_empty() {
            return Err(BenchError::Mismatch(wrong));
        }
        let bytes = Bytes::new(report.disks.iter().map(|disk| disk.bytes_judged).sum());
        Ok(Some(format!("{bytes} were read back; every block holds what was written to it")))
    }

    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<RealLoad, BenchError> {
        self.drive(driven(plan, order)?)
    }
}

impl Drives for RealRig {
    fn drive(&mut self, load: Vec<Driven>) -> Result<RealLoad, BenchError> {
        let users: u32 = load.iter().map(|driven| driven.instance.users).sum();
        let workers = u32::try_from(self.options.workers).unwrap_or(1).max(1);
        let depth = users.div_ceil(workers).clamp(DEPTH_MIN, DEPTH_MAX);
        let mut ready = Vec::with_capacity(load.len());
        let mut most = 512;
        for Driven { instance, mut machine } in load {
            let disks = self.provision(&instance.disks)?;
            let unit = disks.iter().map(|disk| disk.alignment).max().unwrap_or(512);
            most = most.max(unit);
            machine.align_to(Bytes::new(u64::from(unit)));
            let services = instance.endpoints.iter().map_while(|name| self.services.get(name));
            let services = services.cloned().collect();
            ready.push(EngineInstance { machine, shape: instance.shape, disks, services });
        }
        let verify = self.verification();
        let begin_at = self.options.begin_at.take();
        let options = engine::Options { depth, verify, begin_at, ..self.options.clone() };
        let unit = Bytes::new(u64::from(most));
        Ok(RealLoad { running: engine::start(ready, options)?, depth, unit })
    }
}

/// Why there is no speed of the first write.
const PREPARED_BEFORE: &str = "prepared before";

/// The seed of stamps on disks that were taken over. Where they are followed, it goes on with
/// that of the earlier run. Where they are not, what is known of them is given up. Where nothing
/// is known, stamps of an earlier run with the same seed must not pass for ours.
fn stamp_seed(state_dir: Option<&OwnDir>, plan: &ResolvedPlan) -> Result<u64, BenchError> {
    let seed = plan.seed.value;
    let Some(state_dir) = state_dir else { return Ok(seed) };
    if !plan.verify.value {
        verify::forget(state_dir).map_err(CheckError::State)?;
        return Ok(seed);
    }
    let kept = verify::kept_seed(state_dir).map_err(CheckError::State)?;
    let now = clock_gettime(ClockId::Realtime);
    Ok(kept.unwrap_or_else(|| {
        machine::mix(seed ^ machine::mix(now.tv_nsec.unsigned_abs() ^ now.tv_sec.unsigned_abs()))
    }))
}

/// At most so much is written again for the rewrite figure: seconds on an ordinary disk.
const REWRITE_MAX: Bytes = Bytes::new(128 << 20);

fn percent(ratio: Ratio) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let percent = (ratio.get() * 100.0).round() as u8;
    percent
}

/// Speed over at least half a second; until then, since the beginning.
struct Speed {
    since_ns: i128,
    bytes: Bytes,
    last: f64,
    is_known: bool,
}

impl Speed {
    const fn new(now_ns: i128) -> Self {
        Self { since_ns: now_ns, bytes: Bytes::ZERO, last: 0.0, is_known: false }
    }

    fn at(&mut self, now_ns: i128, done: Bytes) -> f64 {
        let elapsed = now_ns - self.since_ns;
        if elapsed >= 500_000_000 {
            #[expect(clippy::cast_precision_loss, reason = "only shown")]
            let seconds = elapsed as f64 / 1e9;
            self.last = done.saturating_sub(self.bytes).as_f64() / seconds;
            (self.since_ns, self.bytes, self.is_known) = (now_ns, done, true);
        } else if !self.is_known && elapsed > 0 {
            #[expect(clippy::cast_precision_loss, reason = "only shown")]
            let seconds = elapsed as f64 / 1e9;
            return done.as_f64() / seconds;
        }
        self.last
    }
}

/// A load of the engine.
#[derive(Debug)]
pub struct RealLoad {
    running: Running,
    depth: u32,
    unit: Bytes,
}

impl RealLoad {
    /// How long after the moment it was to begin at it began.
    pub const fn began_late(&self) -> Nanos {
        self.running.began_late()
    }
}

impl GaugeSource for RealLoad {}

impl Load for RealLoad {
    fn next(&mut self, wait: Duration) -> Received {
        match self.running.slices().recv_timeout(wait) {
            Ok(slice) => Received::Slice(slice),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Ended,
        }
    }

    fn unit(&self) -> Bytes {
        self.unit
    }

    fn stop(&mut self) {
        self.running.stop();
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        let outcome = self.running.join()?;
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
            depth: self.depth,
            mismatches: outcome.mismatches.iter().map(ToString::to_string).collect(),
            failures: outcome.errors.into_iter().map(failure).collect(),
            warnings: outcome.warnings.into_iter().map(warning).collect(),
            backend: outcome.backend.to_owned(),
            elapsed: outcome.elapsed,
            handed_over_late: outcome.handed_over_late,
            cpu_s: Some((outcome.cpu_seconds_user, outcome.cpu_seconds_system)),
            disturbances: Vec::new(),
        })
    }

    fn abandon(self) {
        // Its drop would wait for requests that may never be answered.
        std::mem::forget(self.running);
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
        }
        .to_owned(),
        error: errors.error.to_string(),
        count: errors.count,
    }
}
