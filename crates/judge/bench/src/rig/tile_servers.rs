//! Real servers of the tiles, on the first datastore. Each exists from the first step that needs it
//! to the end of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use applications::{ApplicationError, Applications, Deliveries, Endpoint, Need, ServerSocket};
use datastore::Datastore;
use engine::client::{Address, Here, Login, Service};
use run_store::gauge::{Gauge, GaugeName, Readings};
use run_store::run::{Disturbance, Warning};
use run_store::slice::{InstanceId, Slice};
use spec::workload::Protocol;

use crate::error::BenchError;
use crate::fleet::Driven;
use crate::plan::{PlanError, ResolvedPlan};
use crate::rig::services::Services;
use crate::rig::silence::Silence;
use crate::verdict::QUEUE_GREW;

/// Maximum share of the host's CPUs for servers and generator together. Above it, a broken limit
/// may be due to the CPUs and not the storage. Our choice: at five tiles on two cores the servers
/// used 91 % and uploads broke their limit; at three tiles they used 58 % and no limit was broken.
const CPU_MAX: f64 = 0.75;

/// Maximum time for a server to accept a connection. It already accepted one at its start.
const REACH_MAX: Duration = Duration::from_secs(5);

/// Maximum 95th percentile of mail delivery times (SPECmail2001, as cited in the workload).
const DELIVERY_MAX: Duration = Duration::from_secs(60);

/// Real applications of a run.
#[derive(Debug, Clone)]
pub(super) struct TileServers {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    run: String,
    /// Executable file of this program.
    program: PathBuf,
    /// Number of requests to stop.
    stop: Arc<AtomicU8>,
    all: Option<Applications>,
    /// Services, keyed by application and protocol.
    services: BTreeMap<(String, &'static str), Arc<Service>>,
    /// Instances of the current load and the names of their applications.
    owners: Vec<(InstanceId, String)>,
    /// Datastore of the current load.
    datastore: PathBuf,
}

/// Unix socket of a server, as a service.
#[derive(Debug)]
struct Socket(ServerSocket);

impl Here for Socket {
    fn connect(&self) -> io::Result<UnixStream> {
        self.0.connect()
    }
}

/// Watch over the CPU time of the servers during a load.
#[derive(Debug)]
pub(super) struct ServersWatch {
    servers: TileServers,
    began: Instant,
    /// CPU seconds at the start of the load, keyed by application.
    before: BTreeMap<String, f64>,
    /// CPU seconds of all servers at the last reading.
    read: f64,
    /// Number of queued mails at the start of the load, keyed by application.
    queued: BTreeMap<String, u64>,
    silence: Silence,
}

/// Checks that the programs of all applications of a plan are installed, and may use the datastore.
///
/// # Errors
///
/// A program is missing or of an unknown version, or the datastore is an export that only this user
/// may enter.
pub fn check(plan: &ResolvedPlan, is_on_export: bool) -> Result<(), BenchError> {
    let order = crate::fleet::StepOrder::whole(plan, 1, 0);
    let fleet = crate::fleet::fleet(plan, order)?;
    for need in fleet.instances.iter().filter_map(|own| own.application.as_ref()) {
        need.kind.check().map_err(Box::new)?;
        // FUSE shows a mount to nobody but the user who made it.
        if is_on_export {
            let what = "servers that run as another user keep their data on an export";
            return Err(BenchError::OverAlone { what });
        }
    }
    Ok(())
}

impl TileServers {
    /// Creates an empty set without a run. A web site is refused, because the executable file of
    /// this program is unknown here.
    pub(super) fn none() -> Self {
        Self::of_run("none", Path::new("tilemark"), Arc::default())
    }

    pub(super) fn of_run(run: &str, program: &Path, stop: Arc<AtomicU8>) -> Self {
        let (run, program) = (run.to_owned(), program.to_owned());
        let (services, owners) = (BTreeMap::new(), Vec::new());
        let datastore = PathBuf::new();
        let inner = Inner { run, program, stop, all: None, services, owners, datastore };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates the data of a load's applications, in parallel where possible. Applications whose
    /// services are given are skipped. Each application is started when its service is first used.
    pub(super) fn make(
        &self,
        load: &[Driven],
        given: &Services,
        store: &Datastore,
    ) -> Result<(), BenchError> {
        let instances = load.iter().map(|driven| &driven.instance);
        let ours =
            instances.filter(|own| own.endpoints.iter().any(|name| !given.contains_key(name)));
        let owned = ours.filter_map(|own| Some((own.shape.instance, own.application.as_ref()?)));
        let owned: Vec<(InstanceId, &Need)> = owned.collect();
        let mut inner = self.inner();
        store.path().clone_into(&mut inner.datastore);
        inner.owners = owned.iter().map(|(own, need)| (*own, need.name.clone())).collect();
        if owned.is_empty() {
            return Ok(());
        }
        let needs: Vec<&Need> = owned.into_iter().map(|(_, need)| need).collect();
        inner.all(store)?.make(&needs).map_err(failed)
    }

    /// Returns the service of an application for this protocol; `None` if the application does not
    /// speak it. Creates and starts the application if it does not run yet.
    pub(super) fn service(
        &self,
        need: &Need,
        protocol: Protocol,
        store: &Datastore,
    ) -> Result<Option<Arc<Service>>, BenchError> {
        let inner = &mut *self.inner();
        let application = inner.all(store)?.running(need).map_err(failed)?;
        let endpoint = application.endpoint(protocol.name());
        let Some(endpoint) = endpoint.cloned() else { return Ok(None) };
        let key = (need.name.clone(), protocol.name());
        if let Some(known) = inner.services.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let service = Arc::new(service_at(need, &endpoint)?);
        inner.services.insert(key, Arc::clone(&service));
        Ok(Some(service))
    }

    /// Starts to watch the servers; `None` if no server runs.
    ///
    /// # Errors
    ///
    /// A mail server's queue cannot be read.
    pub(super) fn watch(&self) -> Result<Option<ServersWatch>, BenchError> {
        let before = self.cpu_seconds();
        let mut inner = self.inner();
        let Some(all) = &mut inner.all else { return Ok(None) };
        let deliveries = all.deliveries().map_err(Box::new)?;
        let queued = deliveries.into_iter().map(|(name, own)| (name, own.queued)).collect();
        let (servers, began, read) = (self.clone(), Instant::now(), before.values().sum());
        let silence = Silence::of(inner.owners.iter().cloned(), &inner.datastore);
        Ok(Some(ServersWatch { servers, began, before, read, queued, silence }))
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

impl Inner {
    /// Returns the applications of the run. The first call creates their directory on the
    /// datastore.
    fn all(&mut self, store: &Datastore) -> Result<&mut Applications, BenchError> {
        let all = match self.all.take() {
            Some(all) => all,
            None => {
                let refused = || PlanError::NoPlaceForServers { target: store.path().to_owned() };
                let directory = store.tree(c"applications").ok_or_else(refused)??;
                let all = Applications::new(directory.path(), &self.run, &self.program);
                all.map_err(failed)?.with_stop(Arc::clone(&self.stop))
            }
        };
        Ok(self.all.insert(all))
    }
}

fn failed(error: ApplicationError) -> BenchError {
    match error {
        ApplicationError::Stopped => BenchError::Interrupted,
        error => BenchError::Application(Box::new(error)),
    }
}

fn service_at(need: &Need, endpoint: &Endpoint) -> Result<Service, BenchError> {
    let address = Address::parse(&endpoint.address, endpoint.protocol)
        .map_err(|why| PlanError::Address { name: need.name.clone(), why })?;
    let login = Login { password: endpoint.password.clone(), trust: None };
    Ok(match &endpoint.socket {
        Some(socket) => Service::through(address, login, Arc::new(Socket(socket.clone()))),
        None => Service::reach(address, login, REACH_MAX)?,
    })
}

impl ServersWatch {
    /// Checks that all servers still run, and answered calls in this slice.
    ///
    /// # Errors
    ///
    /// A server exited by itself, or hangs.
    pub(super) fn check(&mut self, slice: Option<&Slice>) -> Result<(), BenchError> {
        let mut inner = self.servers.inner();
        let Some(all) = &mut inner.all else { return Ok(()) };
        all.check().map_err(Box::new)?;
        let noted = slice.map_or(Ok(()), |slice| self.silence.note(slice, all));
        Ok(noted.map_err(Box::new)?)
    }

    /// Returns the CPU time of the servers since the last call.
    pub(super) fn readings(&mut self) -> Readings {
        let now = self.servers.cpu_seconds().values().sum::<f64>();
        let used = (now - std::mem::replace(&mut self.read, now)).max(0.0);
        Readings {
            gauges: vec![Gauge::of_host(GaugeName::ServersCpu, used)],
            ..Readings::default()
        }
    }

    /// Returns notes about the servers, and a disturbance if the CPUs were the bottleneck. `driver`
    /// is the CPU time of the generator, in seconds.
    ///
    /// # Errors
    ///
    /// The log of a mail server cannot be read.
    pub(super) fn finish(
        self,
        driver: f64,
    ) -> Result<(Vec<Warning>, Vec<Disturbance>), BenchError> {
        let Self { servers, began, before, queued, .. } = self;
        let seconds = began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let after = servers.cpu_seconds();
        let mut inner = servers.inner();
        let Some(all) = &mut inner.all else { return Ok((Vec::new(), Vec::new())) };
        let delivered = all.deliveries().map_err(Box::new)?;
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
        let kinds = all.all().map(|(_, own)| format!("{} in {}", own.server, own.memory));
        let kinds: BTreeSet<String> = kinds.collect();
        let mut notes = vec![Warning {
            id: "real-servers".to_owned(),
            text: format!(
                "real servers answered the calls, each with this memory, page cache included: {}. \
                 They used {:.2} s of processor time per second, the load generator {:.2} s",
                kinds.into_iter().collect::<Vec<_>>().join("; "),
                of_servers / seconds,
                driver / seconds
            ),
            value: Some(format!("{} servers", all.all().count())),
            limit: None,
            hint: None,
        }];
        notes.extend(delivered.iter().flat_map(|(name, own)| {
            mail_notes(name, own, queued.get(name).copied().unwrap_or(0), seconds)
        }));
        notes.extend(in_memory(all));
        let limited = processor_limit(share, format!("{server} of {name}"));
        Ok((notes, limited.into_iter().collect()))
    }
}

/// Returns a disturbance if servers and generator used too large a share of the CPUs.
fn processor_limit(share: f64, by: String) -> Option<Disturbance> {
    let limit = CPU_MAX;
    (share > limit).then_some(Disturbance { gauge: GaugeName::CpuOwn, by, value: share, limit })
}

/// Returns a note if an application's data fits into its memory limit, so that nearly all reads are
/// cache hits.
fn in_memory(all: &Applications) -> Option<Warning> {
    let (name, own) = all.all().find(|(_, own)| own.data <= own.memory)?;
    Some(Warning {
        id: "servers-data-in-memory".to_owned(),
        text: format!(
            "the data of {name} fits into the memory of its server: the storage sees its writes \
             and flushes, but few of its reads"
        ),
        value: Some(own.data.to_string()),
        limit: Some(own.memory.to_string()),
        hint: Some("use a larger --footprint to measure reads".to_owned()),
    })
}

/// Returns notes about the mails of an application: their deliveries, and its queue if the queue
/// became too long.
fn mail_notes(name: &str, own: &Deliveries, queued: u64, seconds: f64) -> Vec<Warning> {
    let Deliveries { accepted, failed, queued: now, .. } = own;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 mails")]
    let in_a_minute = *accepted as f64 / seconds * DELIVERY_MAX.as_secs_f64();
    let p95 = own.p95().map(|delay| format!("{:.3} s", delay.as_secs_f64()));
    let delivered = own.delays.len();
    let minute = DELIVERY_MAX.as_secs();
    let note = Warning {
        id: "mail-delivery".to_owned(),
        text: format!(
            "{name} accepted {accepted} mails and made {delivered} deliveries, {failed} recipients \
             got an error; its queue went from {queued} to {now} mails. 95 % of the deliveries were \
             made within the value"
        ),
        value: Some(p95.unwrap_or_else(|| "no delivery".to_owned())),
        limit: Some(format!("{minute} s")),
        hint: None,
    };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 mails")]
    let growth = now.saturating_sub(queued) as f64;
    let grew = (growth > in_a_minute.max(1.0)).then(|| Warning {
        id: QUEUE_GREW.to_owned(),
        text: format!(
            "{name} accepted mails faster than it delivered them: its queue grew by more than the \
             mails of {minute} s"
        ),
        value: Some(format!("{growth:.0} mails")),
        limit: Some(format!("{in_a_minute:.0} mails")),
        hint: Some(
            "delivery needs more of the storage than acceptance; use fewer tiles".to_owned(),
        ),
    });
    [Some(note), grew].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_beyond_three_quarters_explain_a_broken_limit() {
        assert_eq!(processor_limit(CPU_MAX, "postgres".to_owned()), None);
        let found = processor_limit(0.91, "postgres of tile-1".to_owned()).expect("too much");
        assert_eq!(
            found.to_string(),
            "the run's own servers and generator used 91 % of the processors (limit 75 %), most of \
             it postgres of tile-1"
        );
    }

    #[test]
    fn queue_that_grows_by_a_minute_of_mails_is_named() {
        let own = |queued| Deliveries { accepted: 200, queued, ..Deliveries::default() };
        let ids = |queued, before| {
            let notes = mail_notes("tile-1-mail", &own(queued), before, 100.0);
            notes.into_iter().map(|note| note.id).collect::<Vec<_>>()
        };
        // 2 mails a second: 120 in a minute.
        assert_eq!(ids(130, 10), ["mail-delivery"]);
        assert_eq!(ids(131, 10), ["mail-delivery", QUEUE_GREW]);
        assert_eq!(ids(0, 500), ["mail-delivery"]);
    }
}
