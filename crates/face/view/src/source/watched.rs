//! Store of a watched host as a source: all of it at the resolution of its chart, and any window in
//! the finest slices that the store still has.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use run_store::gauge::{Gauge, Readings};
use run_store::rollup::{ObservedRow, Rollup};
use run_store::rundir::RunId;
use run_store::slice::SizeClass;
use stats::Compact;
use units::Nanos;
use watch::{Archive, Cell, Key, Slice, WatchError};

use super::{Facts, Source, TraceFacts};
use crate::document::RunState;

/// Most slices of a chart: about one for each pixel of a narrow page.
const SLICES_MAX: u64 = 600;

/// Store of a watched host, and where its axis begins.
#[derive(Debug)]
pub(super) struct WatchedStore {
    archive: Archive,
    /// Begin of the axis, in seconds since 1970.
    zero_s: u64,
    /// True if all I/O is of one disk, which names then leave out.
    has_one_disk: bool,
    /// Events that were lost while the host was watched.
    lost: u64,
}

impl TraceFacts {
    /// Facts about the store of a watched host; its I/O is not read.
    ///
    /// # Errors
    ///
    /// The path has no store, or one of a later version.
    pub fn of_watched(path: &Path) -> Result<Self, WatchError> {
        let archive = Archive::open(path)?;
        let (from_s, to_s) = archive.bounds()?.unwrap_or_default();
        Ok(Self::watched(&archive, from_s, to_s, archive.state()?.bytes))
    }

    fn watched(archive: &Archive, from_s: u64, to_s: u64, size_bytes: u64) -> Self {
        let host = archive.host();
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
    /// Opens the store of a watched host, and reads all of it at the resolution of its chart.
    ///
    /// # Errors
    ///
    /// The path has no store, or one of a later version.
    pub fn open_watched(path: &Path) -> Result<Self, WatchError> {
        let archive = Archive::open(path)?;
        let (from_s, to_s) = archive.bounds()?.unwrap_or_default();
        let window = archive.window((from_s, to_s), SLICES_MAX)?;
        let zero_s = window.slices.first().map_or(from_s, |slice| slice.start_s);
        let keys = window.slices.iter().flat_map(|slice| slice.io.keys());
        let disks: BTreeSet<&str> =
            keys.filter(|key| !key.is_guest_side()).map(|key| &*key.disk).collect();
        let has_one_disk = disks.len() <= 1;
        let size_bytes = archive.state()?.bytes;
        let facts = TraceFacts::watched(&archive, zero_s, to_s, size_bytes);
        let lost = window.slices.iter().map(|slice| slice.lost).fold(0, u64::saturating_add);
        let store = WatchedStore { archive, zero_s, has_one_disk, lost };
        let rollup = Rollup::of_width(seconds(window.width_s));
        let rollup = Arc::new(store.fold(rollup, &window.slices));
        let facts = Facts { trace: Some(facts), watched: Some(store), ..Facts::default() };
        Ok(Self { size_bytes, ..Self::of(facts, rollup, RunState::Complete) })
    }
}

impl WatchedStore {
    /// Begin of the axis, in seconds since 1970.
    pub fn zero_s(&self) -> u64 {
        self.zero_s
    }

    /// Events that were lost while the host was watched.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Rollup of a window in finer buckets; `None` if there are no finer ones.
    pub fn zoomed(
        &self,
        whole: &Rollup,
        (from, to): (Nanos, Nanos),
    ) -> Result<Option<Rollup>, WatchError> {
        let at = |time: Nanos| self.zero_s.saturating_add(time.0 / Nanos::SECOND.0);
        let window = self.archive.window((at(from), at(to).saturating_add(1)), SLICES_MAX)?;
        let width = seconds(window.width_s);
        if width >= whole.wide().width {
            return Ok(None);
        }
        Ok(Some(self.fold(whole.part((from, to), width), &window.slices)))
    }

    fn fold(&self, mut rollup: Rollup, slices: &[Slice]) -> Rollup {
        for slice in slices {
            let start = seconds(slice.start_s.saturating_sub(self.zero_s));
            // A slice that was watched in part has its rates over that part.
            let width = slice.watched.min(seconds(slice.width_s)).max(Nanos(1));
            let rows: Vec<(Cow<'_, str>, &Key, &Cell, Compact)> = slice
                .io
                .iter()
                .filter(|(key, _)| !key.is_guest_side())
                .map(|(key, cell)| {
                    (self.name(key), key, cell, cell.latencies.compact(cell.latency_ns))
                })
                .collect();
            let observed = rows.iter().map(|(name, key, cell, service)| ObservedRow {
                name,
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

    fn name<'a>(&self, key: &'a Key) -> Cow<'a, str> {
        match self.has_one_disk {
            true => Cow::Borrowed(&key.vm),
            false => Cow::Owned(format!("{} on {}", key.vm, key.disk)),
        }
    }
}

/// Size class of the mean size, where the source does not tell sizes.
fn class_of(cell: &Cell) -> SizeClass {
    let mean = cell.bytes.checked_div(cell.count).unwrap_or(0);
    SizeClass::of(u32::try_from(mean).unwrap_or(u32::MAX))
}

fn seconds(seconds: u64) -> Nanos {
    Nanos(seconds.saturating_mul(Nanos::SECOND.0))
}
