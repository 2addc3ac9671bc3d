use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::{EventLog, RunDirError, RunId, checksum};
use crate::files;
use crate::run::Run;
use crate::series::{SeriesError, Writer};

/// Run directory that is being written. If it is dropped, a `*.partial` directory remains, which
/// can be listed and read. Only [`RunDir::finish`] gives it the final name.
#[derive(Debug)]
pub struct RunDir {
    base: PathBuf,
    /// Open directory. Files are created through it, because root may write in a directory that
    /// another user can rename.
    held: untrusted::HeldDirectory,
    id: RunId,
    /// Lock that is held until this process ends. The kernel releases it even after a kill -9.
    _lock: File,
    broken: Arc<AtomicBool>,
}

impl RunDir {
    /// Creates `<base>/<id>.partial/`, and `base` if it is missing.
    pub fn create(base: &Path, id: &RunId) -> Result<Self, RunDirError> {
        fs::create_dir_all(base).map_err(RunDirError::io("creating", base))?;
        let path = base.join(format!("{id}{}", files::PARTIAL));
        let held =
            untrusted::HeldDirectory::make(&path).map_err(RunDirError::io("creating", &path))?;
        let lock_path = held.at().join(files::LOCK);
        let lock = File::create_new(&lock_path).map_err(RunDirError::io("creating", &lock_path))?;
        lock.lock().map_err(RunDirError::io("locking", &lock_path))?;
        sync_directory(base)?;
        Ok(Self {
            base: base.to_owned(),
            held,
            id: id.clone(),
            _lock: lock,
            broken: Arc::default(),
        })
    }

    /// Returns the path of the directory during the run.
    pub fn path(&self) -> &Path {
        self.held.path()
    }

    /// Returns a path through the open directory. It stays valid if the directory is renamed.
    pub fn at(&self) -> &Path {
        self.held.at()
    }

    /// Returns the identifier of the run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Writes a value as indented JSON; see [`RunDir::write_text`].
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunDirError> {
        let path = self.at().join(name);
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|error| RunDirError::io("writing", &path)(error.into()))?;
        text.push('\n');
        self.write_text(name, &text)
    }

    /// Writes `run.json`. It may be called after every step: a reader sees either the old or the
    /// new document as a whole.
    pub fn write_run(&self, run: &Run) -> Result<(), RunDirError> {
        self.write_json(files::RUN, run)
    }

    /// Writes a file durably and atomically: under a temporary name, flushed, then renamed.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), RunDirError> {
        let path = self.at().join(name);
        replace(&path, text.as_bytes()).map_err(|error| {
            self.broken.store(true, Ordering::Relaxed);
            RunDirError::io("writing", &path)(error)
        })
    }

    /// Writes a file that a complete run may lack, like [`RunDir::write_text`]. A failure leaves
    /// nothing behind.
    pub fn write_optional(&self, name: &str, text: &str) -> Result<(), RunDirError> {
        let path = self.at().join(name);
        replace(&path, text.as_bytes()).map_err(RunDirError::io("writing", &path))
    }

    /// Opens `events.jsonl` for appending.
    pub fn events(&self) -> Result<EventLog, RunDirError> {
        EventLog::open(&self.at().join(files::EVENTS), Arc::clone(&self.broken))
    }

    /// Creates the series writer. The writer must be finished before the directory is.
    pub fn series(&self) -> Result<Writer, SeriesError> {
        Writer::create(self.at())
    }

    /// Writes `SHA256SUMS`, gives the directory its final name, and returns the final path. After
    /// any failed write, in this call or before, the directory stays partial.
    pub fn finish(self) -> Result<PathBuf, RunDirError> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(RunDirError::Broken { path: self.path().to_owned() });
        }
        if self.at().join(files::PARTS).exists() {
            return Err(RunDirError::SeriesOpen { path: self.path().to_owned() });
        }
        let sums = checksum::of_directory(self.at())?;
        self.write_text(files::SUMS, &sums)?;
        let lock = self.at().join(files::LOCK);
        fs::remove_file(&lock).map_err(RunDirError::io("removing", &lock))?;
        sync_directory(self.at())?;
        let path = self.base.join(self.id.as_str());
        fs::rename(self.path(), &path).map_err(RunDirError::io("renaming", self.path()))?;
        sync_directory(&self.base)?;
        Ok(path)
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(files::TEMPORARY);
    let temporary = PathBuf::from(name);
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report; a leftover file is removed with the run.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Flushes a directory, so that new and renamed entries in it are durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), RunDirError> {
    File::open(path).and_then(|dir| dir.sync_all()).map_err(RunDirError::io("flushing", path))
}
