//! Reads the store of `tilemark watch`: the load of each VM in the last week, minute by minute.
//!
//! A store has no sizes of disks. So it adds loads to the VMs of another list, or without such a
//! list uses the mean sizes of classes. Initiators that are not VMs (processes of the host) are
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use run_store::gauge::GaugeName;
use run_store::slice::Direction;
use watch::{Archive, Slice, WatchError};

use super::{Source, moments};
use crate::error::ReadError;
use crate::place::{Findings, RowLocation};
use crate::row::{Facts, Record};
use crate::vm::Load;

const NAME: &str = "store of tilemark watch";
/// Length of the used time: a week has working days and a weekend. Our choice.
const WEEK_S: u64 = 604_800;
/// Maximum number of slices: the minutes of the week.
const SLICES_MAX: u64 = WEEK_S / 60;

/// Returns the directory of a store, if the source is one: `watch:DIR`, or a directory that
/// contains a store.
pub(super) fn store_of(source: &Source) -> Option<&Path> {
    let named = source.path.to_str().and_then(|path| path.strip_prefix("watch:")).map(Path::new);
    named.or_else(|| Archive::is_store(&source.path).then_some(&*source.path))
}

/// Reads a store.
pub(super) fn read(
    number: usize,
    store: &Path,
    found: &mut Findings,
) -> Result<Vec<Record>, ReadError> {
    let path = store.display().to_string();
    let broken = |error: WatchError| ReadError::Broken {
        path: path.clone(),
        format: NAME,
        what: error.to_string(),
    };
    let archive = Archive::open(store).map_err(broken)?;
    let (_, end_s) = archive.bounds().map_err(broken)?.unwrap_or_default();
    let window = (end_s.saturating_sub(WEEK_S), end_s);
    let window = archive.window(window, SLICES_MAX).map_err(broken)?;
    window.unreadable.iter().for_each(|file| found.note(format!("left out: {file}")));
    let (loads, others) = loads(&window.slices);
    if loads.is_empty() {
        let what = "it has no virtual machine (QEMU) with I/O in its last week".to_owned();
        return Err(ReadError::Broken { path, format: NAME, what });
    }
    if others > 0 {
        found.note(format!(
            "{path}: senders of I/O that are not virtual machines are left out ({others})"
        ));
    }
    let watched: f64 = window.slices.iter().map(|slice| slice.watched.as_secs_f64()).sum();
    found.note(format!("{path}: loads come from {:.1} hours of its last week", watched / 3600.0));
    let records = (1..).zip(loads).map(|(row, (name, loads))| Record {
        at: RowLocation { file: number, path: path.clone(), part: String::new(), row },
        name: name.to_string(),
        id: String::new(),
        number: String::new(),
        lists: false,
        facts: Facts { is_on: true, load: moments::percentiles(&loads), ..Facts::default() },
    });
    Ok(records.collect())
}

/// Returns the loads of each VM, beginning with its first slice, and the number of other
/// initiators.
fn loads(slices: &[Slice]) -> (BTreeMap<Arc<str>, Vec<Load>>, usize) {
    let of_vms = slices.iter().flat_map(|slice| slice.gauges.keys());
    let of_vms = of_vms.filter(|(name, _)| *name == GaugeName::VmCpu).map(|(_, vm)| vm);
    let vms: BTreeSet<Arc<str>> = of_vms.cloned().collect();
    let mut others: BTreeSet<&str> = BTreeSet::new();
    let mut loads: BTreeMap<Arc<str>, Vec<Load>> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.watched.0 > 0) {
        let seconds = slice.watched.as_secs_f64();
        let mut sums: BTreeMap<&Arc<str>, [[u64; 2]; 2]> = BTreeMap::new();
        for (key, cell) in slice.io.iter().filter(|(key, _)| key.is_counted()) {
            let Some(vm) = vms.get(&key.vm) else {
                others.insert(&key.vm);
                continue;
            };
            let way = match key.direction {
                Direction::Read => 0,
                Direction::Write => 1,
                Direction::Flush => continue,
            };
            let sum = &mut sums.entry(vm).or_default()[way];
            *sum = [sum[0].saturating_add(cell.count), sum[1].saturating_add(cell.bytes)];
        }
        // A slice without I/O of a VM that was seen before is one of rate zero.
        let quiet = loads.keys().cloned().collect::<Vec<_>>();
        let now = sums.keys().copied().cloned().chain(quiet).collect::<BTreeSet<_>>();
        for vm in now {
            let [reads, writes] = sums.get(&vm).copied().unwrap_or_default();
            #[expect(clippy::cast_precision_loss, reason = "a rate is read to a few digits")]
            let rate = |sum: u64| Some(sum as f64 / seconds);
            loads.entry(vm).or_default().push(Load {
                reads_per_s: rate(reads[0]),
                writes_per_s: rate(writes[0]),
                read_bytes_per_s: rate(reads[1]),
                written_bytes_per_s: rate(writes[1]),
                ..Load::default()
            });
        }
    }
    (loads, others.len())
}
