//! Real servers of the tiles, on the first datastore, from the first step that needs each to the
//! end of the run.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use applications::{Applications, Need, ServerSocket};
use datastore::Datastore;
use engine::client::{Address, Here, Service};
use run_store::gauge::GaugeName;
use run_store::run::{Disturbance, Warning};

use crate::error::BenchError;
use crate::plan::{PlanError, ResolvedPlan};

/// Largest share of the host's processors for servers and generator together. Beyond it a broken
/// limit says something about the processors and not about the storage. Our choice: at five tiles
/// on two cores the servers used 91 % and uploads broke their limit, at three 58 % and none did.
const CPU_MAX: f64 = 0.75;

/// Real applications of a run.
#[derive(Debug, Clone)]
pub(super) struct TileServers {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    run: String,
    all: Option<Applications>,
    services: BTreeMap<String, Arc<Service>>,
}

/// Socket of a server.
#[derive(Debug)]
struct Socket(ServerSocket);

impl Here for Socket {
    fn connect(&self) -> io::Result<UnixStream> {
        self.0.connect()
    }
}

/// Processor time of the servers since a load began.
#[derive(Debug)]
pub(super) struct ServersWatch {
    servers: TileServers,
    began: Instant,
    /// Processor seconds at the beginning, by application.
    before: BTreeMap<String, f64>,
}

/// Checks that the programs of all applications of a plan are here.
///
/// # Errors
///
/// A program is missing or of an unknown version.
pub fn check(plan: &ResolvedPlan) -> Result<(), BenchError> {
    let order = crate::fleet::StepOrder::whole(plan, 1, 0);
    let fleet = crate::fleet::fleet(plan, order)?;
    for need in fleet.instances.iter().filter_map(|own| own.application.as_ref()) {
        need.kind.check().map_err(Box::new)?;
    }
    Ok(())
}

impl TileServers {
    pub(super) fn of_run(run: &str) -> Self {
        let inner = Inner { run: run.to_owned(), all: None, services: BTreeMap::new() };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Service of an application, which is made and started if it does not run yet.
    pub(super) fn service(
        &self,
        need: &Need,
        store: &Datastore,
    ) -> Result<Arc<Service>, BenchError> {
        let inner = &mut *self.inner();
        if inner.all.is_none() {
            let refused = || PlanError::NoPlaceForServers { target: store.path().to_owned() };
            let directory = store.tree(c"applications").ok_or_else(refused)??;
            let all = Applications::new(directory.path(), &inner.run).map_err(Box::new)?;
            inner.all = Some(all);
        }
        let Some(all) = &mut inner.all else { unreachable!("it was just made") };
        let application = all.running(need).map_err(Box::new)?;
        if let Some(known) = inner.services.get(&need.name) {
            return Ok(Arc::clone(known));
        }
        let socket = Arc::new(Socket(application.socket.clone()));
        let address = Address::parse(application.address, "postgres")
            .map_err(|why| PlanError::Address { name: need.name.clone(), why })?;
        let service = Arc::new(Service::through(address, socket));
        inner.services.insert(need.name.clone(), Arc::clone(&service));
        Ok(service)
    }

    /// Begins to watch the servers; `None` if none runs.
    pub(super) fn watch(&self) -> Option<ServersWatch> {
        let before = self.cpu_seconds();
        let watch = || ServersWatch { servers: self.clone(), began: Instant::now(), before };
        self.inner().all.is_some().then(watch)
    }

    fn cpu_seconds(&self) -> BTreeMap<String, f64> {
        let inner = self.inner();
        let all = inner.all.iter().flat_map(Applications::all);
        all.filter_map(|(name, own)| Some((name.to_owned(), own.cpu_seconds()?))).collect()
    }

    /// Stops all servers. Their data stays until the datastore is cleared.
    pub(super) fn stop(&self) {
        let mut inner = self.inner();
        inner.services.clear();
        inner.all = None;
    }
}

impl ServersWatch {
    /// Checks that all servers still run. Returns notes about them, and a disturbance if processors
    /// were the limit. `driver` is the processor time of the generator, in seconds.
    ///
    /// # Errors
    ///
    /// A server ended during the load.
    pub(super) fn finish(
        self,
        driver: f64,
    ) -> Result<(Vec<Warning>, Vec<Disturbance>), BenchError> {
        let Self { servers, began, before } = self;
        let seconds = began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let after = servers.cpu_seconds();
        let inner = servers.inner();
        let Some(all) = &inner.all else { return Ok((Vec::new(), Vec::new())) };
        all.check().map_err(Box::new)?;
        let used = |name: &str| {
            after.get(name).map_or(0.0, |now| now - before.get(name).copied().unwrap_or(0.0))
        };
        let of_servers: f64 = all.all().map(|(name, _)| used(name)).sum();
        let busiest = all.all().max_by(|(a, _), (b, _)| used(a).total_cmp(&used(b)));
        let Some((name, application)) = busiest else { return Ok((Vec::new(), Vec::new())) };
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 processors")]
        let share = (of_servers + driver) / (seconds * cores as f64);
        let server = &application.server;
        let notes = vec![Warning {
            id: "real-servers".to_owned(),
            text: format!(
                "real servers answered the calls: {server}, each in {} of memory with its page \
                 cache. They used {:.2} s of processor time a second, and the load generator {:.2} s",
                application.memory,
                of_servers / seconds,
                driver / seconds
            ),
            value: Some(format!("{} servers", all.all().count())),
            limit: None,
            hint: None,
        }];
        let limited = (share > CPU_MAX).then(|| Disturbance {
            gauge: GaugeName::CpuOthers,
            by: format!("the tiles' own servers, most of all {server} of {name}"),
            value: share,
            limit: CPU_MAX,
        });
        Ok((notes, limited.into_iter().collect()))
    }
}
