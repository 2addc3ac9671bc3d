//! Merges slices of several hosts: a VM that several hosts saw is one initiator, and shared storage
//! is one disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run_store::gauge::ScopeKind;
use trace::Senders;
use trace::store::Machine;
use units::Nanos;

use super::check::CheckedSlices;
use crate::{Evidence, Key, Known, SetRow, Slice, Window};

/// Slices of a window over all hosts that answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merged {
    /// Usual width of a slice, in seconds: the largest of all hosts.
    pub width_s: u64,
    /// Slices, ascending. A VM has one name on all hosts; other initiators are named `HOST/NAME`.
    /// Storage that several disks share is one disk, named by its identity; other disks are named
    /// `HOST/NAME`.
    pub slices: Vec<Slice>,
    /// I/O of shared storage, separately for each host's disk.
    pub parts: Vec<Slice>,
    /// Disks of the hosts in `parts`.
    pub disks: Vec<StoragePart>,
    /// Hosts of each initiator, sorted by the time of its first I/O on each.
    pub hosts: BTreeMap<Arc<str>, Vec<String>>,
    /// Number of files that could not be read; their time is a gap.
    pub unreadable: u64,
}

/// Disk of a host that is part of a shared storage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoragePart {
    /// Identity of the storage, which is its name in [`Merged::slices`].
    pub storage: Arc<str>,
    /// Name in [`Merged::parts`]: `HOST/NAME`.
    pub disk: Arc<str>,
}

/// Working sets of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSets {
    /// Name of the host.
    pub host: String,
    /// Sets, with the merged names of all hosts.
    pub rows: Vec<SetRow>,
}

/// Recording of a broken limit on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEvidence {
    /// Name of the host.
    pub host: String,
    /// Recording, with the merged names of all hosts. The trace is a path on the host.
    pub evidence: Evidence,
}

impl From<Merged> for Window {
    fn from(merged: Merged) -> Self {
        Self { width_s: merged.width_s, slices: merged.slices, unreadable: Vec::new() }
    }
}

/// Merged names of initiators and storage. A name that was given once is kept.
#[derive(Debug, Default)]
pub(crate) struct Names {
    senders: Senders,
    /// Newest list of known names from each host.
    known: BTreeMap<String, Known>,
    /// Initiators of each host that are VMs, in addition to those listed as known VMs.
    vms: BTreeMap<String, BTreeSet<String>>,
    /// Disks of the hosts, by identity.
    storage: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl Names {
    /// Adds the known names of a host. Hosts are added in the order in which they were given.
    pub fn learn(&mut self, host: &str, known: &Known) {
        if self.known.get(host) == Some(known) {
            return;
        }
        for own in &known.disks {
            if let Some(identity) = &own.identity {
                let disks = self.storage.entry(identity.clone()).or_default();
                disks.insert((host.to_owned(), own.name.clone()));
            }
        }
        self.known.insert(host.to_owned(), known.clone());
        for vm in &known.vms {
            self.sender(host, &vm.name);
        }
    }

    /// Adds initiators of a host that are VMs.
    pub fn learn_vms(&mut self, host: &str, vms: &[String]) {
        self.vms.entry(host.to_owned()).or_default().extend(vms.iter().cloned());
    }

    /// Returns the merged name of a host's initiator.
    fn sender(&mut self, host: &str, name: &str) -> Arc<str> {
        let machine = self.machine(host, name);
        let at = self.senders.position(host, name, machine.as_ref());
        self.senders.names()[at].as_str().into()
    }

    /// Returns the VM that a host's initiator is, if it is a VM. If its name had several UUIDs, the
    /// VM is identified only by name.
    fn machine(&self, host: &str, name: &str) -> Option<Machine> {
        let known = self.known.get(host).into_iter().flat_map(|known| &known.vms);
        let uuids: Vec<_> = known.filter(|vm| vm.name == name).map(|vm| vm.uuid.clone()).collect();
        let is_seen = || self.vms.get(host).is_some_and(|own| own.contains(name));
        let uuid = match uuids.as_slice() {
            [] if !is_seen() => return None,
            [uuid] => uuid.clone(),
            _ => None,
        };
        Some(Machine { name: name.to_owned(), uuid })
    }

    /// Returns the identity of a host's disk in an interval, if more than one disk has this
    /// identity.
    fn storage(&self, host: &str, disk: &str, time_s: (u64, u64)) -> Option<&str> {
        let identity = self.known.get(host)?.identity(disk, time_s)?;
        let disks = self.storage.get(identity)?;
        (disks.len() > 1).then_some(identity)
    }
}

/// Merged name of a disk, and the name of the host's part if the disk is shared storage.
#[derive(Debug, Clone)]
struct DiskName {
    name: Arc<str>,
    part: Option<Arc<str>>,
}

/// Merged names of a host during one merge, so that each is looked up once.
struct HostNames<'a> {
    host: &'a str,
    all: &'a mut Names,
    senders: BTreeMap<Arc<str>, Arc<str>>,
}

impl HostNames<'_> {
    fn sender(&mut self, name: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.senders.get(name) {
            return Arc::clone(known);
        }
        let found = self.all.sender(self.host, name);
        self.senders.insert(Arc::clone(name), Arc::clone(&found));
        found
    }

    fn disk(&mut self, key: &Key, vm: &str, time_s: (u64, u64)) -> DiskName {
        let (host, disk) = (self.host, &*key.disk);
        if let Some(storage) = self.all.storage(host, disk, time_s) {
            let part = Some(format!("{host}/{disk}").into());
            return DiskName { name: storage.into(), part };
        }
        // A disk that QEMU tells of is named after its VM, and moves with it.
        let of_vm = key.class.is_none().then(|| disk.strip_prefix(&*key.vm)).flatten();
        let name = match of_vm.filter(|rest| rest.starts_with(':')) {
            Some(rest) => format!("{vm}{rest}").into(),
            None => format!("{host}/{disk}").into(),
        };
        DiskName { name, part: None }
    }

    /// Converts a slice to merged names. Also returns the slice of the parts.
    fn rename(&mut self, slice: &Slice, disks: &mut BTreeSet<StoragePart>) -> (Slice, Slice) {
        let (start_s, width_s) = (slice.start_s, slice.width_s);
        let time_s = (start_s, start_s.saturating_add(width_s));
        let watched = slice.watched.min(seconds(width_s));
        let mut own = Slice { watched, lost: slice.lost, ..Slice::new(start_s, width_s) };
        let mut parts = Slice { watched, ..Slice::new(start_s, width_s) };
        let mut names: BTreeMap<&str, DiskName> = BTreeMap::new();
        for (key, cell) in &slice.io {
            let vm = self.sender(&key.vm);
            let disk = match names.get(&*key.disk).filter(|_| key.class.is_some()) {
                Some(known) => known.clone(),
                None => {
                    let found = self.disk(key, &vm, time_s);
                    if key.class.is_some() {
                        names.insert(&key.disk, found.clone());
                    }
                    found
                }
            };
            if let Some(part) = disk.part {
                let storage = Arc::clone(&disk.name);
                disks.insert(StoragePart { storage, disk: Arc::clone(&part) });
                let key = Key { vm: Arc::clone(&vm), disk: part, ..key.clone() };
                parts.io.entry(key).or_default().merge(cell);
            }
            own.io.entry(Key { vm, disk: disk.name, ..key.clone() }).or_default().merge(cell);
        }
        for ((name, scope), folded) in &slice.gauges {
            let scope = match name.scope() {
                ScopeKind::Host => self.host.into(),
                ScopeKind::Vm => self.sender(scope),
                _ => format!("{}/{scope}", self.host).into(),
            };
            own.read(*name, &scope, *folded);
        }
        (own, parts)
    }
}

/// Merges the slices of all hosts. Time that several hosts watched counts once.
pub(crate) fn merge(names: &mut Names, hosts: &[(&str, CheckedSlices)]) -> Merged {
    let width_s = hosts.iter().map(|(_, own)| own.width_s).max().unwrap_or_default();
    let (mut all, mut parts) = (BTreeMap::new(), BTreeMap::new());
    let mut disks = BTreeSet::new();
    let mut first: BTreeMap<Arc<str>, Vec<(u64, usize)>> = BTreeMap::new();
    for (position, (host, own)) in hosts.iter().enumerate() {
        let mut host = HostNames { host, all: names, senders: BTreeMap::new() };
        let (mut of_host, mut of_parts) = (BTreeMap::new(), BTreeMap::new());
        for slice in &own.slices {
            let (renamed, part) = host.rename(slice, &mut disks);
            for key in renamed.io.keys().filter(|key| !key.is_guest_side()) {
                let seen = first.entry(Arc::clone(&key.vm)).or_default();
                if seen.last().is_none_or(|(_, known)| *known != position) {
                    seen.push((slice.start_s, position));
                }
            }
            add(&mut of_host, renamed, width_s, Slice::merge);
            add(&mut of_parts, part, width_s, Slice::merge);
        }
        of_host.into_values().for_each(|own| add(&mut all, own, width_s, beside));
        of_parts.into_values().for_each(|own| add(&mut parts, own, width_s, beside));
    }
    let hosts_of = |mut seen: Vec<(u64, usize)>| {
        seen.sort_unstable();
        seen.into_iter().map(|(_, position)| hosts[position].0.to_owned()).collect()
    };
    Merged {
        width_s,
        slices: all.into_values().collect(),
        parts: parts.into_values().filter(|own: &Slice| !own.io.is_empty()).collect(),
        disks: disks.into_iter().collect(),
        hosts: first.into_iter().map(|(vm, seen)| (vm, hosts_of(seen))).collect(),
        unreadable: hosts.iter().map(|(_, own)| own.unreadable).fold(0, u64::saturating_add),
    }
}

/// Adds a slice to the slices of a width.
fn add(
    all: &mut BTreeMap<u64, Slice>,
    slice: Slice,
    width_s: u64,
    merge: impl FnOnce(&mut Slice, &Slice),
) {
    let width_s = width_s.max(slice.width_s);
    let start_s = slice.start_s - slice.start_s % width_s;
    match all.get_mut(&start_s) {
        Some(own) => merge(own, &slice),
        None => drop(all.insert(start_s, Slice { start_s, width_s, ..slice })),
    }
}

/// Adds a slice of another host for the same time.
fn beside(own: &mut Slice, other: &Slice) {
    let watched = own.watched.max(other.watched);
    own.width_s = own.width_s.max(other.width_s);
    own.merge(other);
    own.watched = watched;
}

/// Converts working sets to merged names.
pub(crate) fn rename_sets(names: &mut Names, host: &str, rows: Vec<SetRow>) -> HostSets {
    let mut own = HostNames { host, all: names, senders: BTreeMap::new() };
    let rows = rows.into_iter().map(|row| SetRow { vm: own.sender(&row.vm), ..row }).collect();
    HostSets { host: host.to_owned(), rows }
}

/// Converts the names of a recording to merged names.
pub(crate) fn rename_evidence(names: &mut Names, host: &str, own: Evidence) -> HostEvidence {
    let disk = match names.storage(host, &own.disk, (own.at_s, own.at_s + 1)) {
        Some(storage) => storage.to_owned(),
        None => format!("{host}/{}", own.disk),
    };
    let vm = own.vm.map(|vm| names.sender(host, &vm).to_string());
    HostEvidence { host: host.to_owned(), evidence: Evidence { vm, disk, ..own } }
}

fn seconds(seconds: u64) -> Nanos {
    Nanos(seconds.saturating_mul(Nanos::SECOND.0))
}
