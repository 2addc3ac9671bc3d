use super::Media;
use super::attach::ReadLog;
use super::copies::put_superblock;
use super::errors::{Damaged, OpenError};
use super::structure::{Structure, read_log_of};
use crate::event::{IoError, IoTarget};
use crate::format::{BLOCK, BLOCK_BYTES, DiskEntry, SIDECAR_BYTES, Sidecar, Superblock, Uuid};
use crate::machine::Logged;
use crate::machine::overlay::Source;
use crate::ownership::{has_log, is_owner};

/// Maximum number of zero bytes that are passed on at once.
const ZEROS: usize = 1 << 20;

/// Log whose writes will not go to the disk: another owner continued without it, or it was dropped
/// on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleLog {
    /// Generation of the log.
    pub generation: u64,
    /// Present generation of the disk.
    pub disk_generation: u64,
    /// Number of writes that the backing store lacked, according to the log.
    pub writes: usize,
    /// Size of these writes, in bytes.
    pub bytes: u64,
    /// Damage, if groups are missing that were durable. The other groups can be read.
    pub damage: Option<Damaged>,
}

/// Reason why a log cannot be exported or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StaleError {
    /// The set cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The set has no such disk.
    #[error("the set has no such disk")]
    NoDisk,
    /// There is no sidecar, so it is unknown if the log is stale.
    #[error("the sidecar is missing or damaged, so it is unknown whether the log is valid")]
    NoSidecar,
    /// The log is not stale: it has the disk's newest writes.
    #[error("the log is not stale: it is the one that the sidecar names")]
    Counts,
}

impl From<IoError> for StaleError {
    fn from(error: IoError) -> Self {
        Self::Open(error.into())
    }
}

/// Callback for a write: offset on the disk, and bytes.
type Each<'a> = &'a mut dyn FnMut(u64, &[u8]) -> Result<(), IoError>;

struct Looked {
    superblock: Superblock,
    copy: usize,
    index: usize,
    found: ReadLog,
    log: StaleLog,
}

/// Describes the log of this disk in a set, if it is stale. `sidecar` is the location of the disk's
/// sidecar.
///
/// # Errors
/// [`StaleError`], if the log is not stale or cannot be read.
pub fn stale(media: &mut dyn Media, disk: Uuid, sidecar: IoTarget) -> Result<StaleLog, StaleError> {
    Ok(look(media, disk, sidecar)?.log)
}

/// Passes each write of a stale log to the callback, oldest first.
///
/// # Errors
/// [`StaleError`], if the log is not stale or cannot be read.
pub fn export_stale(
    media: &mut dyn Media,
    disk: Uuid,
    sidecar: IoTarget,
    each: Each<'_>,
) -> Result<StaleLog, StaleError> {
    let looked = look(media, disk, sidecar)?;
    for (.., logged) in looked.found.unretired() {
        hand_over(media, logged, each)?;
    }
    Ok(looked.log)
}

fn hand_over(media: &mut dyn Media, logged: &Logged, each: Each<'_>) -> Result<(), IoError> {
    let bytes = logged.bytes as usize;
    let Source::Flash { at } = logged.source else {
        let zeros = vec![0; bytes.min(ZEROS)];
        for done in (0..bytes).step_by(ZEROS) {
            each(logged.offset + done as u64, &zeros[..(bytes - done).min(ZEROS)])?;
        }
        return Ok(());
    };
    let from = usize::try_from(logged.offset % BLOCK).unwrap_or(0);
    let mut data = vec![0; (from + bytes).next_multiple_of(BLOCK_BYTES)];
    media.read(IoTarget::Cache, at, &mut data)?;
    each(logged.offset, &data[from..from + bytes])
}

/// Removes the disk from the set: its log is freed, and its pages are dropped.
///
/// # Errors
/// [`StaleError`]; then nothing was changed.
pub fn forget_stale(
    media: &mut dyn Media,
    disk: Uuid,
    sidecar: IoTarget,
) -> Result<StaleLog, StaleError> {
    let Looked { mut superblock, copy, index, log, .. } = look(media, disk, sidecar)?;
    superblock.disks[index] = None;
    superblock.seq += 1;
    media.flush(IoTarget::Cache)?;
    put_superblock(media, &superblock, 1 - copy)?;
    Ok(log)
}

fn look(media: &mut dyn Media, disk: Uuid, sidecar: IoTarget) -> Result<Looked, StaleError> {
    let Structure { superblock, copy, area, pool, .. } = Structure::read(media, |_| u64::MAX)?;
    let is_it = |entry: &Option<DiskEntry>| entry.as_ref().is_some_and(|entry| entry.disk == disk);
    let index = superblock.disks.iter().position(is_it).ok_or(StaleError::NoDisk)?;
    let mut entry = superblock.disks[index].clone().ok_or(StaleError::NoDisk)?;
    let mut bytes = vec![0; SIDECAR_BYTES];
    media.read(sidecar, 0, &mut bytes)?;
    let said = Sidecar::newest(&bytes).filter(|said| said.disk == disk);
    let said = said.ok_or(StaleError::NoSidecar)?;
    if is_owner(&said, superblock.set, entry.generation) && has_log(&said) {
        return Err(StaleError::Counts);
    }
    let place = u16::try_from(index).unwrap_or(u16::MAX);
    let found = read_log_of(media, &area, &pool, (place, &mut entry))?;
    let writes = || found.unretired().filter(|(.., logged)| logged.bytes > 0);
    let log = StaleLog {
        generation: entry.generation,
        disk_generation: said.generation,
        writes: writes().count(),
        bytes: writes().map(|(.., logged)| u64::from(logged.bytes)).sum(),
        damage: found.damaged(),
    };
    Ok(Looked { superblock, copy, index, found, log })
}
