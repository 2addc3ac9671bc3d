//! A tier on this host through which the disks of a run are reached.
//!
//! What it does: creates a set in a separate datastore on fast storage, under the rules of every
//! datastore. Serves the disks of a load through the set, over NBD on a local socket, as a virtual
//! machine would reach them. Between loads the set is closed in order, so that it stays warm during
//! the climb. Disks are filled without the tier, so that the tier starts empty.
//!
//! What it refuses: disks that are parts of a file or device, because a tier serves whole files and
//! devices.
//!
//! Invariants: after the end of a load, all of its writes are on its datastore. Set and sidecars
//! are files of their datastores, so that `cleanup` finds them after a kill.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use block_server::{Limits, Listen, ListenAddress};
use cache::PolicyKind;
use cache::tier::Admission;
use datastore::{Datastore, DiskRequest, VirtualDisk};
use engine::{Served, ServerAddress};
use run_store::gauge::Readings;
use tier_service::{
    Caching, Command, Control, Copies, Opening, Refusal, Report, Set, SetError, Times,
};
use units::Bytes;

use crate::error::BenchError;

/// Size of a served disk's sidecar: two copies, and the markers of its file.
const SIDECAR: Bytes = Bytes::new(12 << 10);
/// Maximum number of disks in a set.
const DISKS_MAX: u64 = 63;
/// Size of chunks of small sets, in bytes; [`tier::Plan::new`] has the size for large sets.
const CHUNK_SMALL: u32 = 2 << 20;
const SET_SMALL: Bytes = Bytes::new(8 << 30);
/// Maximum time for writes in the log to reach the datastore.
const DRAIN_MAX: Duration = Duration::from_secs(600);
/// Maximum time for the server to answer a status command.
const STATUS_MAX: Duration = Duration::from_secs(5);
/// Minimum age at which a directory of a vanished process counts as left by a killed run.
const LEFT: Duration = Duration::from_secs(60);
/// Name of the tier in results.
const NAME: &str = "tier";

/// Settings of a tier:
/// `TARGET,size=SIZE[,mode=back][,policy=lru][,admission=1][,page=64KiB][,log=10]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierSpec {
    /// A directory on fast storage.
    pub target: String,
    /// Capacity for pages and logs together, in bytes.
    pub size: Bytes,
    /// Size of a page, in bytes.
    pub page: Bytes,
    /// Share of the capacity for logs, in percent.
    pub log_percent: u8,
    /// True if writes are acknowledged from the log, false if from the datastore.
    pub is_back: bool,
    /// Eviction policy of pages.
    pub policy: PolicyKind,
    /// Number of accesses to a page until it is admitted.
    pub admission: u8,
}

/// Reason why a text is not a valid setting of a tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TierSpecError {
    /// The text has no `size=`.
    #[error(
        "a tier is DIRECTORY,size=SIZE, optionally followed by mode=back, policy=, admission=, \
        page=, log="
    )]
    NoSize,
    /// The key is unknown, or its value is invalid.
    #[error("\"{key}\" is not a setting of a tier, or \"{value}\" is not a valid value")]
    Key {
        /// Key as given.
        key: String,
        /// Value as given.
        value: String,
    },
}

impl FromStr for TierSpec {
    type Err = TierSpecError;

    fn from_str(text: &str) -> Result<Self, TierSpecError> {
        let mut parts = text.split(',');
        let target = parts.next().filter(|target| !target.is_empty());
        let mut spec = Self {
            target: target.ok_or(TierSpecError::NoSize)?.to_owned(),
            size: Bytes::ZERO,
            page: Bytes::new(64 << 10),
            log_percent: 10,
            is_back: false,
            policy: PolicyKind::Lru,
            admission: 1,
        };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            spec.set(key, value).ok_or_else(|| {
                let (key, value) = (key.to_owned(), value.to_owned());
                TierSpecError::Key { key, value }
            })?;
        }
        if spec.size == Bytes::ZERO { Err(TierSpecError::NoSize) } else { Ok(spec) }
    }
}

impl TierSpec {
    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "size" => self.size = value.parse().ok()?,
            "page" => self.page = value.parse().ok()?,
            "log" => self.log_percent = value.trim_end_matches('%').parse().ok()?,
            "policy" => self.policy = value.parse().ok()?,
            "admission" => self.admission = value.parse().ok().filter(|nth| *nth > 0)?,
            "mode" => {
                self.is_back = match value {
                    "back" => true,
                    "through" => false,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the number of bytes that the tier needs on its datastore.
    pub fn needed(&self) -> Bytes {
        self.size + SIDECAR * DISKS_MAX
    }

    fn plan(&self) -> tier::Plan {
        let small = if self.size < SET_SMALL { Some(CHUNK_SMALL) } else { None };
        let plan = tier::Plan::new(self.size.get());
        tier::Plan {
            page_bytes: u32::try_from(self.page.get()).unwrap_or(u32::MAX),
            chunk_bytes: small.unwrap_or(plan.chunk_bytes),
            log_percent: self.log_percent,
            ..plan
        }
    }
}

impl fmt::Display for TierSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.is_back { "back" } else { "through" };
        let Self { size, page, log_percent, policy, admission, target, .. } = self;
        write!(f, "mode {mode}, {size} on {target}, pages of {page}, {log_percent} % for logs, ")?;
        write!(f, "{policy}, pages admitted with access {admission}")
    }
}

/// A set, while no load is running.
#[derive(Debug)]
pub struct Through {
    spec: TierSpec,
    /// Datastore of the set and the sidecars.
    store: Datastore,
    set: PathBuf,
    /// Disks served so far, in the order in which they were first served: path of each, and path of
    /// its sidecar.
    known: Vec<(String, PathBuf)>,
}

impl Through {
    /// Creates the set.
    ///
    /// # Errors
    ///
    /// The set does not fit on its datastore, or its size cannot be divided. Then nothing that this
    /// program created remains.
    pub fn make(spec: TierSpec, mut store: Datastore) -> Result<Self, BenchError> {
        let made = file(&mut store, "tier", spec.size)
            .and_then(|set| Ok((tier_service::make_in(&set, spec.plan())?, set)));
        match made {
            Ok((_, set)) => Ok(Self { spec, store, set, known: Vec::new() }),
            Err(error) => {
                store.clear();
                Err(error)
            }
        }
    }

    /// Returns the datastore that holds the set.
    pub fn store(&self) -> &Datastore {
        &self.store
    }

    /// Returns the datastore for its removal.
    pub fn into_store(self) -> Datastore {
        self.store
    }

    /// Serves these disks until the load on them ends.
    ///
    /// # Errors
    ///
    /// A disk is not a whole file or device, there are too many disks, or the set cannot be opened.
    pub fn serve<'a>(
        &mut self,
        disks: impl Iterator<Item = &'a VirtualDisk>,
    ) -> Result<ServedLoad, BenchError> {
        let mut exports = BTreeMap::new();
        let mut opening = Vec::new();
        for disk in disks {
            let own = self.opening(disk)?;
            exports.insert(disk.name.clone(), own.name.clone());
            opening.push(own);
        }
        let admission = match self.spec.admission {
            1 => Admission::Always,
            accesses => Admission::NthAccess { accesses, fill_percent: 0 },
        };
        let caching = Caching { policy: self.spec.policy, admission, ..Caching::default() };
        let set = Set::open(&self.set, caching, &[], &opening)?;
        let directory = SocketDir::make()
            .map_err(|error| kernel("create the directory for the socket", error))?;
        let socket = directory.0.join("s");
        let listen = Listen { place: ListenAddress::Unix(socket.clone()), tls: None };
        let (control, times) = (set.control, set.times);
        let running = block_server::start_with(set.offer, &[listen], Limits::default())
            .map_err(|error| BenchError::Tier(error.into()))?;
        let mut served = ServedLoad {
            running: Arc::new(running),
            control,
            times,
            names: exports.values().cloned().collect(),
            is_back: self.spec.is_back,
            before: None,
            way: Served { server: ServerAddress::Unix(socket), exports },
            _directory: directory,
        };
        served.before = served.report();
        Ok(served)
    }

    /// Returns the settings for opening a disk, with the same name and sidecar as before.
    fn opening(&mut self, disk: &VirtualDisk) -> Result<Opening, BenchError> {
        if disk.base != 0 {
            return Err(BenchError::TierParts { disk: disk.name.clone() });
        }
        let at = match self.known.iter().position(|(known, _)| *known == disk.name) {
            Some(at) => at,
            None => {
                let name = format!("sidecar-{}", self.known.len());
                let sidecar = file(&mut self.store, &name, SIDECAR)?;
                tier_service::make_sidecar_in(&sidecar)?;
                self.known.push((disk.name.clone(), sidecar));
                self.known.len() - 1
            }
        };
        let mode = if self.spec.is_back { tier::Mode::Back } else { tier::Mode::Through };
        Ok(Opening {
            name: format!("disk-{at}"),
            backing: path_of(disk)?,
            mode,
            sidecar: Some(self.known[at].1.clone()),
            copies: Copies::default(),
            reserve: None,
        })
    }
}

/// Creates a file of this program on a datastore.
fn file(store: &mut Datastore, name: &str, size: Bytes) -> Result<PathBuf, BenchError> {
    let made = store.provision(&[DiskRequest { name: name.to_owned(), size }])?;
    let disk = made.first().ok_or_else(|| kernel("make a file", io::ErrorKind::NotFound.into()))?;
    path_of(disk)
}

/// Returns the path of an open disk's file.
pub(super) fn path_of(disk: &VirtualDisk) -> Result<PathBuf, BenchError> {
    let link = Path::new("/proc/self/fd").join(disk.file.as_raw_fd().to_string());
    std::fs::read_link(link).map_err(|error| kernel("find a disk's file", error))
}

fn kernel(what: &'static str, error: io::Error) -> BenchError {
    BenchError::Tier(Refusal::new(format!("could not {what}: {error}")))
}

impl From<SetError> for BenchError {
    fn from(error: SetError) -> Self {
        Self::Tier(error.into())
    }
}

/// A directory of this user for one socket, removed on drop.
#[derive(Debug)]
struct SocketDir(PathBuf);

impl SocketDir {
    fn make() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let turn = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("tilemark-tier-{}-{turn}", std::process::id());
        let all = std::env::temp_dir();
        Self::clear_up(&all);
        let path = all.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// Removes directories that killed runs left: empty ones whose processes are gone. A process in
    /// a container may be invisible here. So a directory must also be so old that its process would
    /// already have created the socket.
    fn clear_up(all: &Path) {
        for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix("tilemark-tier-"));
            let Some((pid, _)) = rest.and_then(|rest| rest.split_once('-')) else { continue };
            let is_gone = pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists();
            let age =
                entry.metadata().and_then(|found| found.modified()).map(|then| then.elapsed());
            if is_gone && matches!(age, Ok(Ok(age)) if age > LEFT) {
                // A directory that is not empty, or belongs to another user, stays.
                let _ = std::fs::remove_dir(entry.path());
            }
        }
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        // The server has removed its socket; any other file keeps the directory.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Served disks during a load.
#[derive(Debug)]
pub struct ServedLoad {
    running: Arc<block_server::Running>,
    control: Control,
    times: Times,
    names: Vec<String>,
    is_back: bool,
    /// Last status report, for computing differences.
    before: Option<Report>,
    way: Served,
    _directory: SocketDir,
}

impl ServedLoad {
    /// Returns the connection data with which the engine reaches the disks.
    pub fn way(&self) -> Served {
        self.way.clone()
    }

    fn report(&self) -> Option<Report> {
        self.control.ask(Command::Status, &self.running, STATUS_MAX).ok().flatten()
    }

    /// Returns gauge readings since the last call.
    pub fn readings(&mut self) -> Readings {
        let (Some(now), before) = (self.report(), self.before.take()) else {
            return Readings::default();
        };
        let taken = self.times.take();
        let readings = match &before {
            Some(before) => now.as_one(before, &taken, NAME),
            None => Readings::default(),
        };
        self.before = Some(now);
        readings
    }

    /// Writes the log to the datastore, and closes the set in order.
    ///
    /// # Errors
    ///
    /// The datastore refuses writes, or the set cannot be closed in order.
    pub fn end(self) -> Result<(), BenchError> {
        for disk in self.names.iter().filter(|_| self.is_back) {
            let drain = Command::Drain { disk: disk.clone() };
            self.control.ask(drain, &self.running, DRAIN_MAX).map_err(BenchError::Tier)?;
        }
        let running = Arc::into_inner(self.running)
            .ok_or_else(|| BenchError::Tier(Refusal::new("the tier is still in use")))?;
        running.stop().map_err(|error| kernel("close the tier", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_a_directory_a_size_and_what_differs_from_the_usual() {
        let spec: TierSpec =
            "/fast,size=2GiB,mode=back,policy=s3fifo,admission=3".parse().expect("fine");
        assert_eq!((spec.target.as_str(), spec.size), ("/fast", Bytes::new(2 << 30)));
        assert!(spec.is_back);
        assert_eq!((spec.policy, spec.admission), (PolicyKind::S3Fifo, 3));
        for wrong in ["", "/fast", "/fast,size=0", "/fast,size=1GiB,mode=only", "/fast,size=1GiB,x"]
        {
            assert!(wrong.parse::<TierSpec>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_killed_runs_left_is_taken_away_and_nothing_else() {
        let all = tempfile::tempdir().expect("a directory");
        // Process numbers end at 2^22.
        let gone = ["tilemark-tier-99999999-0", "tilemark-tier-99999999-1"];
        let own = format!("tilemark-tier-{}-0", std::process::id());
        let others = [own.as_str(), "tilemark-tier-demo", "tilemark-tier-x-0", "other"];
        let long_ago = std::time::SystemTime::now() - 2 * LEFT;
        for name in gone.iter().chain(&others) {
            let path = all.path().join(name);
            std::fs::create_dir(&path).expect("a directory");
            if *name == gone[1] {
                std::fs::write(path.join("s"), "").expect("a file");
            }
            let directory = std::fs::File::open(&path).expect("it is there");
            directory.set_modified(long_ago).expect("a time");
        }
        let young = all.path().join("tilemark-tier-99999998-0");
        std::fs::create_dir(&young).expect("a directory");
        SocketDir::clear_up(all.path());
        assert!(!all.path().join(gone[0]).exists(), "an empty one of a process that is gone");
        for name in others.iter().chain(&gone[1..]) {
            assert!(all.path().join(name).exists(), "{name}");
        }
        assert!(young.exists(), "one that may be of a process elsewhere");
    }
}
