use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use datastore::{
    Datastore, DiskRequest, Fill, HeldDir, Lent, OwnDir, Removed, Target, VirtualDisk,
};
use engine::client::Service;
use engine::prefill::{self, RateStats};
use engine::verify::{self, CheckError, DiskReport, Elsewhere, Setup};
use engine::{BackendChoice, EngineInstance, Guest};
use meter::Panel;
use over::MountedExport;
use run_store::gauge::GaugeSource;
use rustix::time::{ClockId, clock_gettime};
use units::{Bytes, Nanos, Ratio};

use crate::error::BenchError;
use crate::fleet::{DiskNeed, Driven, FleetInstance, StepOrder, driven, whole_disks};
use crate::plan::ResolvedPlan;
use crate::rig::export::ExportLoad;
use crate::rig::holding::Holding;
use crate::rig::machines::MachineSet;
use crate::rig::over::{Over, OverLoad, align_to_disks};
use crate::rig::services::Services;
use crate::rig::speed::Speed;
use crate::rig::through::{ServedLoad, Through};
use crate::rig::tile_servers::TileServers;
use crate::rig::{Clocks, Drives, Machines, PrefillSoFar, Prefilled, RealLoad, Rig};
use crate::tile_load::TileLoad;
use bystanders::{HostWatch, Watched};

/// Minimum and (next constant) maximum of the I/Os in flight per worker. Between them, it is the
/// number of the step's users divided by the workers, because a wait for a generator slot would be
/// a queue that the storage did not cause. Our choice: no array accepts more than a few thousand
/// I/Os from a host.
const DEPTH_MIN: u32 = 256;
const DEPTH_MAX: u32 = 8192;

/// Maximum buffer memory per worker: 8192 I/Os of 64 KiB. It is allocated only when needed.
const BUFFERS_MAX: Bytes = Bytes::new(512 << 20);

/// The engine on a datastore. Dropping it removes everything that the datastore created, unless it
/// is to be kept.
#[derive(Debug)]
pub struct RealRig {
    first: Option<Holding>,
    /// Second datastore, for moves of disks between it and the first one.
    second: Option<Holding>,
    /// True if both datastores are on one file system or device.
    shares: bool,
    /// Names of the disks on the second datastore.
    on_second: Arc<BTreeSet<String>>,
    keep: bool,
    filled: Vec<String>,
    is_rewrite_known: bool,
    seed: u64,
    /// Seed of the stamps. If an earlier run stamped the disks, its seed is used.
    stamp_seed: u64,
    options: engine::Options,
    /// Services for the endpoints, by name.
    services: Services,
    /// Real virtual machines for infrastructure operations.
    machines: Machines,
    /// Real servers of the tiles.
    servers: TileServers,
    power: Option<Arc<Panel>>,
    /// Tier through which disks of the first datastore are reached.
    through: Option<Through>,
    /// Protocol through which disks of the first datastore are reached.
    over: Option<Over>,
    /// Export of another server, if it is the first datastore.
    export: Option<Arc<MountedExport>>,
    /// Disks of tiles that may move here, keyed by the name of an instance's first disk.
    lent: BTreeMap<String, Lent>,
    /// Data for claiming the first datastore again during the run.
    reopen: Option<Reopen>,
}

/// Data for opening a datastore again: its target and the options of its first opening.
#[derive(Debug, Clone)]
pub struct Reopen {
    /// Target of the datastore.
    pub target: Target,
    /// Bytes that the first step needs.
    pub needed: Bytes,
    /// Options of the first opening.
    pub options: datastore::Options,
}

/// Second datastore, opened.
#[derive(Debug)]
pub struct SecondStore {
    /// The datastore itself.
    pub store: Datastore,
    /// True if it is on the file system or device of the first datastore and takes space from it.
    pub shares: bool,
}

/// Reads the clocks of this host.
pub fn clocks() -> Clocks {
    let read = |clock| {
        let now = clock_gettime(clock);
        i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
    };
    Clocks { monotonic_ns: read(ClockId::Monotonic), realtime_ns: read(ClockId::Realtime) }
}

impl RealRig {
    /// Creates a rig on an open datastore.
    ///
    /// The verification state is stored beside the disks. If the datastore can only hold disks (a
    /// file, a device), the state is in `state_dir`, which is created and later removed.
    pub fn new(
        datastore: Datastore,
        plan: &ResolvedPlan,
        keep: bool,
        state_dir: PathBuf,
    ) -> Result<Self, BenchError> {
        let options = engine::Options {
            workers: usize::try_from(plan.workers).unwrap_or(1),
            depth: DEPTH_MIN,
            buffers_max: BUFFERS_MAX,
            slice: plan.slice,
            backend: BackendChoice::Auto,
            pin: false,
            ..engine::Options::default()
        };
        let seed = plan.seed;
        let stamp_seed =
            if datastore.is_taken_over() { stamp_seed(datastore.state_dir(), plan)? } else { seed };
        let first = match plan.settings.engine.verify {
            true => Holding::verified(datastore, state_dir)?,
            false => Holding::plain(datastore),
        };
        Ok(Self {
            first: Some(first),
            second: None,
            shares: false,
            on_second: Arc::default(),
            keep,
            filled: Vec::new(),
            is_rewrite_known: false,
            seed,
            stamp_seed,
            options,
            services: Services::new(),
            machines: Machines::default(),
            servers: TileServers::none(),
            power: None,
            through: None,
            over: None,
            export: None,
            lent: BTreeMap::new(),
            reopen: None,
        })
    }

    /// Adds a second datastore for the disks that belong there. It is verified, removed and kept
    /// together with the first.
    ///
    /// # Errors
    ///
    /// Its verification state cannot be kept in `state_dir`. Then nothing that this program created
    /// remains.
    pub fn with_second(
        mut self,
        second: Option<SecondStore>,
        state_dir: PathBuf,
    ) -> Result<Self, BenchError> {
        let Some(SecondStore { store, shares }) = second else { return Ok(self) };
        let is_verified = self.first.as_ref().is_some_and(|first| first.state_dir().is_some());
        self.shares = shares;
        self.second = Some(match is_verified {
            true => Holding::verified(store, state_dir)?,
            false => Holding::plain(store),
        });
        Ok(self)
    }

    /// Sets the services for calls.
    #[must_use]
    pub fn with_services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// Sets the virtual machines of the run.
    #[must_use]
    pub fn with_machines(mut self, machines: Machines) -> Self {
        self.machines = machines;
        self
    }

    /// Sets the run's name for real servers of the tiles, and the executable file of this program,
    /// which serves as one of them. Above 0 requests to `stop`, their data is not made any further.
    #[must_use]
    pub fn with_servers(mut self, run: &str, program: &Path, stop: Arc<AtomicU8>) -> Self {
        self.servers = TileServers::of_run(run, program, stop);
        self
    }

    /// Sets the power meters that are read with every step.
    #[must_use]
    pub fn with_power(mut self, power: Option<Arc<Panel>>) -> Self {
        self.power = power;
        self
    }

    /// Sets the tier through which disks of the first datastore are reached.
    #[must_use]
    pub fn with_tier(mut self, through: Option<Through>) -> Self {
        self.through = through;
        self
    }

    /// Sets the protocol through which disks of the first datastore are reached.
    #[must_use]
    pub fn with_over(mut self, over: Option<Over>) -> Self {
        self.over = over;
        self
    }

    /// Watches the client of the export that is the datastore.
    #[must_use]
    pub fn with_export(mut self, export: Option<Arc<MountedExport>>) -> Self {
        self.export = export;
        self
    }

    /// Allows the rig to clear the first datastore and to claim it again during the run.
    #[must_use]
    pub fn with_reopen(mut self, reopen: Reopen) -> Self {
        self.reopen = Some(reopen);
        self
    }

    /// Creates a rig for single loads on an open datastore, with one worker and no verification.
    /// Dropping or removing the rig removes everything that the datastore created.
    pub fn over(datastore: Datastore, seed: u64, slice: Nanos) -> Self {
        let options = engine::Options {
            depth: DEPTH_MIN,
            buffers_max: BUFFERS_MAX,
            slice,
            ..engine::Options::default()
        };
        Self {
            first: Some(Holding::plain(datastore)),
            second: None,
            shares: false,
            on_second: Arc::default(),
            keep: false,
            filled: Vec::new(),
            is_rewrite_known: true,
            seed,
            stamp_seed: seed,
            options,
            services: Services::new(),
            machines: Machines::default(),
            servers: TileServers::none(),
            power: None,
            through: None,
            over: None,
            export: None,
            lent: BTreeMap::new(),
            reopen: None,
        }
    }

    /// Sets the start time of the next load on the monotonic clock. Otherwise the load starts as
    /// soon as it is set up.
    pub const fn begin_at(&mut self, at: Nanos) {
        self.options.begin_at = Some(at);
    }

    /// Sets if the disks stay when the rig is dropped.
    pub const fn set_keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// Sets the length of slices for later loads.
    pub const fn set_slice(&mut self, slice: Nanos) {
        self.options.slice = slice;
    }

    /// Leaves the disks in place, regardless of the options.
    pub fn keep(mut self) {
        self.keep = true;
        // The state that stays is a few megabytes in the directory of runs, where `runs` shows it.
        let mut removed = Removed::default();
        self.holdings_mut().for_each(|own| own.remove_state(&mut removed));
    }

    fn holdings(&self) -> impl Iterator<Item = &Holding> {
        self.first.iter().chain(&self.second)
    }

    fn holdings_mut(&mut self) -> impl Iterator<Item = &mut Holding> {
        self.first.iter_mut().chain(&mut self.second)
    }

    /// Returns the setup for verifying writes from now on; `None` without verification.
    fn verification(&self) -> Option<Setup> {
        let state_dir = self.first.as_ref()?.state_dir()?.clone();
        let now = u64::try_from(self.clocks().realtime_ns).unwrap_or(0);
        let elsewhere = self.second.as_ref().and_then(Holding::state_dir);
        let elsewhere = elsewhere.map(|state_dir| Elsewhere {
            disks: Arc::clone(&self.on_second),
            state_dir: state_dir.clone(),
        });
        Some(Setup { state_dir, seed: self.stamp_seed, epoch_unix_ns: now, elsewhere })
    }

    /// Returns the first datastore of the rig.
    pub fn datastore(&self) -> &Datastore {
        &self.first.as_ref().expect("the holding is present until the rig is dropped").store
    }

    /// Returns the second datastore, if there is one.
    pub fn second(&self) -> Option<&Datastore> {
        self.second.as_ref().map(|own| &own.store)
    }

    /// Returns the datastore that holds a disk.
    fn holder_of(&self, disk: &str) -> &Datastore {
        self.second().filter(|_| self.on_second.contains(disk)).unwrap_or(self.datastore())
    }

    /// Keeps disks and verification state as evidence when the rig is dropped. Returns the paths of
    /// the disks, and of the state if it is elsewhere.
    pub fn keep_evidence(&mut self) -> Vec<PathBuf> {
        self.keep = true;
        self.holdings().flat_map(Holding::evidence).collect()
    }

    /// Removes everything that was created, unless it is to be kept.
    pub fn clear(mut self) -> Removed {
        self.give_up()
    }

    /// Removes everything as [`RealRig::clear`] does. The first failed removal is the error.
    /// Returns the paths that remain.
    pub fn remove(self) -> Result<Vec<PathBuf>, BenchError> {
        let mut removed = self.clear();
        match removed.failed.is_empty() {
            true => Ok(removed.kept),
            false => Err(removed.failed.remove(0).into()),
        }
    }

    fn give_up(&mut self) -> Removed {
        // Virtual machines use the disks and servers the datastore, so they end first.
        self.machines = Machines::default();
        self.servers.stop();
        let mut removed = Removed::default();
        // Between loads the tier is closed, and the datastore has all writes.
        if let Some(through) = self.through.take() {
            removed.and(through.into_store().clear());
        }
        for own in [self.second.take(), self.first.take()].into_iter().flatten() {
            if !self.keep {
                removed.and(own.clear());
            }
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

    /// Finds the disks that an earlier run filled, and returns their total size.
    fn recognise<'a>(
        &mut self,
        disks: impl Iterator<Item = (&'a VirtualDisk, &'a DiskNeed)>,
    ) -> Bytes {
        let mut bytes = Bytes::ZERO;
        for (disk, need) in disks {
            let store = self.holder_of(&disk.name);
            let is_new = store.is_adopted(&disk.name) && !self.filled.contains(&disk.name);
            if is_new && store.is_filled(disk, &self.fill(need)) {
                self.filled.push(disk.name.clone());
                bytes = bytes + disk.size;
            }
        }
        bytes
    }

    /// Records filled and synced disks, also in the datastore.
    fn record(&mut self, filled: &[String], plans: &[prefill::Plan]) -> Result<(), BenchError> {
        for plan in plans.iter().filter(|plan| filled.contains(&plan.disk.name)) {
            let fill = Fill {
                seed: plan.seed,
                compressible_percent: plan.compressible_percent,
                dedupable_percent: plan.dedupable_percent,
            };
            self.holder_of(&plan.disk.name).record_filled(&plan.disk, &fill)?;
        }
        self.filled.extend(filled.iter().cloned());
        Ok(())
    }

    fn provision(&mut self, disks: &[DiskNeed]) -> Result<Vec<VirtualDisk>, BenchError> {
        let (first, second): (Vec<_>, Vec<_>) = disks.iter().partition(|disk| disk.on.is_first());
        let names = second.iter().map(|disk| &disk.name);
        let names: Vec<_> = names.filter(|name| !self.on_second.contains(*name)).collect();
        if !names.is_empty() {
            Arc::make_mut(&mut self.on_second).extend(names.into_iter().cloned());
        }
        let of = |own: &mut Option<Holding>, needs: Vec<&DiskNeed>| match own {
            Some(own) if !needs.is_empty() => own.provision(&requests(needs)),
            _ => Ok(Vec::new()),
        };
        let mut second = of(&mut self.second, second)?.into_iter();
        let mut first = of(&mut self.first, first)?.into_iter();
        // In the order in which they were asked for.
        let next = |disk: &DiskNeed| if disk.on.is_first() { first.next() } else { second.next() };
        Ok(disks.iter().filter_map(next).collect())
    }
}

impl RealRig {
    /// Checks that the datastores support the operations on whole disks, by trying them before any
    /// load.
    ///
    /// # Errors
    ///
    /// [`datastore::DatastoreError::NoReflink`] if disks must share blocks but cannot, or must be
    /// deleted but are not files.
    pub fn check_operations(&self, plan: &ResolvedPlan) -> Result<(), BenchError> {
        for disk in whole_disks(&plan.tile_set) {
            let second = self.second().filter(|_| !disk.on.is_first());
            let store = second.unwrap_or(self.datastore());
            let is_file = store.state_dir().is_some();
            if disk.shares {
                store.try_link()?;
            } else if !is_file {
                return Err(datastore::DatastoreError::no_reflink(store.path()).into());
            }
        }
        Ok(())
    }
}

impl Drop for RealRig {
    fn drop(&mut self) {
        // A panic or an early return: an error cannot be reported here, and `cleanup` finds the
        // rest.
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

    fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        let second = self.second().filter(|_| !self.shares).map(Datastore::capacity);
        load.fits(self.capacity(), second)
    }

    fn watch(&self) -> Option<HostWatch> {
        let device = self.datastore().preflight().device.as_ref();
        let watch = HostWatch::of_device(device.and_then(|device| {
            let (major, minor) = device.number.split_once(':')?;
            let number = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
            Some(Watched { number, name: device.name.clone() })
        }));
        // The servers of a protocol are a part of the measured storage, so they do not count as a
        // disturbance.
        Some(watch)
    }

    fn meters(&self) -> Vec<Box<dyn GaugeSource>> {
        bystanders::meters()
    }

    fn power(&self) -> Option<Arc<Panel>> {
        self.power.clone()
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
        // The speed of rewriting is a property of the storage, measured once.
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
        // An adopted disk may have been written in part or as a whole before.
        let is_first = !report.filled.iter().any(|disk| self.holder_of(disk).is_adopted(disk));
        Ok(Some(Prefilled {
            bytes: report.first_write.bytes.get(),
            first_write: if is_first { report.first_write } else { RateStats::default() },
            rewrite: report.rewrite,
            prepared_before_bytes,
            first_write_absent: (!is_first).then(|| PREPARED_BEFORE.to_owned()),
        }))
    }

    fn renew_disks(&mut self) -> Result<bool, BenchError> {
        let Some(Reopen { target, needed, options }) = self.reopen.clone() else {
            return Ok(false);
        };
        let Some(first) = self.first.take() else { return Ok(false) };
        let mut removed = first.clear();
        self.filled.clear();
        if !removed.failed.is_empty() {
            return Err(removed.failed.remove(0).into());
        }
        // The datastore is examined as at the start, so changes since then are refused.
        self.first = Some(Holding::plain(Datastore::open(&target, needed, &options)?));
        Ok(true)
    }

    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        let mut found = Vec::new();
        for own in self.holdings() {
            let Some(state_dir) = own.state_dir() else { continue };
            found.extend(self.read_back(&own.store, own.store.disks(), state_dir)?);
        }
        Ok((!found.is_empty()).then(|| found.join("; on the second datastore ")))
    }

    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<RealLoad, BenchError> {
        self.drive(driven(plan, order)?)
    }
}

impl RealRig {
    /// Reads back disks that another part of the run created, as [`Rig::check_written`] does.
    ///
    /// # Errors
    ///
    /// The disks are not visible here, cannot be read, or have wrong blocks.
    pub fn check_lent(
        &self,
        run_id: &str,
        disks: &[DiskNeed],
    ) -> Result<Option<String>, BenchError> {
        if self.first.as_ref().is_none_or(|own| own.state_dir().is_none()) {
            return Ok(None);
        }
        let Lent { state_dir, disks } = self.datastore().lent(run_id, &requests(disks))?;
        self.read_back(self.datastore(), &disks, &state_dir)
    }

    fn read_back(
        &self,
        store: &Datastore,
        disks: &[VirtualDisk],
        state_dir: &HeldDir,
    ) -> Result<Option<String>, BenchError> {
        let report = verify::check_all(disks, state_dir)?;
        let mut wrong: Vec<String> = report.disks.iter().flat_map(DiskReport::bad).collect();
        let total: u64 = report.disks.iter().map(DiskReport::bad_total).sum();
        match total.saturating_sub(wrong.len() as u64) {
            0 => {}
            more => wrong.push(format!("and {more} more blocks")),
        }
        // Disks of an earlier run that this run did not use are still there.
        let gone = report.missing.iter().filter(|disk| !store.has_disk(disk));
        wrong.extend(gone.map(|disk| format!("disk \"{disk}\" is gone")));
        if !wrong.is_empty() {
            return Err(BenchError::Mismatch(wrong));
        }
        let bytes = Bytes::new(report.disks.iter().map(|disk| disk.bytes_judged).sum());
        Ok(Some(format!("{bytes} were read back; every block has its last written content")))
    }
}

impl Drives for RealRig {
    fn drive(&mut self, load: Vec<Driven>) -> Result<RealLoad, BenchError> {
        self.drive_with(load, &BTreeMap::new())
    }
}

impl RealRig {
    /// Drives a load in which some tiles are on other hosts until they move here. For each of these
    /// tiles, `guests` has the identifier of the run that created its disks ([`Datastore::lent`]).
    ///
    /// # Errors
    ///
    /// As [`Drives::drive`]; also if disks of others are not visible here.
    pub fn drive_with(
        &mut self,
        load: Vec<Driven>,
        guests: &BTreeMap<u32, String>,
    ) -> Result<RealLoad, BenchError> {
        let users: u32 = load.iter().map(|driven| driven.instance.users).sum();
        let workers = u32::try_from(self.options.workers).unwrap_or(1).max(1);
        let depth = users.div_ceil(workers).clamp(DEPTH_MIN, DEPTH_MAX);
        self.servers.make(&load, &self.services, self.datastore())?;
        let mut ready = Vec::with_capacity(load.len());
        let mut machines = Vec::new();
        for Driven { instance, machine } in load {
            let (disks, guest) = match instance.member.tile.and_then(|tile| guests.get(&tile)) {
                None => (self.provision(&instance.disks)?, None),
                Some(run_id) => {
                    let Lent { state_dir, disks } = self.lent(run_id, &instance.disks)?;
                    (disks, Some(Guest { state_dir: Some(state_dir) }))
                }
            };
            let services = self.answering(&instance, &disks, &mut machines)?;
            let FleetInstance { shape, asks, .. } = instance;
            ready.push(EngineInstance { machine, shape, disks, services, asks, guest });
        }
        let verify = self.verification();
        let begin_at = self.options.begin_at.take();
        let tier = self.serve(&ready)?;
        let over = self.serve_over(&mut ready)?;
        // Afterwards, because the initiator's disks can have larger sectors than the files.
        let most = align_to_disks(&mut ready);
        let served = tier.as_ref().map(ServedLoad::way);
        let served = served.or_else(|| over.as_ref().and_then(OverLoad::connection));
        let options = engine::Options { depth, verify, begin_at, served, ..self.options.clone() };
        let unit = Bytes::new(u64::from(most));
        let running = engine::start(ready, options)?;
        let servers = self.servers.watch()?;
        let began = meter::monotonic();
        let export = self.export.as_ref().map(ExportLoad::new);
        Ok(RealLoad { running, depth, unit, began, machines, tier, over, export, servers })
    }

    /// Serves a load's disks on the first datastore through the tier, if there is one.
    fn serve<M>(&mut self, load: &[EngineInstance<M>]) -> Result<Option<ServedLoad>, BenchError> {
        let Some(through) = &mut self.through else { return Ok(None) };
        let disks = load.iter().flat_map(|own| &own.disks);
        let first = disks.filter(|disk| !self.on_second.contains(&disk.name));
        through.serve(first).map(Some)
    }

    /// Serves a load's disks on the first datastore through the protocol, if there is one, and
    /// replaces them by the disks at the initiator.
    fn serve_over<M>(
        &self,
        load: &mut [EngineInstance<M>],
    ) -> Result<Option<OverLoad>, BenchError> {
        let Some(over) = &self.over else { return Ok(None) };
        let is_first = |disk: &VirtualDisk| !self.on_second.contains(&disk.name);
        let disks = load.iter().flat_map(|own| &own.disks).filter(|disk| is_first(disk));
        let served = over.serve(disks, self.options.slice)?;
        load.iter_mut().flat_map(|own| &mut own.disks).for_each(|disk| served.replace(disk));
        Ok(Some(served))
    }

    /// Returns the services for an instance's endpoints, in the order of the endpoints: network
    /// services, or virtual machines here.
    fn answering(
        &mut self,
        instance: &FleetInstance,
        disks: &[VirtualDisk],
        machines: &mut Vec<Arc<MachineSet>>,
    ) -> Result<Vec<Arc<Service>>, BenchError> {
        let named = |name| self.services.get(name).cloned();
        let mut known: Vec<_> = instance.endpoints.iter().map(named).collect();
        if let Some(need) = &instance.application {
            for (own, protocol) in known.iter_mut().zip(&instance.protocols) {
                if own.is_none() {
                    *own = self.servers.service(need, *protocol, self.datastore())?;
                }
            }
        }
        if known.iter().all(Option::is_some) {
            return Ok(known.into_iter().flatten().collect());
        }
        let set = self.machines.of_instance(instance, disks)?;
        let answering = instance.endpoints.iter().map(|name| Arc::new(set.answering(name)));
        let answering = answering.collect();
        machines.push(set);
        Ok(answering)
    }
}

impl RealRig {
    /// Opens the disks of tiles that may move here ([`RealRig::drive_with`]), so that the next load
    /// starts in time for any number of disks. They are closed with the load.
    ///
    /// # Errors
    ///
    /// Disks of others are not visible here.
    pub fn open_guests(
        &mut self,
        plan: &ResolvedPlan,
        load: &[Driven],
        guests: &BTreeMap<u32, String>,
    ) -> Result<(), BenchError> {
        // A tile that moves back may have to start anew there.
        self.options.begins_anew = plan.may_move();
        self.lent.clear();
        for Driven { instance, .. } in load {
            let (Some(run_id), Some(first)) =
                (instance.member.tile.and_then(|tile| guests.get(&tile)), instance.disks.first())
            else {
                continue;
            };
            let lent = self.datastore().lent(run_id, &requests(&instance.disks))?;
            self.lent.insert(first.name.clone(), lent);
        }
        Ok(())
    }

    /// Opens the disks of one instance that another part of the run created.
    fn lent(&mut self, run_id: &str, disks: &[DiskNeed]) -> Result<Lent, BenchError> {
        let open = disks.first().and_then(|first| self.lent.remove(&first.name));
        match open {
            Some(lent) => Ok(lent),
            None => Ok(self.datastore().lent(run_id, &requests(disks))?),
        }
    }
}

fn requests<'a>(disks: impl IntoIterator<Item = &'a DiskNeed>) -> Vec<DiskRequest> {
    let request = |disk: &DiskNeed| DiskRequest { name: disk.name.clone(), size: disk.size };
    disks.into_iter().map(request).collect()
}

/// Reason why there is no speed of the first write.
const PREPARED_BEFORE: &str = "prepared before";

/// Returns the seed of the stamps on adopted disks. With verification, it is the seed of the
/// earlier run, if known. Otherwise it is a new one, so that stamps of an earlier run with the same
/// seed are not taken for ours. Without verification, the state of these disks is dropped.
fn stamp_seed(state_dir: Option<&OwnDir>, plan: &ResolvedPlan) -> Result<u64, BenchError> {
    let seed = plan.seed;
    let Some(state_dir) = state_dir else { return Ok(seed) };
    if !plan.settings.engine.verify {
        verify::forget(state_dir).map_err(CheckError::State)?;
        return Ok(seed);
    }
    let kept = verify::kept_seed(state_dir).map_err(CheckError::State)?;
    let now = clock_gettime(ClockId::Realtime);
    Ok(kept.unwrap_or_else(|| {
        state_machine::mix(
            seed ^ state_machine::mix(now.tv_nsec.unsigned_abs() ^ now.tv_sec.unsigned_abs()),
        )
    }))
}

/// Maximum amount of data that is rewritten to measure the rewrite speed: seconds on an ordinary
/// disk.
const REWRITE_MAX: Bytes = Bytes::new(128 << 20);

fn percent(ratio: Ratio) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let percent = (ratio.get() * 100.0).round() as u8;
    percent
}
