//! Real servers of a tile: a shop on PostgreSQL. A workload calls them as it calls any service.
//!
//! What it does: finds the distribution's programs, makes an application's data in a directory of
//! the datastore, starts its server for one tile, and stops it. Each application has a directory,
//! a memory limit and sockets of its own, so the tiles share nothing but the storage.
//!
//! What it refuses: programs of versions whose settings are not known here; a directory that the
//! servers' user cannot enter; to run servers as root.
//!
//! Invariants: a server listens on a socket in its own directory, which only its user can enter. A
//! server ends when this process ends, however it ends, because the kernel signals it
//! (`PR_SET_PDEATHSIG`). Nothing outside the given directory and the memory groups is written, and
//! both are gone after [`Applications::stop`] and the removal of the directory. A server that ended
//! by itself is an error of the step, never a restart.
#![forbid(unsafe_code)]

mod account;
mod error;
mod memory;
mod postgres;
mod program;
mod server;
mod shop;

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use units::Bytes;

use account::Account;
pub use error::{ApplicationError, Phase};
use server::Server;

/// Kind of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Database of a shop, on PostgreSQL.
    Shop,
}

/// Application that a tile needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Name, unique in the run, such as `tile-1-shop`.
    pub name: String,
    /// Kind of the application.
    pub kind: Kind,
    /// Bytes of its data.
    pub size: Bytes,
    /// Most sessions at the same time.
    pub sessions: u32,
    /// Seed of its data. Tiles have different seeds, so that storage cannot deduplicate them.
    pub seed: u64,
}

/// Running application.
#[derive(Debug)]
pub struct Application {
    /// Socket on which the server listens.
    pub socket: ServerSocket,
    /// Protocol, user and database, as an address.
    pub address: &'static str,
    /// Name and version of the server.
    pub server: String,
    /// Memory of the server and of its page cache.
    pub memory: Bytes,
    running: Server,
}

/// Applications of a run in one directory.
#[derive(Debug)]
pub struct Applications {
    directory: PathBuf,
    run: String,
    account: Account,
    running: BTreeMap<String, Application>,
}

/// Socket in a directory of the server.
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
    /// Word of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shop => "shop",
        }
    }

    /// Room on the datastore for data of `size`: tables that grow, and logs.
    pub fn room(self, size: Bytes) -> Bytes {
        match self {
            // Orders add 4.6 MB a minute (`shop`); the log is checkpointed below 1 GiB and may
            // exceed it under load.
            Self::Shop => Bytes::new(size.get().saturating_mul(2)) + Bytes::new(2 << 30),
        }
    }

    /// Checks that the programs of this kind are here and of a known version. Returns their name
    /// and version.
    ///
    /// # Errors
    /// A program is missing, too old or too new.
    pub fn check(self) -> Result<String, ApplicationError> {
        match self {
            Self::Shop => postgres::Programs::find().map(|found| found.version),
        }
    }
}

impl Applications {
    /// Prepares for applications in `directory`, which is empty and of this process alone. The
    /// `run` names their memory groups.
    ///
    /// # Errors
    /// The servers' user is missing or cannot enter the directory.
    pub fn new(directory: &Path, run: &str) -> Result<Self, ApplicationError> {
        let account = Account::of_servers(directory)?;
        let (directory, run) = (directory.to_owned(), run.to_owned());
        Ok(Self { directory, run, account, running: BTreeMap::new() })
    }

    /// Returns a running application. Makes its data and starts its server if that was not done
    /// before, which may take a minute.
    ///
    /// # Errors
    /// Its data cannot be made, or its server does not start or has ended.
    pub fn running(&mut self, need: &Need) -> Result<&Application, ApplicationError> {
        if !self.running.contains_key(&need.name) {
            let started = match need.kind {
                Kind::Shop => shop::start(need, &self.directory, &self.run, &self.account)?,
            };
            self.running.insert(need.name.clone(), started);
        }
        let application = &self.running[&need.name];
        application.check()?;
        Ok(application)
    }

    /// Checks that every server that was started still runs.
    ///
    /// # Errors
    /// A server ended by itself.
    pub fn check(&self) -> Result<(), ApplicationError> {
        self.running.values().try_for_each(Application::check)
    }

    /// Applications by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Application)> {
        self.running.iter().map(|(name, own)| (name.as_str(), own))
    }

    /// Stops all servers and removes their memory groups. Their data stays.
    pub fn stop(&mut self) {
        // All are asked first, so that they end side by side.
        self.running.values_mut().for_each(|own| own.running.ask_to_stop());
        self.running.clear();
    }
}

impl Drop for Applications {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Application {
    fn check(&self) -> Result<(), ApplicationError> {
        self.running.check()
    }

    /// Processor time of the server and of its children until now, in seconds; `None` if it cannot
    /// be read.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.running.cpu_seconds()
    }
}
