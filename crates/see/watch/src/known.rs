//! Names of a store: which senders are VMs, and which disks are one storage with those of other
//! hosts.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::WatchError;

/// File of the names. Stores of earlier versions have none.
pub(crate) const NAMES_FILE: &str = "names.json";
const UNFINISHED_FILE: &str = "names.json.tmp";
const SCHEMA: &str = "tilemark.watch-names/1.0";
/// Most VMs, and most identities of disks, that are kept: the newest. Our choice; a host runs some
/// hundreds of VMs, and they come and go for a year.
const KEPT_MAX: usize = 4096;
/// Longest name or identity that is kept.
pub(crate) const NAME_MAX: usize = 1024;
const DAY_S: u64 = 86_400;

/// VMs and disks of a host at some time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sightings {
    /// VMs that run, with their UUIDs where QEMU has one.
    pub vms: Vec<(String, Option<String>)>,
    /// Disks that are watched, with their identities: the same text on every host that has the same
    /// storage. `None` where nothing tells.
    pub disks: Vec<(String, Option<String>)>,
    /// Disks of VMs that only QEMU tells of, likewise. VMs come and go, so one that never had an
    /// identity is not kept.
    pub vm_disks: Vec<(String, Option<String>)>,
}

/// Names that a store knows something of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Known {
    /// Begin of the time in which names were kept, in seconds since 1970; 0 if they were from the
    /// first slice on.
    pub since_s: u64,
    /// VMs.
    pub vms: Vec<KnownVm>,
    /// Identities of disks, ascending in time for each disk.
    pub disks: Vec<KnownDisk>,
}

/// Sender that is a VM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownVm {
    /// Name.
    pub name: String,
    /// UUID, if QEMU has one.
    pub uuid: Option<String>,
    /// Day on which it was last seen: its begin in seconds since 1970.
    pub day_s: u64,
}

/// Identity of a disk from some time on, until the disk has another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDisk {
    /// Name.
    pub name: String,
    /// Identity, `None` if nothing tells it.
    pub identity: Option<String>,
    /// Begin, in seconds since 1970.
    pub from_s: u64,
}

#[derive(Serialize, Deserialize)]
struct NamesFile {
    schema: String,
    #[serde(flatten)]
    known: Known,
}

impl Known {
    /// Identity of a disk in a stretch of time; `None` if it is unknown for a part of it, or was
    /// another one in another part.
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

    /// Adds what is there at a time; true if that changes anything.
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
            // A clock that steps back may not change what was.
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

    /// Removes a VM, and VMs that were last seen before a time; true if there were any.
    pub(crate) fn forget(&mut self, before_s: Option<u64>, vm: Option<&str>) -> bool {
        let before = self.vms.len();
        self.vms.retain(|own| {
            let is_old = before_s.is_some_and(|before_s| own.day_s + DAY_S <= before_s);
            !is_old && vm.is_none_or(|vm| own.name != vm)
        });
        self.vms.len() != before
    }
}

/// Names of a store; none of a store of an earlier version, or if the file cannot be read: then
/// nothing is one with what other hosts have.
pub(crate) fn read(directory: &Path) -> Known {
    let text = untrusted::read_text(&directory.join(NAMES_FILE)).unwrap_or_default();
    let file: Option<NamesFile> = serde_json::from_str(&text).ok();
    let known = file.filter(|file| file.schema == SCHEMA).map(|file| file.known);
    known.unwrap_or_else(|| Known { since_s: u64::MAX, ..Known::default() })
}

/// True if the store has the file.
pub(crate) fn is_there(directory: &Path) -> bool {
    directory.join(NAMES_FILE).is_file()
}

/// True for a file that a killed writer left.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name == UNFINISHED_FILE
}

/// Writes the names of a store.
///
/// # Errors
/// The file cannot be written; the one before it stays.
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
