//! Real servers of a tile: a shop on PostgreSQL, a mail server of Exim and Dovecot, and a web site
//! of our own on PostgreSQL and files. A workload calls them as it calls any service.
//!
//! What it does: finds the distribution's programs, creates an application's data in a directory of
//! the datastore, starts its server for one tile, and stops it. Each application has its own
//! directory, memory limit and sockets, so the tiles share nothing but the storage.
//!
//! What it refuses: programs of versions whose settings are not known here; a directory that the
//! servers' user cannot enter; to run servers as root.
//!
//! Invariants: a server listens on a socket in its own directory, which only its user can enter, or
//! on ports of 127.0.0.1. A server ends when this process ends for any reason, because the kernel
//! signals it (`PR_SET_PDEATHSIG`). Nothing is written outside of the given directory, the control
//! groups and a private directory in `/tmp` for sockets. The servers' user only owns directories
//! below a directory of this process, so its links cannot redirect a write of root.
//! [`Applications::stop`] removes the groups and the private directory; [`sweep`] removes those of
//! a killed run. A server that exits by itself is an error of the step, and is never restarted.
#![forbid(unsafe_code)]

mod account;
mod delivery;
mod error;
mod mail;
mod memory;
mod postgres;
mod program;
mod shop;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use http_client::Secret;
use process_home::{Account, Phase, Process, Tree};
use units::Bytes;

pub use delivery::Deliveries;
pub use error::ApplicationError;
use mail::{Mail, Mails};
use memory::MemoryGroup;
use web::Web;

/// Kind of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Database of a shop, on PostgreSQL.
    Shop,
    /// Mail server: Exim and Dovecot.
    Mail,
    /// Web site of our own (crate `web_site`), on PostgreSQL and files.
    Web,
}

/// Application that a tile needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Name, unique in the run, such as `tile-1-shop`.
    pub name: String,
    /// Kind of the application.
    pub kind: Kind,
    /// Size of its data.
    pub size: Bytes,
    /// Maximum number of concurrent sessions.
    pub sessions: u32,
    /// Seed of its data. Tiles have different seeds, so that storage cannot deduplicate them.
    pub seed: u64,
}

/// Running application.
#[derive(Debug)]
pub struct Application {
    /// Endpoints of the server, one for each protocol.
    pub endpoints: Vec<Endpoint>,
    /// Name and version of the server.
    pub server: String,
    /// Memory limit of the server, including its page cache.
    pub memory: Bytes,
    /// Size of its data after its creation.
    pub data: Bytes,
    running: Running,
    /// Control group of the processes. Dropped after the processes have ended.
    group: MemoryGroup,
}

/// Endpoint of a running application.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Name of the protocol.
    pub protocol: &'static str,
    /// Address of the service.
    pub address: String,
    /// Unix socket to connect to in place of the address's host, if the server listens on one.
    pub socket: Option<ServerSocket>,
    /// Password of its users; `None` if it needs none.
    pub password: Option<Arc<Secret>>,
}

/// Server of an application.
#[derive(Debug)]
enum Running {
    Shop(Process),
    Mail(Mail),
    Web(Web),
}

/// Applications of a run in one directory.
#[derive(Debug)]
pub struct Applications {
    site: Site,
    running: BTreeMap<String, Application>,
    /// Names of the shops and sites whose data exists.
    made: BTreeSet<String>,
    /// Mail servers of the run, created with the first one. Dropped after all servers have ended.
    mails: Option<Mails>,
}

/// Directory, name and user of a run's applications.
#[derive(Debug)]
struct Site {
    directory: PathBuf,
    run: String,
    account: Account,
    /// Executable file of this program, which serves a web site with `app serve web`.
    program: PathBuf,
    /// Number of requests to stop. Above 0, data is not made any further.
    stop: Arc<AtomicU8>,
    /// Empty cluster that those of shops and sites are copied from, once the first needs it.
    empty_cluster: Mutex<Option<Arc<Tree>>>,
}

impl Site {
    /// Checks that the run is not to stop.
    fn go_on(&self) -> Result<(), ApplicationError> {
        go_on(&self.stop)
    }

    /// Returns the name of an application's control group.
    fn group(&self, need: &Need) -> String {
        format!("{}-{}", self.run, need.name)
    }
}

fn go_on(stop: &AtomicU8) -> Result<(), ApplicationError> {
    if stop.load(Ordering::Relaxed) == 0 { Ok(()) } else { Err(ApplicationError::Stopped) }
}

/// Unix socket in a directory of the server.
#[derive(Debug, Clone)]
pub struct ServerSocket {
    directory: Arc<OwnedFd>,
    name: &'static str,
}

impl ServerSocket {
    pub(crate) fn of(directory: &Path, name: &'static str) -> std::io::Result<Self> {
        let directory = std::fs::File::open(directory)?;
        Ok(Self { directory: Arc::new(directory.into()), name })
    }

    /// Opens a connection to the server.
    ///
    /// # Errors
    /// Nothing listens there, or this process lacks a resource.
    pub fn connect(&self) -> std::io::Result<UnixStream> {
        // The path of a socket has at most 107 bytes, and that of a datastore may be longer.
        let directory = self.directory.as_raw_fd();
        UnixStream::connect(format!("/proc/self/fd/{directory}/{}", self.name))
    }
}

impl Kind {
    /// Returns the name of the kind, as used in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shop => "shop",
            Self::Mail => "mail",
            Self::Web => "web",
        }
    }

    /// Returns the space on the datastore for data of `size`, including growing tables and logs.
    pub fn room(self, size: Bytes) -> Bytes {
        match self {
            // Orders add 4.6 MB a minute (`shop`); the log is checkpointed below 1 GiB and may
            // exceed it under load.
            Self::Shop => Bytes::new(size.get().saturating_mul(2)) + Bytes::new(2 << 30),
            // Deliveries add 6.6 MB a minute (25 a second of 4.4 kB), and deleted mails keep their
            // room. A part is the mailboxes that all tiles are copied from: 8 of 992.
            Self::Mail => Bytes::new(size.get().saturating_mul(2)) + Bytes::new(1 << 30),
            // Uploads add 29.8 MB a minute (455 of 64 KiB), so the smallest data has room for half an
            // hour beside the database's log of 1 GiB, and data of 44 GiB for a day.
            Self::Web => Bytes::new(size.get().saturating_mul(2)) + Bytes::new(2 << 30),
        }
    }

    /// Checks that the programs of this kind are installed in a known version. Returns their name
    /// and version.
    ///
    /// # Errors
    /// A program is missing, too old or too new.
    pub fn check(self) -> Result<String, ApplicationError> {
        match self {
            Self::Shop => postgres::Programs::find().map(|found| found.version),
            Self::Mail => mail::check(),
            Self::Web => postgres::Programs::find().map(|found| web::name(&found.version)),
        }
    }
}

impl Applications {
    /// Prepares for applications in `directory`, which is empty and used by this process alone.
    /// `run` becomes a part of the names of the memory groups. `program` is the executable file of
    /// this program, for the process of a web site.
    ///
    /// # Errors
    /// The servers' user is missing or cannot enter the directory.
    pub fn new(directory: &Path, run: &str, program: &Path) -> Result<Self, ApplicationError> {
        let account = account::account_of_servers(directory)?;
        let (directory, run, program) = (directory.to_owned(), run.to_owned(), program.to_owned());
        let (stop, empty_cluster) = (Arc::default(), Mutex::new(None));
        let site = Site { directory, run, account, program, stop, empty_cluster };
        Ok(Self { site, running: BTreeMap::new(), made: BTreeSet::new(), mails: None })
    }

    /// Sets the number of requests to stop, which may grow at any time. Above 0, the making of data
    /// ends with [`ApplicationError::Stopped`], because it may take minutes.
    #[must_use]
    pub fn with_stop(mut self, stop: Arc<AtomicU8>) -> Self {
        self.site.stop = stop;
        self
    }

    /// Creates the data of shops and sites that have none yet. Runs one creation per processor,
    /// because PostgreSQL uses one processor for each. Mailboxes are copied later, by
    /// [`Self::running`].
    ///
    /// # Errors
    /// The data of an application cannot be created.
    pub fn make(&mut self, needs: &[&Need]) -> Result<(), ApplicationError> {
        let is_new = |need: &&&Need| need.kind != Kind::Mail && !self.made.contains(&need.name);
        let new: BTreeMap<&str, &Need> =
            needs.iter().filter(is_new).map(|need| (need.name.as_str(), *need)).collect();
        let new: Vec<&Need> = new.into_values().collect();
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // A process ends with the thread that started it, so only those that end by themselves are
        // started there.
        let made = parallel::map(&new, threads, |need| match need.kind {
            Kind::Shop => shop::make(need, &self.site),
            Kind::Web => web::make(need, &self.site),
            Kind::Mail => Ok(()),
        });
        for (need, made) in new.iter().zip(made) {
            made?;
            self.made.insert(need.name.clone());
        }
        Ok(())
    }

    /// Returns a running application. Creates its data and starts its server if necessary, which
    /// may take a minute.
    ///
    /// # Errors
    /// Its data cannot be created, or its server does not start or has ended.
    pub fn running(&mut self, need: &Need) -> Result<&Application, ApplicationError> {
        if !self.running.contains_key(&need.name) {
            self.make(&[need])?;
            let started = match need.kind {
                Kind::Shop => shop::start(need, &self.site)?,
                Kind::Mail => self.start_mail(need)?,
                Kind::Web => web::start(need, &self.site)?,
            };
            self.running.insert(need.name.clone(), started);
        }
        self.running.get_mut(&need.name).map_or(Ok(()), |own| own.check(&need.name))?;
        Ok(&self.running[&need.name])
    }

    fn start_mail(&mut self, need: &Need) -> Result<Application, ApplicationError> {
        let mails = match self.mails.take() {
            Some(mails) => mails,
            None => Mails::of_run(&self.site.run)?,
        };
        self.mails.insert(mails).start(need, &self.site)
    }

    /// Checks that all started servers still run.
    ///
    /// # Errors
    /// A server exited, or reached its memory limit.
    pub fn check(&mut self) -> Result<(), ApplicationError> {
        self.running.iter_mut().try_for_each(|(name, own)| own.check(name))
    }

    /// Returns the deliveries of each mail server since the last call, keyed by the server's name.
    ///
    /// # Errors
    /// The queue or the log of a server cannot be read.
    pub fn deliveries(&mut self) -> Result<BTreeMap<String, Deliveries>, ApplicationError> {
        let mut all = BTreeMap::new();
        for (name, application) in &mut self.running {
            if let Running::Mail(mail) = &mut application.running {
                all.insert(name.clone(), mail.deliveries()?);
            }
        }
        Ok(all)
    }

    /// Returns the applications with their names.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Application)> {
        self.running.iter().map(|(name, own)| (name.as_str(), own))
    }

    /// Stops all servers and removes their groups and sockets. Their data stays. A mail server is
    /// killed: its mailboxes are never read again, and an orderly stop takes seconds.
    pub fn stop(&mut self) {
        // All are asked first, so that they end side by side.
        self.running.values_mut().for_each(|own| own.running.ask_to_end());
        self.running.clear();
        self.mails = None;
    }
}

impl Drop for Applications {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Application {
    /// Returns the endpoint for a protocol, given by its name.
    pub fn endpoint(&self, protocol: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|own| own.protocol == protocol)
    }

    fn check(&mut self, name: &str) -> Result<(), ApplicationError> {
        let process = |source| ApplicationError::Process { name: name.to_owned(), source };
        let checked = match &mut self.running {
            Running::Shop(server) => server.check(Phase::Load).map_err(process),
            Running::Mail(mail) => mail.check(),
            Running::Web(web) => web.check().map_err(process),
        };
        self.group.explain(name, Phase::Load, checked)
    }

    /// Returns true if no process of the server runs or waits for storage at this moment.
    pub fn is_idle(&self) -> bool {
        self.group.is_idle()
    }

    /// Creates the error of a server that has not answered for so long.
    pub fn hangs(&self, name: &str, seconds: u64) -> ApplicationError {
        let (name, server) = (name.to_owned(), self.server.clone());
        ApplicationError::Hangs { name, server, phase: Phase::Load, seconds }
    }

    /// Returns the CPU time of the server's processes so far, in seconds; `None` if it cannot be
    /// read.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.group.cpu_seconds()
    }
}

impl Running {
    fn ask_to_end(&self) {
        match self {
            Self::Shop(server) => server.ask_to_end(),
            Self::Mail(_) => {}
            Self::Web(web) => web.ask_to_end(),
        }
    }
}

/// Cleans up after killed runs: ends their processes and removes their private directories and
/// control groups. With `is_real` false it only lists the directories. Data on a datastore is
/// removed by the datastore.
pub fn sweep(is_real: bool) -> Vec<process_home::Swept> {
    let swept = process_home::sweep(&mail::HOME, is_real);
    if is_real {
        memory::remove_stale();
    }
    swept
}
