//! Comparison of what a set and a sidecar know of each other, by which an older copy of either is told.
//!
//! At each opening the superblock gets the number of the opening, durably, and then the sidecar gets it. So the
//! sidecar has the number that the disk's entry has, or, after a stop between the two, the one before. Within
//! one opening each stores the other's newest number: the entry and the heads of the log have the number of
//! the newest sidecar copy, the sidecar has those of the newest superblock and of the last durable group of the
//! log. A number that is known and not there belongs to a newer state than the one that was found.

use crate::format::{DiskEntry, Sidecar};
use crate::moment::Moment;

/// How far the log and the pages' log of a set reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Last group of the disk's log.
    pub(super) log: u64,
    /// First group that the disk's log still has.
    pub(super) first: u64,
    /// Damaged group of the pages' log that may say so, where the log seems to begin later than is known.
    pub(super) first_doubt: Option<u64>,
    /// Newest sidecar copy that a group of the log knows.
    pub(super) sidecar: u64,
    /// Last group of the pages' log.
    pub(super) pool: u64,
}

/// Which of the two is older.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Neither.
    Same,
    /// An opening was stopped between superblock and sidecar, or the sidecar is of the opening before. Nothing
    /// that a log has is missing then, and pages may be newer than the backing store.
    Interrupted,
    /// One of the two has no numbers: a program of before used it last.
    Unnumbered,
    /// The set, with what it lacks in words.
    CacheOlder(String),
    /// The sidecar; the set knows this number of it, or one behind it.
    SidecarOlder(u64),
    /// Neither, perhaps: this damaged group of the pages' log may say that the log begins earlier.
    StartUnknown(u64),
}

/// Compares the two. The sidecar is this set's, of the generation of its entry.
pub(super) fn compare(
    entry: &DiskEntry,
    sidecar: &Sidecar,
    reach: Reach,
    moment: Option<Moment>,
) -> Step {
    if entry.opening == 0 || sidecar.opening == 0 {
        return Step::Unnumbered;
    }
    let known = entry.sidecar.max(reach.sidecar);
    if sidecar.seq < known {
        return Step::SidecarOlder(known);
    }
    // The log gives groups up only when the sidecar says that they are on the backing store.
    if reach.first > sidecar.log_retired + 1 {
        return reach.first_doubt.map_or(Step::SidecarOlder(sidecar.seq + 1), Step::StartUnknown);
    }
    let is_interrupted = sidecar.opening == entry.before;
    if sidecar.opening != entry.opening && !is_interrupted {
        return Step::CacheOlder("a later opening of the set".to_owned());
    }
    if sidecar.superblock > entry.superblock {
        let (known, found) = (sidecar.superblock, entry.superblock);
        return Step::CacheOlder(format!("superblock {known}, and the newest there is {found}"));
    }
    let moment = moment.filter(|moment| moment.opening == sidecar.opening).unwrap_or_default();
    let log = sidecar.log_durable.max(moment.log);
    if log > reach.log {
        let found = reach.log;
        return Step::CacheOlder(format!("groups {} to {log} of the log, durable once", found + 1));
    }
    if moment.pool > reach.pool {
        let (known, found) = (moment.pool, reach.pool);
        return Step::CacheOlder(format!(
            "group {known} of the log of pages, and the last there is {found}"
        ));
    }
    if is_interrupted { Step::Interrupted } else { Step::Same }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Identity, SidecarState};

    fn pair() -> (DiskEntry, Sidecar) {
        let entry =
            DiskEntry { opening: 7, before: 5, sidecar: 20, superblock: 9, ..DiskEntry::default() };
        let sidecar = Sidecar {
            disk: [3; 16],
            generation: 1,
            seq: 21,
            owner: [1; 16],
            boot: [2; 16],
            state: SidecarState::Dirty,
            mode: 1,
            applied: 0,
            holders: Vec::new(),
            log_generation: 0,
            key: 0,
            stays: false,
            fingerprint: [0; 64],
            backing: Identity::default(),
            place: Identity::default(),
            opening: 7,
            superblock: 9,
            log_durable: 30,
            log_retired: 10,
        };
        (entry, sidecar)
    }

    const REACH: Reach = Reach { first: 11, first_doubt: None, log: 30, sidecar: 21, pool: 4 };

    #[test]
    fn numbers_tell_which_of_the_two_is_older() {
        let (entry, sidecar) = pair();
        let at = |entry: &DiskEntry, sidecar: &Sidecar, reach| compare(entry, sidecar, reach, None);
        assert_eq!(at(&entry, &sidecar, REACH), Step::Same);
        let is_older = |step| matches!(step, Step::CacheOlder(_));
        assert!(is_older(at(&entry, &Sidecar { opening: 8, ..sidecar.clone() }, REACH)));
        assert!(is_older(at(&entry, &Sidecar { superblock: 10, ..sidecar.clone() }, REACH)));
        assert!(is_older(at(&entry, &sidecar, Reach { log: 29, ..REACH })));
        let moment = Some(Moment { opening: 7, pool: 5, log: 0 });
        assert!(is_older(compare(&entry, &sidecar, REACH, moment)));
        let old = Sidecar { seq: 20, ..sidecar.clone() };
        assert_eq!(at(&entry, &old, REACH), Step::SidecarOlder(21));
        assert_eq!(at(&entry, &old, Reach { sidecar: 0, ..REACH }), Step::Same);
        assert_eq!(at(&entry, &sidecar, Reach { first: 12, ..REACH }), Step::SidecarOlder(22));
        let doubtful = Reach { first_doubt: Some(4), ..REACH };
        assert_eq!(at(&entry, &sidecar, doubtful), Step::Same);
        let later = Reach { first: 12, ..doubtful };
        assert_eq!(at(&entry, &sidecar, later), Step::StartUnknown(4));
        assert_eq!(at(&entry, &old, later), Step::SidecarOlder(21), "a head knows a newer copy");
        let before = Sidecar { opening: 5, ..sidecar.clone() };
        assert_eq!(at(&entry, &before, REACH), Step::Interrupted);
        assert_eq!(at(&entry, &Sidecar { opening: 0, ..sidecar }, REACH), Step::Unnumbered);
    }
}
