use std::borrow::Cow;

use super::Media;
use super::accept::{accept, identity_in, or_unknown, word_for_disk};
use super::copies::put_sidecar;
use super::damage::LogDamage;
use super::errors::{Damaged, LogWrites, NO_SIDECAR, count_writes};
use super::reader::{Group, Start, Track, in_copy};
use super::walk::{Whose, walk};
use crate::event::{IoError, IoTarget};
use crate::format::{
    BLOCK, Identity, Kind, LABEL_BYTES, Label, Match, SIDECAR_BYTES, Sidecar, SidecarState, Uuid,
};
use crate::moment::Since;
use crate::ownership;

/// Number of zero bytes that are written at once.
const ZEROS: usize = 1 << 20;

/// Copy of a log on a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldCopy {
    /// Identity of the holder's host, as the sidecar names it.
    pub host: Uuid,
    /// Target from which the copy is read.
    pub place: IoTarget,
    /// Capacity of the copy in bytes.
    pub capacity: u64,
}

/// Disk to be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taking {
    /// Index of the targets of the backing store and the sidecar.
    pub index: u16,
    /// Identity of the disk.
    pub disk: Uuid,
    /// Size of the disk's backing store, in bytes.
    pub bytes: u64,
    /// Identity of the set that takes the disk over.
    pub set: Uuid,
    /// Boot of this host.
    pub boot: Uuid,
    /// Identity of the present backing store.
    pub backing: Identity,
    /// True if the owner confirmed this backing store for the disk, even if the sidecar has another
    /// one.
    pub is_backing_vouched: bool,
    /// Knowledge about changes of the backing store, with the counters that are stored beside the
    /// sidecar.
    pub since: Since,
    /// Reachable copies, already fenced against the old owner.
    pub copies: Vec<HeldCopy>,
}

/// Result of a take-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Identity of the previous owner.
    pub owner: Uuid,
    /// New generation.
    pub generation: u64,
    /// Identity of the host whose copy was read; `None` if the backing store had all writes.
    pub copy: Option<Uuid>,
    /// Number of writes that were written to the backing store.
    pub writes: usize,
    /// Size of these writes, in bytes.
    pub bytes: u64,
}

/// Reason why a disk cannot be taken over. The sidecar is then unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TakeOverError {
    /// The storage failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The sidecar is missing, or both of its copies are damaged.
    #[error(
        "the sidecar is missing or damaged, but only it records who has the disk's newest \
        writes"
    )]
    NoSidecar,
    /// The sidecar belongs to another disk.
    #[error("the sidecar belongs to a disk with another name")]
    OtherDisk,
    /// The backing store is, or may be, other storage than the disk's.
    #[error("the backing store {} from the recorded one: it is {}, but was {}", if *is_other { "differs" } else { "may differ" }, identity_in(.word), or_unknown(.known))]
    OtherPlace {
        /// True if the storage is known to be different; false if that is unknown.
        is_other: bool,
        /// Identity that was stored; empty for none.
        known: String,
        /// Word that confirms the storage: its identity, and a state.
        word: String,
    },
    /// The sidecar is an older state, and so perhaps is the backing store.
    #[error(
        "the copy of the log begins with group {first}, but according to the sidecar the backing \
        store has groups only up to {retired}. The sidecar is an older state, and groups between \
        would be lost"
    )]
    SidecarOlder {
        /// First group of the copy.
        first: u64,
        /// Last group whose writes are on the backing store according to the sidecar.
        retired: u64,
    },
    /// The longest copy lacks groups that were durable.
    #[error(
        "the log reaches to group {found} in the longest copy, but group {known} was durable. The \
        copy is an older state of itself, or damaged, and later writes would be lost"
    )]
    Older {
        /// Last group that is known to have been durable.
        known: u64,
        /// Last group in the longest copy.
        found: u64,
    },
    /// Only the backing store is an older state.
    #[error(
        "the backing store is older than at its last use by its owner. The log has {} that belong \
        to the newer state; writes that were destaged before that are lost", count_writes(*.writes)
    )]
    BackingOlder {
        /// Number of writes that would be written to the backing store.
        writes: usize,
    },
    /// No holder of a copy of the log can be reached.
    #[error(
        "the backing store lacks its newest writes, and {}", copies(*named, *reached)
    )]
    NoCopy {
        /// Number of copies that the sidecar names.
        named: usize,
        /// Number of copies that can be read.
        reached: usize,
    },
    /// All copies lack groups that were known to be durable.
    #[error("no copy of the log is whole: {0}")]
    Damaged(Damaged),
    /// A write lies beyond the end of the backing store.
    #[error(
        "the log has a write beyond the end of the backing store, so this backing store is smaller \
        than the disk's"
    )]
    Beyond,
}

impl TakeOverError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::NoSidecar => NO_SIDECAR.into(),
            Self::OtherDisk => {
                "write NAME=BACKING with the name that the disk's server used".into()
            }
            Self::OtherPlace { word, .. } => accept(word).into(),
            Self::SidecarOlder { .. } => "restore the newest sidecar and backing store; \
                --accept-loss gives up the contents of the log"
                .into(),
            Self::Older { .. } => "start the peer with another copy, or restore the newest copy; \
                --accept-loss gives up the contents of the log"
                .into(),
            Self::BackingOlder { .. } => {
                "restore the newest backing store; --accept-loss gives up the contents of the log"
                    .into()
            }
            Self::Beyond => "name the disk's own backing store".into(),
            Self::Io(..) | Self::NoCopy { .. } | Self::Damaged(..) => return None,
        })
    }
}

fn copies(named: usize, reached: usize) -> String {
    match named {
        0 => "no peer has a copy of them".to_owned(),
        _ => format!("of the copies that the sidecar names ({named}), {reached} can be read"),
    }
}

/// Write that is contained in the log.
struct Write {
    seq: u64,
    epoch: u64,
    offset: u64,
    bytes: u32,
    /// Address of the payload; `None` for zeros.
    at: Option<u64>,
}

struct Read {
    copy: HeldCopy,
    /// First group that the copy still has.
    first: u64,
    /// Last group of the copy.
    last: u64,
    /// Highest group that the copy records as durable.
    durable: u64,
    writes: Vec<Write>,
    damaged: Option<Damaged>,
}

/// Takes a disk over from an owner that *cannot write any more*, which the caller must have
/// ensured. Claims the disk in the sidecar, and writes the longest copy of the owner's log to the
/// backing store. After that the backing store has all writes. If the function is interrupted at
/// any point, it can be repeated.
///
/// # Errors
/// [`TakeOverError`].
pub fn take_over(media: &mut dyn Media, taking: &Taking) -> Result<Taken, TakeOverError> {
    let sidecar = read_sidecar(media, taking.index)?;
    if sidecar.disk != taking.disk {
        return Err(TakeOverError::OtherDisk);
    }
    check_place(taking, &sidecar)?;
    let read =
        if ownership::has_log(&sidecar) { Some(longest(media, taking, &sidecar)?) } else { None };
    if let Some(read) = &read {
        let moment = taking.since.moment().filter(|moment| moment.opening == sidecar.opening);
        let known = sidecar.log_durable.max(moment.map_or(0, |moment| moment.log));
        if read.last < known {
            return Err(TakeOverError::Older { known, found: read.last });
        }
        // The owner frees groups only when its sidecar says that they are on the backing store.
        let (first, retired) = (read.first, sidecar.log_retired);
        if sidecar.opening != 0 && first > retired + 1 {
            return Err(TakeOverError::SidecarOlder { first, retired });
        }
    }
    let writes = read.as_ref().map_or(&[][..], |read| &read.writes[..]);
    if writes.iter().any(|write| write.offset + u64::from(write.bytes) > taking.bytes) {
        return Err(TakeOverError::Beyond);
    }
    if !writes.is_empty() && matches!(taking.since, Since::Older(_)) {
        return Err(TakeOverError::BackingOlder { writes: writes.len() });
    }
    let applied = writes.last().map_or(sidecar.applied, |write| write.epoch);
    let state = match (writes.first(), sidecar.state) {
        (Some(first), _) => SidecarState::Applying { from: first.epoch, to: applied },
        (None, state) => state,
    };
    let claimed = ownership::claim(&sidecar, taking.set, taking.boot, state);
    let mut claimed = Sidecar { backing: taking.backing.clone(), ..claimed };
    put_sidecar(media, taking.index, &mut claimed)?;
    if let Some(read) = &read {
        for write in &read.writes {
            apply(media, taking.index, &read.copy, write)?;
        }
    }
    media.flush(IoTarget::Backing(taking.index))?;
    let mut settled = ownership::settle(&claimed, applied);
    put_sidecar(media, taking.index, &mut settled)?;
    Ok(Taken {
        owner: sidecar.owner,
        generation: settled.generation,
        writes: writes.len(),
        bytes: writes.iter().map(|write| u64::from(write.bytes)).sum(),
        copy: read.map(|read| read.copy.host),
    })
}

/// Refuses the backing store of another disk, to which the log must never be written.
fn check_place(taking: &Taking, sidecar: &Sidecar) -> Result<(), TakeOverError> {
    let (known, found) = (&sidecar.backing, &taking.backing);
    let is_other = match known.compare(found) {
        Match::Same => return Ok(()),
        _ if taking.is_backing_vouched => return Ok(()),
        Match::Unknown if !ownership::has_log(sidecar) => return Ok(()),
        Match::Unknown => false,
        Match::Other => true,
    };
    let (known, word) = (known.name.clone(), word_for_disk(&found.name, sidecar));
    Err(TakeOverError::OtherPlace { is_other, known, word })
}

/// Reads the sidecar of a disk.
///
/// # Errors
/// If it cannot be read, or is not a sidecar.
pub fn read_sidecar(media: &mut dyn Media, index: u16) -> Result<Sidecar, TakeOverError> {
    let mut bytes = vec![0; SIDECAR_BYTES];
    media.read(IoTarget::Sidecar(index), 0, &mut bytes)?;
    Sidecar::newest(&bytes).ok_or(TakeOverError::NoSidecar)
}

/// Returns the undamaged copy with the highest last group, among the copies that the sidecar names.
/// Each copy has all answered writes. A copy that ends before a group which another copy records as
/// durable has lost groups.
fn longest(
    media: &mut dyn Media,
    taking: &Taking,
    sidecar: &Sidecar,
) -> Result<Read, TakeOverError> {
    let is_named = |copy: &&HeldCopy| sidecar.holders.iter().any(|h| h.host == copy.host);
    let copies = taking.copies.iter().filter(is_named);
    let mut reads: Vec<Read> = copies
        .filter_map(|copy| read_copy(media, sidecar, *copy).transpose())
        .collect::<Result<_, _>>()?;
    let durable = reads.iter().map(|read| read.durable).max().unwrap_or(0);
    for read in &mut reads {
        if read.last < durable && read.damaged.is_none() {
            read.damaged = Some(Damaged {
                group: read.last + 1,
                missing_to: durable,
                before: LogWrites::of(read.writes.iter().map(|write| write.bytes)),
                behind: LogWrites::default(),
            });
        }
    }
    // Of copies with the same end, the first that the sidecar names wins.
    reads.sort_by_key(|read| (read.damaged.is_some(), std::cmp::Reverse(read.last)));
    let (named, reached) = (sidecar.holders.len(), reads.len());
    let best = reads.into_iter().next().ok_or(TakeOverError::NoCopy { named, reached })?;
    best.damaged.map_or(Ok(best), |damaged| Err(TakeOverError::Damaged(damaged)))
}

/// Reads the writes of a copy that the backing store may lack; `None` if the copy belongs to
/// another log.
fn read_copy(
    media: &mut dyn Media,
    sidecar: &Sidecar,
    copy: HeldCopy,
) -> Result<Option<Read>, IoError> {
    let mut labels = vec![0; usize::try_from(LABEL_BYTES).unwrap_or(0)];
    media.read(copy.place, 0, &mut labels)?;
    let generation = ownership::log_generation(sidecar);
    let label = Label::newest(&labels)
        .filter(|label| (label.disk, label.generation) == (sidecar.disk, generation));
    let Some(label) = label else { return Ok(None) };
    let mut writes = Vec::new();
    let track = Track::Copy { place: copy.place, capacity: copy.capacity };
    let whose = Whose { owner: sidecar.disk, generation, attach: 0 };
    // The other label may have been newer; groups before its position are gone then.
    let is_certain = Label::are_both_good(&labels);
    let start = Start { is_certain, ..in_copy(label.position, label.seq) };
    let walk = walk(media, track, whose, start, |group: Group<'_>| {
        for (record, at, _) in &group.records {
            let (seq, epoch) = (group.head.seq, group.head.epoch);
            let is_write = matches!(record.kind, Kind::Write | Kind::Zero | Kind::Trim);
            if is_write && epoch > sidecar.applied {
                let (offset, bytes) = (record.offset, record.bytes);
                writes.push(Write { seq, epoch, offset, bytes, at: *at });
            }
        }
    });
    let durable = walk.durable;
    // Missing groups that are on the backing store are not needed.
    let damage = walk.damage.filter(|damage| damage.missing_to > walk.log.ends().retired);
    let last = damage.as_ref().map_or(walk.log.last(), |damage| damage.last);
    let damaged = damage.map(|LogDamage { group, missing_to, .. }| {
        let side = |is_behind| {
            writes.iter().filter(move |w: &&Write| (w.seq > group) == is_behind).map(|w| w.bytes)
        };
        let (before, behind) = (LogWrites::of(side(false)), LogWrites::of(side(true)));
        Damaged { group, missing_to, before, behind }
    });
    Ok(Some(Read { copy, first: label.seq, last, durable, writes, damaged }))
}

fn apply(media: &mut dyn Media, index: u16, copy: &HeldCopy, write: &Write) -> Result<(), IoError> {
    let (place, bytes) = (IoTarget::Backing(index), write.bytes as usize);
    let Some(at) = write.at else {
        let zeros = vec![0; bytes.min(ZEROS)];
        for done in (0..bytes).step_by(ZEROS) {
            let left = (bytes - done).min(ZEROS);
            media.write(place, write.offset + done as u64, &zeros[..left])?;
        }
        return Ok(());
    };
    let mut data = vec![0; bytes];
    let track = Track::Copy { place: copy.place, capacity: copy.capacity };
    track.read(media, at + write.offset % BLOCK, &mut data)?;
    media.write(place, write.offset, &data)
}
