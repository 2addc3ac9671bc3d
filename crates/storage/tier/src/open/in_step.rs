//! Comparison of the numbers that a set and a sidecar store about each other, which reveals an
//! older copy of either.
//!
//! Each opening first writes its number durably into the superblock, then into the sidecar. So the
//! sidecar has the number of the disk's entry or, after a stop between the two writes, the number
//! before it. Within one opening each side stores the other's newest number. The entry and the
//! heads of the log have the number of the newest sidecar copy. The sidecar has the numbers of the
//! newest superblock and of the last durable group of the log. If a side has stored a number that
//! the other side lacks, the other side is an older copy.

use crate::format::{DiskEntry, Sidecar};
use crate::moment::Moment;

/// Numbers of the last and first groups of a disk's log and of the pool's log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Last group of the disk's log.
    pub(super) log: u64,
    /// First group that the disk's log still has.
    pub(super) first: u64,
    /// Damaged group of the pool's log that may explain why the log seems to begin later than the
    /// set records.
    pub(super) first_doubt: Option<u64>,
    /// Number of the newest sidecar copy that a group of the log has recorded.
    pub(super) sidecar: u64,
    /// Last group of the pool's log.
    pub(super) pool: u64,
}

/// Result of comparing a set with a sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Neither is older.
    Same,
    /// An opening was stopped between superblock and sidecar, or the sidecar is from the opening
    /// before. In both cases no log lacks groups, but pages may be newer than the backing store.
    Interrupted,
    /// Set or sidecar has no numbers, because an earlier program version used it last.
    Unnumbered,
    /// The set is older; the text describes the newer state that it lacks.
    CacheOlder(String),
    /// The sidecar is older. The set has recorded the copy with this number, or a later one.
    SidecarOlder(u64),
    /// It is not known if one is older: this damaged group of the pool's log may contain a later
    /// start of the disk's log.
    StartUnknown(u64),
}

/// Compares an entry with its sidecar. The sidecar must name this set and the entry's generation.
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
    // The log frees groups only when the sidecar says that they are on the backing store.
    if reach.first > sidecar.log_retired + 1 {
        return reach.first_doubt.map_or(Step::SidecarOlder(sidecar.seq + 1), Step::StartUnknown);
    }
    let is_interrupted = sidecar.opening == entry.before;
    if sidecar.opening != entry.opening && !is_interrupted {
        return Step::CacheOlder("a later opening of the set".to_owned());
    }
    if sidecar.superblock > entry.superblock {
        let (known, found) = (sidecar.superblock, entry.superblock);
        return Step::CacheOlder(format!("superblock {known}; the newest one found is {found}"));
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
            "group {known} of the log of pages; the last one found is {found}"
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
