use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tier::{IoError, IoTarget, StaleError, StaleLog};

use crate::files::{check_unused, failed, hold_to_look, sidecar_of};
use crate::media::Files;
use crate::{Refusal, SetError, identity};

/// Log of a disk whose later owner continued without it, in a set that is not served.
#[derive(Debug)]
pub struct Stale {
    files: Files,
    cache: PathBuf,
    disk: tier::format::Uuid,
}

/// Error of exporting or dropping a stale log.
#[derive(Debug, thiserror::Error)]
pub enum StaleFailure {
    /// The log is not stale, or cannot be read.
    #[error(transparent)]
    Log(#[from] StaleError),
    /// Another process holds the set, or the system returned an error.
    #[error(transparent)]
    Set(#[from] SetError),
}

impl From<StaleFailure> for Refusal {
    fn from(error: StaleFailure) -> Self {
        let hint = match &error {
            StaleFailure::Log(StaleError::Open(error)) => error.hint(),
            StaleFailure::Log(_) => None,
            StaleFailure::Set(error) => error.hint(),
        };
        Self { text: error.to_string(), hint }
    }
}

impl Stale {
    /// Opens the set in a cache file, and reads the sidecar of a disk, which its owner may be
    /// serving.
    ///
    /// # Errors
    /// If another process serves the set, or one of the two files is missing.
    pub fn open(
        cache: &Path,
        name: &str,
        backing: &Path,
        beside: Option<PathBuf>,
    ) -> Result<Self, StaleFailure> {
        let held = hold_to_look(cache)?;
        let path = beside.map_or_else(|| sidecar_of(backing), Ok)?;
        let side = File::open(&path).map_err(failed("open", &path))?;
        let side = Arc::new(side.into());
        let disks = vec![Some((Arc::clone(&side), side))];
        let files = Files { cache: Arc::new(held.file.into()), disks };
        Ok(Self { files, cache: cache.to_owned(), disk: identity::of_disk(name) })
    }

    /// Reads the extent of the stale log.
    ///
    /// # Errors
    /// If the log is not stale, or cannot be read.
    pub fn look(&mut self) -> Result<StaleLog, StaleFailure> {
        Ok(tier::stale(&mut self.files, self.disk, IoTarget::Sidecar(0))?)
    }

    /// Writes the blocks of the log, at their offsets on the disk, into a new sparse file.
    ///
    /// # Errors
    /// If the log is not stale, or cannot be read; or if the path is in use.
    pub fn export(&mut self, to: &Path) -> Result<StaleLog, StaleFailure> {
        self.look()?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(to);
        let file = file.map_err(failed("make", to))?;
        let mut put = |at, bytes: &[u8]| file.write_all_at(bytes, at).map_err(|_| IoError::Io);
        let log = tier::export_stale(&mut self.files, self.disk, IoTarget::Sidecar(0), &mut put)?;
        file.sync_all().map_err(failed("write", to))?;
        Ok(log)
    }

    /// Removes the log from the set for ever.
    ///
    /// # Errors
    /// If the log is not stale, or the set cannot be written.
    pub fn forget(&mut self) -> Result<StaleLog, StaleFailure> {
        // This is the first write, so uses of the cache under another name are checked here.
        check_unused(&self.cache, &self.files.cache)?;
        Ok(tier::forget_stale(&mut self.files, self.disk, IoTarget::Sidecar(0))?)
    }
}
