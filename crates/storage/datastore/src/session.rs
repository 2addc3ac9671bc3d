//! Set-up that must exist before a target can be opened and that is taken down afterwards: a mount,
//! a network initiator. No kind of target uses a session yet; the protocols of the crate `over`
//! (NFS, iSCSI, NBD, NVMe/TCP) are set up without it.
//!
//! A session is a kind of target around another target. [`Around`] makes a [`Store`] of it and does
//! all the work that is common to sessions. The marker is written before anything is set up, and
//! removed after everything was taken down. The inner target is checked by the rules of its own
//! kind, once it is set up. For a killed run, `cleanup` takes the session down. The set-up belongs
//! to one run, so its disks are not found again later.

use std::ffi::CString;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use units::Bytes;

use crate::cleanup::{KeptObject, cleanup};
use crate::datastore::look;
use crate::held::HeldDir;
use crate::made::OwnDir;
use crate::mark::{MARKER_FILE, Mark};
use crate::object::resolved;
use crate::owned::{self, OwnedDir};
use crate::owner::{Marker, Owned};
use crate::preflight::{Examination, Preflight, Warning};
use crate::removed::Removed;
use crate::store::{
    Claim, Claimed, Facts, Fate, Left, Located, Remembers, RunLeftover, Step, Store,
};
use crate::{CleanupOptions, DatastoreError, DiskRequest, Options, Refusal, Target, VirtualDisk};

/// Kind of session. All methods are required.
pub trait Session: Debug + Copy + Send + Sync + 'static {
    /// Returns the properties of the session's targets. Their disks are not remembered.
    fn facts(&self) -> &'static Facts;

    /// Returns the directory for the markers of its sessions. It must exist.
    fn place(&self, address: &Path) -> PathBuf;

    /// Checks everything that can be checked before the session is set up, including the room
    /// ([`Examination::check_space`]). Reads only.
    fn check(&self, address: &Path, options: &Options, examination: &mut Examination) -> Step;

    /// Sets the session up. `own` is the directory with the marker. The session stores in it the
    /// data needed to take it down, before the data is needed. `own` also distinguishes this
    /// session from others.
    fn set_up(&self, address: &Path, own: &OwnDir) -> Result<(), DatastoreError>;

    /// Returns the inner target, if the session is set up. Reads only.
    fn inner(&self, address: &Path, own: &HeldDir) -> Option<Target>;

    /// Takes down the parts of the session that were set up. It is not an error if there are none.
    fn tear_down(&self, address: &Path, own: &HeldDir) -> Result<(), DatastoreError>;
}

/// Session as a kind of target.
#[derive(Debug, Clone, Copy)]
pub struct Around<S>(pub S);

impl<S: Session> Store for Around<S> {
    fn facts(&self) -> &'static Facts {
        self.0.facts()
    }

    fn locate(&self, address: &Path, _: &Options) -> Result<Box<dyn Located>, Refusal> {
        let path = self.0.place(address);
        let place = open(&path).map_err(|error| Refusal::unreadable("open directory", path, error));
        let (session, address) = (self.0, address.to_owned());
        Ok(Box::new(Planned { session, address, place: place? }))
    }

    fn find(&self, address: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError> {
        let path = self.0.place(address);
        let io = |what, error| DatastoreError::io(what, &path, error);
        let place = open(&path).map_err(|error| io("open directory", error))?;
        let found = owned::scan(&place).map_err(|error| io("list", error.into()))?;
        let found = found.into_iter().map(|item| -> Box<dyn RunLeftover> {
            let (owned, place) = (item.owned(&path), place.clone());
            Box::new(FoundSession {
                session: self.0,
                address: address.to_owned(),
                place,
                item,
                owned,
            })
        });
        Ok(found.collect())
    }
}

fn open(path: &Path) -> std::io::Result<HeldDir> {
    let place = HeldDir::open(path)?;
    let resolved = resolved(&place, path);
    Ok(place.shown_as(&resolved))
}

/// Session that is not set up.
struct Planned<S> {
    session: S,
    address: PathBuf,
    place: HeldDir,
}

impl<S: Session> Located for Planned<S> {
    fn what(&self) -> &'static str {
        self.session.facts().noun
    }

    fn resolved(&self) -> PathBuf {
        self.address.clone()
    }

    fn check_surroundings(&mut self, options: &Options, examination: &mut Examination) -> Step {
        self.session.check(&self.address, options, examination)
    }

    fn check_owner(&mut self, options: &Options, examination: &mut Examination) -> Step {
        owned::check_absent(&self.place, self.place.path(), options, examination);
        ControlFlow::Continue(())
    }

    /// Checks nothing: the kind of the inner target checks its content after the set-up.
    fn check_content(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    /// Checks nothing: the session checks the room in [`Session::check`], as far as it can.
    fn check_room(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    /// Checks nothing: the kind of the inner target checks it after the set-up.
    fn check_grant(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    fn claim(
        self: Box<Self>,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError> {
        let Self { session, address, place } = *self;
        let marker = Marker::new(&options.run_id, Bytes::new(preflight.needed_bytes));
        let (name, own, mark) = Mark::make(&place, place.path(), &marker)?;
        let open = Open { session, address, place, name, own };
        match open.inside(preflight, options) {
            Ok(inner) => {
                let Claim { mark: inner_mark, claimed: inner, warnings } = inner;
                let claimed = Box::new(Standing { open, inner, inner_mark });
                Ok(Claim { mark, claimed, warnings })
            }
            Err(error) => {
                // What cannot be taken down now, `cleanup` finds by the marker.
                open.close(mark, &mut Removed::default());
                Err(error)
            }
        }
    }
}

/// Session with its marker, set up or about to be.
#[derive(Debug)]
struct Open<S> {
    session: S,
    address: PathBuf,
    place: HeldDir,
    name: CString,
    own: OwnDir,
}

impl<S: Session> Open<S> {
    /// Sets the session up, and claims the inner target under all rules of its kind.
    fn inside(
        &self,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError> {
        self.session.set_up(&self.address, &self.own)?;
        let inner = self.session.inner(&self.address, &self.own).ok_or_else(|| {
            let missing = std::io::ErrorKind::NotFound;
            DatastoreError::io("set up", &self.address, missing)
        })?;
        let (examination, located) = look(&inner, Bytes::new(preflight.needed_bytes), options);
        let mut found = examination.into_result()?;
        let located = located.expect("an examination without refusal has its object");
        let claim = located.claim(&mut found, options)?;
        let (target, mut checks) = (preflight.target.clone(), preflight.checks.clone());
        let mut warnings = preflight.warnings.clone();
        checks.append(&mut found.checks);
        warnings.append(&mut found.warnings);
        *preflight = Preflight { target, checks, warnings, ..found };
        Ok(claim)
    }

    /// Takes the session down. The marker is removed last.
    fn close(self, mark: Mark, removed: &mut Removed) {
        let Self { session, address, place, name, own } = self;
        if let Err(error) = session.tear_down(&address, &own) {
            return removed.failed.push(error);
        }
        let removal = owned::remove(&place, (&name, &own), MARKER_FILE, mark.into_held());
        removed.and(Removed::directory(own.path().to_owned(), removal));
    }
}

/// Session that is set up, with the claimed inner target.
#[derive(Debug)]
struct Standing<S> {
    open: Open<S>,
    inner: Box<dyn Claimed>,
    inner_mark: Mark,
}

impl<S: Session> Claimed for Standing<S> {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn room(&self) -> Bytes {
        self.inner.room()
    }

    fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        self.inner.create_disk(request)
    }

    fn try_link(&self) -> Result<(), DatastoreError> {
        self.inner.try_link()
    }

    fn remembers(&self) -> Option<&dyn Remembers> {
        self.inner.remembers()
    }

    /// Removes the inner target first. If an object stays there, the session and its marker stay,
    /// too.
    fn remove(self: Box<Self>, mark: Mark) -> Removed {
        let mut removed = self.inner.remove(self.inner_mark);
        if removed.kept.is_empty() && removed.lingering.is_empty() && removed.failed.is_empty() {
            self.open.close(mark, &mut removed);
        }
        removed
    }
}

/// Session that a run left or is using.
struct FoundSession<S> {
    session: S,
    address: PathBuf,
    place: HeldDir,
    item: OwnedDir,
    owned: Owned,
}

impl<S: Session> FoundSession<S> {
    /// Returns the inner target. `None` without a marker, because nothing was set up before the
    /// marker was written.
    fn inner(&self) -> Option<Target> {
        self.item.marker.as_ref()?;
        self.session.inner(&self.address, &self.item.fd)
    }

    /// Finds the objects of this run in the inner target.
    fn inside(&self) -> Result<Option<Box<dyn RunLeftover>>, DatastoreError> {
        let Some(inner) = self.inner() else { return Ok(None) };
        let found = inner.store().find(inner.path())?;
        Ok(found.into_iter().find(|found| found.owned().run_id == self.owned.run_id))
    }
}

impl<S: Session> RunLeftover for FoundSession<S> {
    fn owned(&self) -> &Owned {
        &self.owned
    }

    fn disks(&self) -> Result<Vec<DiskRequest>, DatastoreError> {
        self.inside()?.map_or_else(|| Ok(Vec::new()), |found| found.disks())
    }

    fn open(&self) -> Result<Left, DatastoreError> {
        let nothing = || Ok(Left::Disks { state_dir: None, disks: Vec::new() });
        self.inside()?.map_or_else(nothing, |found| found.open())
    }

    /// Removes the inner target by its own rules, then the session, then the marker, as at the end
    /// of a run.
    fn remove(self: Box<Self>, options: &CleanupOptions) -> Result<Fate, DatastoreError> {
        let held = match self.item.locked() {
            Ok(held) => held,
            Err(stays) => return Ok(stays),
        };
        if let Some(inner) = self.inner() {
            let cleaned = cleanup(&inner, options)?;
            if !cleaned.kept.is_empty() {
                let stays = cleaned.kept.iter().map(inside).collect::<Vec<_>>().join("; ");
                return Ok(Fate { stays: Some(stays), failed: cleaned.failed });
            }
        }
        if self.item.marker.is_some() {
            self.session.tear_down(&self.address, &self.item.fd)?;
        }
        Ok(self.item.remove(held, &self.place, &self.owned.path))
    }
}

fn inside(kept: &KeptObject) -> String {
    format!("{} inside stays: {}", kept.owned.path.display(), kept.reason)
}
