//! Proof that a target is claimed. No kind of target can be opened without this proof.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use crate::held::{self, HeldDir, name_path};
use crate::made::OwnDir;
use crate::owner::{LockedMarker, Marker, lock};
use crate::{DatastoreError, Options, Refusal};

/// Prefix of the name of every sub-directory of Tilemark; the run id follows.
pub(crate) const PREFIX: &str = ".tilemark-";
/// File name of the marker in a directory of Tilemark.
pub(crate) const MARKER_FILE: &CStr = c"owner.json";
/// File name of the marker while it is being written.
pub(crate) const MARKER_NEW: &CStr = c"owner.json.new";

/// Proof that a target is marked as Tilemark's and locked, or is only read. Only the functions of
/// this type create one, and they mark and lock.
#[derive(Debug)]
pub struct Mark {
    /// Locked marker, if it is a separate file.
    held: Option<LockedMarker>,
    /// Other files that stay open: devices below the target, and locks.
    _claims: Vec<File>,
}

impl Mark {
    /// Locks a new file and writes the marker into it, durably. [`Owned::of`](crate::Owned::of)
    /// uses the lock to find out later if the owner is alive.
    pub fn write(file: File, marker: &Marker) -> std::io::Result<Self> {
        let mut held = LockedMarker(file);
        lock(&held.0);
        held.0.write_all(&marker.to_bytes())?;
        held.0.sync_all()?;
        Ok(Self::of(held))
    }

    /// Creates the sub-directory of a run in `parent`, whose path is `resolved`. The marker is the
    /// first file in it: without the marker no object in it counts as Tilemark's.
    pub(crate) fn make(
        parent: &HeldDir,
        resolved: &Path,
        marker: &Marker,
    ) -> Result<(CString, OwnDir, Self), DatastoreError> {
        let name = format!("{PREFIX}{}", marker.run_id);
        let name = CString::new(name).expect("a valid run id holds no NUL");
        let path = resolved.join(name_path(&name));
        let fd = match held::make_dir(parent, &name) {
            Err(Errno::EXIST) => return Err(Refusal::AlreadyThere { path }.into()),
            made => made.map_err(|error| DatastoreError::io("create directory", &path, error))?,
        };
        let (own, mark) = Self::over(HeldDir::of(fd, &path), marker).map_err(|error| {
            let _ = unlinkat(parent, &name, AtFlags::REMOVEDIR);
            DatastoreError::io("create the marker in", &path, error)
        })?;
        Ok((name, own, mark))
    }

    fn over(dir: HeldDir, marker: &Marker) -> std::io::Result<(OwnDir, Self)> {
        let mark = Self::write(held::create(&dir, MARKER_NEW)?, marker)?;
        held::rename(&dir, MARKER_NEW, MARKER_FILE)?;
        Ok((OwnDir::over(dir)?, mark))
    }

    /// Returns the proof for a marker that was written and locked already.
    pub(crate) const fn of(held: LockedMarker) -> Self {
        Self { held: Some(held), _claims: Vec::new() }
    }

    /// Locks an object that carries its marker itself, for as long as it is open.
    pub(crate) fn on(data: impl AsFd) -> Self {
        lock(data);
        Self::holding(Vec::new())
    }

    /// Returns the proof for a device that is open exclusively. `claims` are other claimed files to
    /// keep open.
    pub(crate) const fn holding(claims: Vec<File>) -> Self {
        Self { held: None, _claims: claims }
    }

    /// Returns the proof for a target that is only read and not marked; `None` if the target may be
    /// written.
    pub fn read_only(options: &Options) -> Option<Self> {
        (!options.write).then(|| Self::holding(Vec::new()))
    }

    /// Returns the locked marker, which must be closed before it is removed.
    pub(crate) fn into_held(self) -> Option<LockedMarker> {
        self.held
    }
}
