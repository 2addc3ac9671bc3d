//! Opens the store of a watched host as a source, or the stores of several hosts as one. The whole
//! time is shown at the resolution of the chart; a window has the finest slices that the stores
//! still have.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use run_store::gauge::{Gauge, Readings};
use run_store::rollup::{ObservedRow, Rollup, observed_name};
use run_store::rundir::RunId;
use run_store::slice::SizeClass;
use stats::Compact;
use units::Nanos;
use watch::{
    Archive, Cell, HostNote, HostSets, HostStores, Key, Merged, SetRow, Slice, WatchError, Window,
};

use super::{Facts, Source, TraceFacts};
use crate::document::{RunState, WatchPage};

/// Maximum number of slices in a chart: about one for each pixel of a narrow page.
const SLICES_MAX: u64 = 600;

/// Window, number of points and workloads of a request.
pub(crate) type Asked = ((Nanos, Nanos), u32, Vec<String>);
/// Number of answers that are kept. A page and its charts request the same answers.
const KEPT: usize = 6;

/// Origin of the slices.
#[derive(Debug)]
enum Stored {
    /// Store on this computer.
    One(Archive),
    /// Stores of several hosts.
    Many(Arc<HostStores>),
}

impl Stored {
    fn window(&self, window: (u64, u64), slices_max: u64) -> Result<Merged, WatchError> {
        match self {
            Self::One(archive) => {
                let Window { width_s, slices, .. } = archive.window(window, slices_max)?;
                Ok(Merged { width_s, slices, ..Merged::default() })
            }
            Self::Many(stores) => Ok(stores.window(window, slices_max)),
        }
    }
}

/// Wraps the working sets of the only host; the host name is empty.
fn of_one(rows: Vec<SetRow>) -> Vec<HostSets> {
    vec![HostSets { host: String::new(), rows }]
}

/// Store of a watched host, or the stores of several hosts, and the begin of the axis.
#[derive(Debug)]
pub(crate) struct Watched {
    stored: Stored,
    /// Begin of the axis, in seconds since 1970.
    zero_s: u64,
    /// True if all I/O is on one disk. Names then leave out the disk.
    has_one_disk: bool,
    /// Events that were lost while the host was watched.
    lost: u64,
    /// Latest answers of the view `watch`. They are kept because making one reads the store.
    pages: Mutex<Vec<(Asked, Arc<WatchPage>)>>,
}

impl TraceFacts {
    /// Reads the facts about the store of a watched host, but not its I/O.
    ///
    /// # Errors
    ///
    /// The path has no store, or a store of a later version.
    pub fn of_watched(path: &Path) -> Result<Self, WatchError> {
        let archive = Archive::open(path)?;
        let (from_s, to_s) = archive.bounds()?.unwrap_or_default();
        Ok(Self::watched(archive.host(), (from_s, to_s), archive.state()?.bytes))
    }

    /// Reads the facts about the stores of several hosts, but not their I/O. The name also includes
    /// hosts that cannot be reached.
    pub fn of_watched_hosts(stores: &HostStores) -> Self {
        let bytes = stores.states().iter().map(|own| own.state.bytes).fold(0, u64::saturating_add);
        let hosts = stores.names();
        let facts = Self::watched(&hosts.join("-"), stores.bounds().unwrap_or_default(), bytes);
        let hosts = hosts.join(", ");
        let (name, target) = (format!("watch of {hosts}"), format!("every disk of {hosts}"));
        Self { name, target, host: None, ..facts }
    }

    fn watched(host: &str, (from_s, to_s): (u64, u64), size_bytes: u64) -> Self {
        let started_ns = i64::try_from(from_s.saturating_mul(Nanos::SECOND.0)).unwrap_or(0);
        // Without the begin, which moves as the oldest slices are dropped.
        let id = RunId::following(&format!("watch-{host}"), 0).to_string();
        let name = format!("watch of {host}");
        Self {
            started: RunId::following(host, started_ns).started().to_string(),
            id,
            name,
            target: format!("every disk of {host}"),
            host: Some(host.to_owned()),
            size_bytes,
            duration_ns: to_s.saturating_sub(from_s).saturating_mul(Nanos::SECOND.0),
            is_order_only: false,
            is_watched: true,
        }
    }
}

impl Source {
    /// Opens the store of a watched host, and reads the whole time at the resolution of the chart.
    ///
    /// # Errors
    ///
    /// The path has no store, or a store of a later version.
    pub fn open_watched(path: &Path) -> Result<Self, WatchError> {
        let archive = Archive::open(path)?;
        let (from_s, to_s) = archive.bounds()?.unwrap_or_default();
        let (size_bytes, host) = (archive.state()?.bytes, archive.host().to_owned());
        let stored = Stored::One(archive);
        let window = stored.window((from_s, to_s), SLICES_MAX)?;
        let zero_s = window.slices.first().map_or(from_s, |slice| slice.start_s);
        let facts = TraceFacts::watched(&host, (zero_s, to_s), size_bytes);
        Ok(Self::watching(stored, facts, zero_s, &window))
    }

    /// Opens the stores of several hosts as one, and reads the whole time at the resolution of the
    /// chart. Hosts that cannot be reached, or that send an impossible answer, are left out.
    pub fn open_watched_hosts(stores: &Arc<HostStores>) -> Self {
        let facts = TraceFacts::of_watched_hosts(stores);
        let (from_s, to_s) = stores.bounds().unwrap_or_default();
        let window = stores.window((from_s, to_s), SLICES_MAX);
        // The begin does not follow the slices, which may be those of other hosts the next time.
        let zero_s = from_s - from_s % window.width_s.max(1);
        Self::watching(Stored::Many(Arc::clone(stores)), facts, zero_s, &window)
    }

    fn watching(stored: Stored, facts: TraceFacts, zero_s: u64, window: &Merged) -> Self {
        let keys = window.slices.iter().flat_map(|slice| slice.io.keys());
        let disks: BTreeSet<&str> =
            keys.filter(|key| !key.is_guest_side()).map(|key| &*key.disk).collect();
        let has_one_disk = disks.len() <= 1;
        let size_bytes = facts.size_bytes;
        let lost = window.slices.iter().map(|slice| slice.lost).fold(0, u64::saturating_add);
        let pages = Mutex::default();
        let store = Watched { stored, zero_s, has_one_disk, lost, pages };
        let rollup = Rollup::of_width(seconds(window.width_s));
        let rollup = Arc::new(store.fold(rollup, &window.slices));
        let facts = Facts { trace: Some(facts), watched: Some(store), ..Facts::default() };
        Self { size_bytes, ..Self::of(facts, rollup, RunState::Complete) }
    }
}

impl Watched {
    /// Returns the begin of the axis, in seconds since 1970.
    pub fn zero_s(&self) -> u64 {
        self.zero_s
    }

    /// Returns the number of events that were lost while the host was watched.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the rollup of a window in finer buckets; `None` if there are no finer buckets.
    pub fn zoomed(
        &self,
        whole: &Rollup,
        (from, to): (Nanos, Nanos),
    ) -> Result<Option<Rollup>, WatchError> {
        let window = (self.second(from), self.second(to).saturating_add(1));
        let window = self.stored.window(window, SLICES_MAX)?;
        let width = seconds(window.width_s);
        if width >= whole.wide().width {
            return Ok(None);
        }
        Ok(Some(self.fold(whole.part((from, to), width), &window.slices)))
    }

    fn fold(&self, mut rollup: Rollup, slices: &[Slice]) -> Rollup {
        for slice in slices {
            let start = self.position(slice.start_s);
            // A slice that was watched in part has its rates over that part.
            let width = slice.watched.min(seconds(slice.width_s)).max(Nanos(1));
            let rows: Vec<(Cow<'_, str>, &Key, &Cell, Compact)> = slice
                .io
                .iter()
                .filter(|(key, _)| !key.is_guest_side())
                .map(|(key, cell)| {
                    (self.sender(key), key, cell, cell.latencies.compact(cell.latency_ns))
                })
                .collect();
            let observed = rows.iter().map(|(name, key, cell, service)| ObservedRow {
                name,
                is_below: key.is_below,
                direction: key.direction,
                class: key.class.unwrap_or_else(|| class_of(cell)),
                bytes: cell.bytes,
                errors: cell.errors,
                service,
            });
            rollup.observed(start, width, observed);
            let gauges = slice.gauges.iter().map(|((name, scope), folded)| Gauge {
                name: *name,
                scope: scope.to_string(),
                value: folded.value,
            });
            let readings = Readings { gauges: gauges.collect(), ..Readings::default() };
            rollup.readings(width, &readings);
        }
        rollup
    }

    /// Returns the slices of a window, over all hosts.
    pub fn window(
        &self,
        (from, to): (Nanos, Nanos),
        slices_max: u64,
    ) -> Result<Merged, WatchError> {
        self.stored.window((self.second(from), self.second(to).saturating_add(1)), slices_max)
    }

    /// Returns the working sets of the hours that begin in a window, at most one in each `step_s`
    /// seconds. Unreadable data is a gap. The host name is empty if there is only one host.
    pub fn sets(&self, (from, to): (Nanos, Nanos), step_s: u64) -> Vec<HostSets> {
        let from_s = self.second(from);
        let window = (from_s - from_s % 3600, self.second(to));
        match &self.stored {
            Stored::One(archive) => {
                of_one(archive.sets(window, step_s).map(|sets| sets.rows).unwrap_or_default())
            }
            Stored::Many(stores) => stores.sets(window, step_s),
        }
    }

    /// Returns the newest working sets of each VM on each host.
    pub fn newest_sets(&self) -> Vec<HostSets> {
        match &self.stored {
            Stored::One(archive) => {
                of_one(archive.newest_sets().map(|sets| sets.rows).unwrap_or_default())
            }
            Stored::Many(stores) => stores.newest_sets(),
        }
    }

    /// Returns the hosts, each with the result of the last request to it; empty for a store on this
    /// computer.
    pub fn hosts(&self) -> Vec<HostNote> {
        match &self.stored {
            Stored::One(_) => Vec::new(),
            Stored::Many(stores) => stores.notes(),
        }
    }

    /// Returns the answer of the view `watch`, which is made at the first call and then kept for a
    /// while.
    pub fn page(&self, asked: &Asked, make: impl FnOnce() -> WatchPage) -> Arc<WatchPage> {
        // The lock is held while it is made, so that concurrent charts read a window only once.
        let mut kept = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, page)) = kept.iter().find(|(known, _)| known == asked) {
            return Arc::clone(page);
        }
        let page = Arc::new(make());
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((asked.clone(), Arc::clone(&page)));
        page
    }

    fn second(&self, at: Nanos) -> u64 {
        self.zero_s.saturating_add(at.0 / Nanos::SECOND.0)
    }

    /// Converts a time in seconds since 1970 to a position on the axis.
    pub fn position(&self, time_s: u64) -> Nanos {
        seconds(time_s.saturating_sub(self.zero_s))
    }

    /// Returns true if the key's workload is among the chosen workloads. If none is chosen, returns
    /// true for I/O that counts for a VM.
    pub fn is_chosen(&self, key: &Key, workloads: &[String]) -> bool {
        match workloads.is_empty() {
            true => key.is_counted(),
            false => workloads.iter().any(|own| *own == self.name(key)),
        }
    }

    /// Returns the workload name of a key.
    pub fn name<'a>(&self, key: &'a Key) -> Cow<'a, str> {
        let sender = self.sender(key);
        match observed_name(&sender, key.is_below) {
            Cow::Borrowed(_) => sender,
            Cow::Owned(name) => Cow::Owned(name),
        }
    }

    /// Returns the name of the key's VM, with the disk if there are several disks.
    fn sender<'a>(&self, key: &'a Key) -> Cow<'a, str> {
        match self.has_one_disk {
            true => Cow::Borrowed(&key.vm),
            false => Cow::Owned(format!("{} on {}", key.vm, key.disk)),
        }
    }
}

/// Returns the size class of the mean size, for a source without single sizes.
fn class_of(cell: &Cell) -> SizeClass {
    let mean = cell.bytes.checked_div(cell.count).unwrap_or(0);
    SizeClass::of(u32::try_from(mean).unwrap_or(u32::MAX))
}

fn seconds(seconds: u64) -> Nanos {
    Nanos(seconds.saturating_mul(Nanos::SECOND.0))
}
