//! Names in a store: which initiators are VMs, and which disks are storage shared with other hosts.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::WatchError;

/// Name of the file of names. Stores of earlier versions do not have it.
pub(crate) const NAMES_FILE: &str = "names.json";
const UNFINISHED_FILE: &str = "names.json.tmp";
const SCHEMA: &str = "tilemark.watch-names/1.0";
/// Maximum number of VMs, and of disk identities, that are kept; the newest are kept. Our choice: a
/// host runs some hundreds of VMs, and they come and go for a year.
const KEPT_MAX: usize = 4096;
/// Maximum length of a stored name or identity.
pub(crate) const NAME_MAX: usize = 1024;
const DAY_S: u64 = 86_400;

/// VMs and disks of a host at one point in time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sightings {
    /// Running VMs, with their UUIDs if QEMU has one.
    pub vms: Vec<(String, Option<String>)>,
    /// Watched disks with their identities. An identity is the same text on every host that has the
    /// same storage; `None` if it cannot be determined.
    pub disks: Vec<(String, Option<String>)>,
    /// Disks of VMs that only QEMU reports, with their identities. VMs come and go, so a disk that
    /// never had an identity is not stored.
    pub vm_disks: Vec<(String, Option<String>)>,
}

/// VMs and disks about which a store has information.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Known {
    /// Begin of the time for which names were recorded, in seconds since 1970; 0 if they were
    /// recorded since the first slice.
    pub since_s: u64,
    /// Initiators that are VMs.
    pub vms: Vec<KnownVm>,
    /// Identities of disks, sorted by time for each disk.
    pub disks: Vec<KnownDisk>,
}

/// Initiator that is a VM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownVm {
    /// Name of the VM.
    pub name: String,
    /// UUID of the VM, if QEMU has one.
    pub uuid: Option<String>,
    /// Day on which the VM was last seen, as its begin in seconds since 1970.
    pub day_s: u64,
}

/// Identity of a disk since some time, until the next entry of the same disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDisk {
    /// Name of the disk.
    pub name: String,
    /// Identity; `None` if it cannot be determined.
    pub identity: Option<String>,
    /// Time since which the disk has this identity, in seconds since 1970.
    pub from_s: u64,
}

#[derive(Serialize, Deserialize)]
struct NamesFile {
    schema: String,
    #[serde(flatten)]
    known: Known,
}

impl Known {
    /// Returns the identity of a disk in an interval; `None` if it was unknown or changed within
    /// the interval.
    pub fn identity(&self, disk: &str, (from_s, to_s): (u64, u64)) -> Option<&str> {
        if from_s < self.since_s {
            return None;
        }
        let own = || self.disks.iter().filter(|own| own.name == disk);
        let before = own().filter(|own| own.from_s <= from_s).max_by_key(|own| own.from_s);
        let within = own().filter(|own| own.from_s > from_s && own.from_s < to_s);
        let mut all = before.into_iter().chain(within).map(|own| own.identity.as_deref());
        let first = all.next()??;
        all.all(|own| own == Some(first)).then_some(first)
    }

    /// Adds the VMs and disks seen at a time; returns true if anything changed.
    pub(crate) fn note(&mut self, at_s: u64, seen: &Sightings) -> bool {
        let before = self.clone();
        let fits = |name: &str| name.len() <= NAME_MAX;
        for (name, uuid) in seen.vms.iter().filter(|(name, _)| fits(name)) {
            let uuid = uuid.clone().filter(|uuid| fits(uuid));
            let day_s = at_s - at_s % DAY_S;
            match self.vms.iter_mut().find(|own| own.name == *name && own.uuid == uuid) {
                Some(own) => own.day_s = own.day_s.max(day_s),
                None => self.vms.push(KnownVm { name: name.clone(), uuid, day_s }),
            }
        }
        let disks = seen.disks.iter().map(|own| (own, true));
        let vm_disks = seen.vm_disks.iter().map(|own| (own, false));
        for ((name, identity), is_kept) in disks.chain(vm_disks).filter(|((name, _), _)| fits(name))
        {
            let identity = identity.clone().filter(|identity| fits(identity));
            let own = self.disks.iter().filter(|own| own.name == *name);
            let last = own.max_by_key(|own| own.from_s);
            let is_new = match last {
                None => is_kept || identity.is_some(),
                Some(last) => last.identity != identity,
            };
            // A clock that steps back must not change earlier entries.
            let from_s = last.map_or(0, |last| last.from_s + 1).max(at_s);
            if is_new {
                self.disks.push(KnownDisk { name: name.clone(), identity, from_s });
            }
        }
        self.vms.sort_by_key(|own| own.day_s);
        let over = self.vms.len().saturating_sub(KEPT_MAX);
        self.vms.drain(..over);
        self.disks.sort_by_key(|own| own.from_s);
        let over = self.disks.len().saturating_sub(KEPT_MAX);
        if let Some(last) = self.disks.drain(..over).next_back() {
            self.since_s = self.since_s.max(last.from_s + 1);
        }
        *self != before
    }

    /// Removes a VM, and VMs that were last seen before a time; returns true if any was removed.
    pub(crate) fn forget(&mut self, before_s: Option<u64>, vm: Option<&str>) -> bool {
        let before = self.vms.len();
        self.vms.retain(|own| {
            let is_old = before_s.is_some_and(|before_s| own.day_s + DAY_S <= before_s);
            !is_old && vm.is_none_or(|vm| own.name != vm)
        });
        self.vms.len() != before
    }
}

/// Reads the names of a store. The result is empty for a store of an earlier version, or if the
/// file cannot be read. Then nothing is matched with VMs and disks of other hosts.
pub(crate) fn read(directory: &Path) -> Known {
    let text = untrusted::read_text(&directory.join(NAMES_FILE)).unwrap_or_default();
    let file: Option<NamesFile> = serde_json::from_str(&text).ok();
    let known = file.filter(|file| file.schema == SCHEMA).map(|file| file.known);
    known.unwrap_or_else(|| Known { since_s: u64::MAX, ..Known::default() })
}

/// Returns true if the store has the file.
pub(crate) fn is_there(directory: &Path) -> bool {
    directory.join(NAMES_FILE).is_file()
}

/// Returns true for the name of a file that a killed writer may leave.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name == UNFINISHED_FILE
}

/// Writes the names of a store.
///
/// # Errors
/// The file cannot be written; the previous file stays.
pub(crate) fn write(directory: &Path, known: &Known) -> Result<(), WatchError> {
    let (path, temporary) = (directory.join(NAMES_FILE), directory.join(UNFINISHED_FILE));
    let file = NamesFile { schema: SCHEMA.to_owned(), known: known.clone() };
    let text = serde_json::to_string(&file).expect("numbers and texts");
    let written = untrusted::create(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&temporary, &path));
    written.map_err(WatchError::io(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(disk: &str, identity: Option<&str>) -> Sightings {
        let disks = vec![(disk.to_owned(), identity.map(str::to_owned))];
        Sightings { vms: vec![("web1".to_owned(), None)], disks, ..Sightings::default() }
    }

    #[test]
    fn disk_of_a_vm_is_kept_once_it_has_an_identity() {
        let mut known = Known::default();
        let mut note = |at_s, identity: Option<&str>| {
            let vm_disks = vec![("web1:virtio0".to_owned(), identity.map(str::to_owned))];
            known.note(at_s, &Sightings { vm_disks, ..Sightings::default() })
        };
        assert!(!note(100, None), "nothing is known of it");
        assert!(note(200, Some("nfs.nas:/vms")) && note(300, None) && !note(310, None));
        let of = |from, to| known.identity("web1:virtio0", (from, to));
        assert_eq!((of(200, 300), of(300, 400)), (Some("nfs.nas:/vms"), None));
    }

    #[test]
    fn identity_is_of_its_time_and_never_guessed() {
        let mut known = Known::default();
        assert!(known.note(100, &seen("sda", Some("naa.1"))));
        assert!(!known.note(110, &seen("sda", Some("naa.1"))), "nothing new");
        assert!(known.note(200, &seen("sda", None)));
        assert!(known.note(300, &seen("sda", Some("naa.2"))));
        let of = |from, to| known.identity("sda", (from, to));
        assert_eq!(of(90, 110), Some("naa.1"), "before that there was no such disk");
        assert_eq!(of(110, 200), Some("naa.1"));
        assert_eq!((of(150, 250), of(210, 220), of(250, 310)), (None, None, None));
        assert_eq!(of(300, 900), Some("naa.2"));
        assert_eq!(known.identity("sdb", (300, 900)), None);
        let later = Known { since_s: 120, ..known };
        assert_eq!(later.identity("sda", (110, 130)), None, "names were not kept then");
    }

    #[test]
    fn names_are_kept_up_to_a_number_and_vms_are_forgotten() {
        let mut known = Known::default();
        for number in 0..KEPT_MAX as u64 + 10 {
            let vms = vec![(format!("vm{number}"), None)];
            let disks = vec![(format!("sd{number}"), Some("naa.1".to_owned()))];
            known.note(number * DAY_S, &Sightings { vms, disks, ..Sightings::default() });
        }
        assert_eq!((known.vms.len(), known.disks.len()), (KEPT_MAX, KEPT_MAX));
        assert_eq!(known.vms[0].name, "vm10", "the newest stay");
        assert_eq!(known.identity("sd20", (0, 10)), None, "older ones may be missing");
        assert!(known.forget(None, Some("vm12")) && !known.forget(None, Some("vm12")));
        assert!(known.forget(Some(20 * DAY_S), None));
        assert_eq!(known.vms[0].name, "vm20");
    }
}
