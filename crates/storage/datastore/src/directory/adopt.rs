//! Takeover of the sub-directory of a run that has ended, with its disks.
//!
//! All files are reached through the sub-directory that was opened for the check, never by path,
//! and no symbolic link is followed. The process that holds the lock of the marker owns the
//! sub-directory. A takeover begins with that lock.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use units::Bytes;

use crate::held::{self, HeldDir, NotPlain, name_path};
use crate::made::OwnDir;
use crate::mark::{MARKER_FILE, MARKER_NEW, PREFIX};
use crate::owned::{self, OwnedDir, STATE};
use crate::owner::{LockedMarker, Marker, OwnerState};
use crate::preflight::Examination;
use crate::{AdoptProblem, DatastoreError, Refusal};

/// Checks the rule for a takeover, in place of the rule that the sub-directory must not exist.
pub(crate) fn check(
    parent: &HeldDir,
    resolved: &Path,
    run_id: &str,
    examination: &mut Examination,
) -> Option<OwnedDir> {
    let (found, problem) = match find(parent, run_id) {
        Ok(dir) => match hold(&dir.fd, run_id).and_then(|_| check_state(&dir.fd)) {
            Ok(()) => (Some(dir), None),
            Err(problem) => (None, Some(problem)),
        },
        Err(problem) => (None, Some(problem)),
    };
    let words = problem.as_ref().map_or_else(|| "ended, unlocked".to_owned(), ToString::to_string);
    let refusal = problem.map(|problem| Refusal::Adopt {
        path: resolved.join(format!("{PREFIX}{run_id}")),
        problem,
    });
    let what = "the earlier run's disks may be taken over";
    examination.check("adopt", (what, "our marker, owner ended, not locked"), words, refusal);
    found
}

fn find(parent: &HeldDir, run_id: &str) -> Result<OwnedDir, AdoptProblem> {
    let dirs = owned::scan(parent).unwrap_or_default();
    let is_wanted =
        |dir: &OwnedDir| dir.marker.as_ref().is_some_and(|marker| marker.run_id == run_id);
    let dir = dirs.into_iter().find(is_wanted).ok_or_else(|| {
        let name = format!("{PREFIX}{run_id}");
        match rustix::fs::statat(parent, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => AdoptProblem::NotOurs,
            Err(_) => AdoptProblem::Missing,
        }
    })?;
    has_ended(&dir.state)?;
    Ok(dir)
}

/// Checks that the owner has ended. An owner in this same process is detected by the lock.
fn has_ended(state: &OwnerState) -> Result<(), AdoptProblem> {
    match state {
        OwnerState::Dead | OwnerState::This => Ok(()),
        OwnerState::Alive { pid } => Err(AdoptProblem::Alive { pid: *pid }),
        OwnerState::Elsewhere { host } => Err(AdoptProblem::Elsewhere { host: host.clone() }),
    }
}

/// Locks the marker, and reads it again under the lock, because the owner may have changed since.
fn hold(dir: &HeldDir, run_id: &str) -> Result<(LockedMarker, Marker), AdoptProblem> {
    let file = open_plain(dir, MARKER_FILE, "owner.json")?.ok_or(AdoptProblem::NotOurs)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(AdoptProblem::Locked),
        Err(error) => return Err(AdoptProblem::Unlockable { reason: error.to_string() }),
    }
    let mut held = LockedMarker(file);
    if !held::is_named(dir, MARKER_FILE, &held.0) {
        // Another process has taken it over between the opening and the locking.
        return Err(AdoptProblem::Locked);
    }
    let mut bytes = Vec::new();
    (&mut held.0).take(64 << 10).read_to_end(&mut bytes).map_err(|_| AdoptProblem::NotOurs)?;
    let marker = Marker::parse(&bytes).filter(|marker| marker.run_id == run_id);
    let marker = marker.ok_or(AdoptProblem::NotOurs)?;
    // Under our own lock a container's state would ask for it again.
    has_ended(&marker.state_under_lock())?;
    Ok((held, marker))
}

/// Checks that all state files are regular files without further hard links.
fn check_state(dir: &HeldDir) -> Result<(), AdoptProblem> {
    let foreign = |name: &CStr, found: &str| AdoptProblem::Foreign {
        name: name_path(name).display().to_string(),
        found: found.to_owned(),
    };
    let state = match held::open_dir(dir, STATE) {
        Ok(state) => state,
        Err(Errno::NOENT) => return Ok(()),
        Err(_) => return Err(foreign(STATE, "object that is not a directory")),
    };
    let names = held::entries(&state).map_err(|_| foreign(STATE, "unreadable directory"))?;
    for name in names {
        let found = held::look(&state, &name)
            .map_err(|_| foreign(&name, "file that cannot be examined"))?;
        held::is_plain(&found).map_err(|found| foreign(&name, found))?;
    }
    Ok(())
}

/// Takes the sub-directory over: locks its marker, checks again, and replaces the marker by our
/// own.
pub(crate) fn claim(
    dir: &OwnedDir,
    needed: Bytes,
    run_id: &str,
    path: &Path,
) -> Result<(OwnDir, OwnDir, LockedMarker), DatastoreError> {
    let refused = |problem| Refusal::Adopt { path: path.to_owned(), problem };
    let (_old, marker) = hold(&dir.fd, run_id).map_err(refused)?;
    check_state(&dir.fd).map_err(refused)?;
    let marker = Marker { created: marker.created, ..Marker::new(run_id, needed) };
    let claimed = OwnDir::over(dir.fd.shown_as(path)).and_then(|own| {
        let held = replace_marker(&own, &marker)?;
        let state = own.sub(STATE)?;
        Ok((own, state, held))
    });
    claimed.map_err(|error| DatastoreError::io("mark", path, error))
}

/// Replaces the marker. The new marker is locked before it gets its final name, and the old lock is
/// held until then.
fn replace_marker(own: &OwnDir, marker: &Marker) -> std::io::Result<LockedMarker> {
    // Removes the file that a killed process left of an earlier takeover.
    let _ = own.unmake(MARKER_NEW);
    let mut held = LockedMarker(own.create(MARKER_NEW)?);
    flock(&held.0, FlockOperation::NonBlockingLockExclusive)?;
    held.0.write_all(&marker.to_bytes())?;
    held.0.sync_all()?;
    own.publish(&held.0, MARKER_NEW, MARKER_FILE)?;
    Ok(held)
}

/// Opens an existing disk; `None` if it does not exist.
pub(crate) fn open_disk(
    dir: &OwnDir,
    name: &CStr,
    path: &Path,
) -> Result<Option<File>, DatastoreError> {
    let shown = name_path(name).display().to_string();
    open_plain(dir, name, &shown)
        .map_err(|problem| Refusal::Adopt { path: path.to_owned(), problem }.into())
}

fn open_plain(dir: impl AsFd, name: &CStr, shown: &str) -> Result<Option<File>, AdoptProblem> {
    let foreign = |found: String| AdoptProblem::Foreign { name: shown.to_owned(), found };
    match held::open_plain(dir, name, OFlags::RDWR) {
        Ok(file) => Ok(Some(file)),
        Err(NotPlain::Error(Errno::NOENT)) => Ok(None),
        Err(NotPlain::Kind(found)) => Err(foreign(found.to_owned())),
        Err(NotPlain::Error(error)) => {
            Err(foreign(format!("file that cannot be opened ({error})")))
        }
    }
}
