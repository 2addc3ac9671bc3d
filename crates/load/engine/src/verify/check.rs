use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt;

use datastore::{AlignedBuffer, HeldDir, VirtualDisk};

use super::error::StateError;
use super::layout::BLOCK;
use super::mismatch::Mismatch;
use super::sector::SECTOR;
use super::state::State;
use super::tracker::{judge_quiet, neighbours};

/// Size of one read, in bytes.
const PIECE: usize = 1 << 20;
/// Number of disks that are read at the same time.
const THREADS: usize = 4;
/// Maximum number of mismatches kept in full per disk. All mismatches are counted.
const KEPT_MAX: usize = 1000;

/// Result of re-reading all acknowledged writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Reports of the disks with verification state, by name.
    pub disks: Vec<DiskReport>,
    /// Names of the given disks that were never written with verification.
    pub unverified: Vec<String>,
    /// Names of disks that have verification state but were not given.
    pub missing: Vec<String>,
}

/// Results for one disk, as a part of a [`Report`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiskReport {
    /// Name of the disk.
    pub name: String,
    /// Bytes of acknowledged writes, all of which were re-read and verified.
    pub bytes_judged: u64,
    /// Number of wrong 4 KiB blocks.
    pub mismatches_total: u64,
    /// First 1000 of the wrong blocks.
    pub mismatches: Vec<Mismatch>,
    /// Number of 4 KiB blocks that contain an acknowledged sector and cannot be read.
    pub unreadable_total: u64,
    /// First 1000 of the unreadable blocks.
    pub unreadable: Vec<Unreadable>,
}

/// Block that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Name of the disk.
    pub disk: String,
    /// Offset of the block on the disk, in bytes.
    pub offset: u64,
    /// Error of the system.
    pub error: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { disk, offset, error } = self;
        write!(f, "disk \"{disk}\", byte {offset}: {BLOCK} B cannot be read: {error}")
    }
}

impl DiskReport {
    /// Returns the number of blocks that are wrong or cannot be read.
    pub fn bad_total(&self) -> u64 {
        self.mismatches_total + self.unreadable_total
    }

    /// Describes the bad blocks that were kept, as texts.
    pub fn bad(&self) -> impl Iterator<Item = String> {
        let wrong = self.mismatches.iter().map(ToString::to_string);
        wrong.chain(self.unreadable.iter().map(ToString::to_string))
    }
}

impl Report {
    /// Returns true if all acknowledged writes are intact and every disk with state was read.
    pub fn passed(&self) -> bool {
        self.missing.is_empty() && self.disks.iter().all(|disk| disk.bad_total() == 0)
    }
}

/// Reason why a check could not finish.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The state of a disk cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The disk's size differs from the size in its state.
    #[error("disk \"{disk}\" has {size} B, but its verification state is for {expected} B")]
    Size {
        /// Name of the disk.
        disk: String,
        /// Size of the disk, in bytes.
        size: u64,
        /// Size in its state, in bytes.
        expected: u64,
    },
}

impl CheckError {
    /// Returns advice on what to try next.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::State(error) => error.hint(),
            Self::Size { .. } => None,
        }
    }
}

/// Re-reads all acknowledged writes of these disks and verifies them against the state in
/// `state_dir`. The run that left the state may have been killed. Nothing else may use the disks
/// meanwhile.
///
/// Disks without state are only listed.
pub fn check_all(disks: &[VirtualDisk], state_dir: &HeldDir) -> Result<Report, CheckError> {
    let mut missing = neighbours(state_dir);
    let (known, unverified): (Vec<_>, Vec<_>) =
        disks.iter().partition(|disk| missing.contains(&disk.name));
    let given: HashSet<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    missing.retain(|name| !given.contains(name.as_str()));
    missing.sort();
    Ok(Report {
        disks: check_several(&known, state_dir)?,
        unverified: unverified.iter().map(|disk| disk.name.clone()).collect(),
        missing,
    })
}

fn check_several(
    disks: &[&VirtualDisk],
    state_dir: &HeldDir,
) -> Result<Vec<DiskReport>, CheckError> {
    let results = parallel::map(disks, THREADS, |disk| check(disk, state_dir));
    let mut reports = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    reports.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(reports)
}

fn check(disk: &VirtualDisk, state_dir: &HeldDir) -> Result<DiskReport, CheckError> {
    let mut buffer = AlignedBuffer::new(PIECE);
    let state = State::open(state_dir, &disk.name)?;
    let (size, expected) = (disk.size.get(), state.owner().size.get());
    if size != expected {
        return Err(CheckError::Size { disk: disk.name.clone(), size, expected });
    }
    let mut report = DiskReport { name: disk.name.clone(), ..DiskReport::default() };
    for offset in (0..size).step_by(PIECE) {
        let length = (size - offset).min(PIECE as u64);
        state.check_length()?;
        let judged = acknowledged_bytes(&state, offset, length);
        if judged > 0 {
            let bytes = &mut buffer[..usize::try_from(length).expect("at most one piece")];
            report.piece((disk, &state), (offset, judged), bytes);
        }
    }
    Ok(report)
}

impl DiskReport {
    /// Verifies a piece. If the whole piece cannot be read, it is read block by block, so that
    /// readable blocks are verified.
    fn piece(
        &mut self,
        (disk, state): (&VirtualDisk, &State),
        (offset, judged): (u64, u64),
        bytes: &mut [u8],
    ) {
        let Err(error) = disk.file.read_exact_at(bytes, disk.base + offset) else {
            self.bytes_judged += judged;
            return self.judge(state, offset, bytes);
        };
        if bytes.len() <= BLOCK {
            return self.unreadable(disk, offset, &error);
        }
        for (offset, block) in (offset..).step_by(BLOCK).zip(bytes.chunks_mut(BLOCK)) {
            let judged = acknowledged_bytes(state, offset, block.len() as u64);
            if judged > 0 {
                self.piece((disk, state), (offset, judged), block);
            }
        }
    }

    fn judge(&mut self, state: &State, offset: u64, bytes: &[u8]) {
        for mismatch in judge_quiet(state, offset, bytes) {
            self.mismatches_total += 1;
            if self.mismatches.len() < KEPT_MAX {
                self.mismatches.push(mismatch);
            }
        }
    }

    fn unreadable(&mut self, disk: &VirtualDisk, offset: u64, error: &io::Error) {
        self.unreadable_total += 1;
        if self.unreadable.len() < KEPT_MAX {
            let (disk, error) = (disk.name.clone(), error.to_string());
            self.unreadable.push(Unreadable { disk, offset, error });
        }
    }
}

fn acknowledged_bytes(state: &State, offset: u64, length: u64) -> u64 {
    const UNIT: u64 = SECTOR as u64;
    let sectors = offset / UNIT..(offset + length) / UNIT;
    sectors.filter(|sector| state.window(*sector).acknowledged != 0).count() as u64 * UNIT
}
