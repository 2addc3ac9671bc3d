//! Marks of a backing store, with counters of its set at the same moment, stored behind the
//! sidecar.
//!
//! They are written when the set is closed in order, and about once a second while it changes. If
//! the backing store has the same marks at the next start, it was not written in between, so its
//! pages are valid. If a set has lower counters than the stored ones, it is an older copy.
//!
//! Two records in one block are written in turn, each in its own sectors, so a torn write leaves
//! the other record intact. `docs/formats/tier.md` shows the layout.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use datastore::{ChangeMark, change_mark};
use rustix::fs::fdatasync;
use rustix::io::{Errno, pread, pwrite};
use tier::format::{SIDECAR_BYTES, payload_sum};
use tier::{Moment, Since};

/// Offset of the block in the sidecar file, in bytes.
const AT: u64 = SIDECAR_BYTES as u64;
const BLOCK: usize = 4096;
/// Size of one record, in bytes.
const BYTES: usize = BLOCK / 2;
const SUM_AT: usize = BYTES - 8;
const TEXT_AT: usize = 72;
const MAGIC: &[u8; 8] = b"TMMARK\0\0";
/// Maximum wait for a tick of the file system's clock. Two changes within one tick have the same
/// time.
const PATIENCE: Duration = Duration::from_millis(200);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// First number of the I/Os that write marks. The state machine never has so many I/Os in progress.
pub(crate) const FIRST_IO: u32 = 1 << 31;

/// Stored marks of all disks, and the time of the next write.
#[derive(Debug, Default)]
pub(crate) struct Marking {
    pub(crate) due: Option<Instant>,
    /// Marks that were stored last, by disk index. The flag is true while they are being written.
    pub(crate) disks: Vec<Option<(Marks, bool)>>,
}

/// Marks of a backing store at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Number that rises with each record.
    number: u64,
    pub(crate) moment: Moment,
    /// True if the set was closed in order at that moment.
    is_left: bool,
    /// Change mark of the backing store; `None` if later changes could remain undetected.
    pub(crate) mark: Option<ChangeMark>,
}

impl Marks {
    pub(crate) fn new(before: Option<&Self>, moment: Moment, mark: Option<ChangeMark>) -> Self {
        let number = before.map_or(0, |before| before.number) + 1;
        Self { number, moment, is_left: false, mark }
    }

    /// Returns the offset of the record in the sidecar file, in bytes.
    pub(crate) fn place(&self) -> u64 {
        AT + self.number % 2 * BYTES as u64
    }

    pub(crate) fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        let Moment { opening, pool, log } = self.moment;
        for (at, value) in (8..).step_by(8).zip([self.number, opening, pool, log]) {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes[40] = self.is_left.into();
        let texts = |mark: &ChangeMark| mark.own.len() + mark.below.len();
        // Marks of a stack of devices that are too long for the record are not stored.
        if let Some(mark) = self.mark.as_ref().filter(|mark| texts(mark) <= SUM_AT - TEXT_AT) {
            bytes[41] = 1;
            bytes[48..64].copy_from_slice(&mark.changed_ns.to_le_bytes());
            let mut at = TEXT_AT;
            for (place, text) in [(64, &mark.own), (66, &mark.below)] {
                let length = u16::try_from(text.len()).unwrap_or(0);
                bytes[place..place + 2].copy_from_slice(&length.to_le_bytes());
                bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
                at += text.len();
            }
        }
        let sum = payload_sum(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let is_one = bytes.len() == BYTES
            && bytes.starts_with(MAGIC)
            && bytes[SUM_AT..] == payload_sum(&bytes[..SUM_AT]).to_le_bytes();
        if !is_one {
            return None;
        }
        let array = |at: usize| <[u8; 8]>::try_from(&bytes[at..at + 8]).unwrap_or_default();
        let number = |at: usize| u64::from_le_bytes(array(at));
        let length = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let text = |from: usize, length: usize| {
            let text = bytes.get(from..from + length).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let (own, below) = (length(64), length(66));
        let changed = <[u8; 16]>::try_from(&bytes[48..64]).unwrap_or_default();
        let mark = (bytes[41] == 1).then(|| ChangeMark {
            own: text(TEXT_AT, own),
            below: text(TEXT_AT + own, below),
            changed_ns: i128::from_le_bytes(changed),
        });
        let moment = Moment { opening: number(16), pool: number(24), log: number(32) };
        Some(Self { number: number(8), moment, is_left: bytes[40] == 1, mark })
    }

    /// Reads the newest valid record.
    pub(crate) fn read(sidecar: &OwnedFd) -> Result<Option<Self>, Errno> {
        let mut bytes = [0; BLOCK];
        let read = pread(sidecar, &mut bytes[..], AT)?;
        let records = bytes[..read].chunks(BYTES).filter_map(Self::decode);
        Ok(records.max_by_key(|record| record.number))
    }
}

/// Stores the marks of a disk when its set is closed in order.
pub(crate) fn leave(
    before: Option<&Marks>,
    (backing, sidecar): (&OwnedFd, &OwnedFd),
    moment: Moment,
    is_reserved: bool,
) -> Result<(), Errno> {
    let read = Marks::read(sidecar)?;
    let before = before.or(read.as_ref());
    let mark = patient_mark(backing, is_reserved);
    let marks = Marks { is_left: true, ..Marks::new(before, moment, mark) };
    pwrite(sidecar, &marks.encode(), marks.place())?;
    fdatasync(sidecar)
}

/// Compares the stored marks with the present marks of the backing store. Returns
/// [`Since::Perhaps`] if the marks cannot prove that the backing store is changed or unchanged.
pub(crate) fn since(
    backing: &OwnedFd,
    sidecar: &OwnedFd,
    is_reserved: bool,
) -> Result<Since, Errno> {
    let Some(Marks { moment, is_left, mark, .. }) = Marks::read(sidecar)? else {
        return Ok(Since::Unknown);
    };
    let Some((was, now)) = mark.zip(patient_mark(backing, is_reserved)) else {
        return Ok(Since::Perhaps(moment));
    };
    Ok(match () {
        () if now == was => Since::Unchanged(moment),
        () if now.changed_ns < was.changed_ns => Since::Older(moment),
        () if is_left && now.own != was.own && counts_go_on(&was, &now) => Since::Changed(moment),
        () => Since::Perhaps(moment),
    })
}

/// Returns true if two marks are comparable. Marks of a device begin with the boot of the host and
/// the disk sequence number. If these differ, the counters are not comparable.
fn counts_go_on(was: &ChangeMark, now: &ChangeMark) -> bool {
    let is_file = was.changed_ns != 0 && now.changed_ns != 0;
    let which =
        |mark: &ChangeMark| mark.own.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
    is_file || which(was) == which(now)
}

/// Reads the marks, and waits until the last change is older than a tick of the clock.
fn patient_mark(backing: &OwnedFd, is_reserved: bool) -> Option<ChangeMark> {
    // Writes of others through the page cache of a device are counted only when they are flushed.
    fdatasync(backing).ok()?;
    let until = Instant::now() + PATIENCE;
    loop {
        // A mark that cannot be read proves nothing.
        let mark = change_mark(backing, is_reserved).unwrap_or(None);
        if mark.is_some() || Instant::now() >= until {
            return mark;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(number: u64) -> Marks {
        Marks {
            number,
            moment: Moment { opening: 7, pool: 8, log: 9 },
            is_left: true,
            mark: Some(ChangeMark {
                own: "1 2 3".to_owned(),
                below: "sda; 4".to_owned(),
                changed_ns: -5,
            }),
        }
    }

    #[test]
    fn records_are_read_as_written_and_damage_leaves_the_other() {
        let file: OwnedFd = tempfile::tempfile().expect("a file").into();
        assert_eq!(Marks::read(&file), Ok(None));
        for number in [4, 5] {
            let marks = marks(number);
            pwrite(&file, &marks.encode(), marks.place()).expect("written");
        }
        assert_eq!(Marks::read(&file), Ok(Some(marks(5))));
        pwrite(&file, b"x", marks(5).place() + 100).expect("written");
        assert_eq!(Marks::read(&file), Ok(Some(marks(4))));
    }

    #[test]
    fn marks_too_long_for_a_record_are_left_out() {
        let mut long = marks(1);
        long.mark.as_mut().expect("there").below = "x".repeat(BYTES);
        let file: OwnedFd = tempfile::tempfile().expect("a file").into();
        pwrite(&file, &long.encode(), long.place()).expect("written");
        assert_eq!(Marks::read(&file), Ok(Some(Marks { mark: None, ..long })));
    }

    #[test]
    fn counts_of_another_device_say_nothing_of_changes() {
        let counts =
            |own: &str| ChangeMark { own: own.to_owned(), below: String::new(), changed_ns: 0 };
        assert!(counts_go_on(&counts("boot 9 16 24"), &counts("boot 9 18 24")));
        assert!(!counts_go_on(&counts("boot 9 16 24"), &counts("boot 10 16 24")));
    }
}
