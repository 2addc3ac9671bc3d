//! What must be set up before there is a target, and taken down after it: a mount, a network
//! initiator. The protocols (NFS, iSCSI, NBD, NVMe/TCP) will be its users; none is built yet.
//!
//! A session is a kind of target around another one. [`Around`] makes a [`Store`] of it, and
//! does all of the work that must not be forgotten: the marker is there before anything is set
//! up and goes after everything was taken down, the rules of the inner target are those of its
//! own kind, asked when it is there, and `cleanup` does for a killed run what its end would have
//! done. What is set up is nobody's but the run's, so disks are not known again later.

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

/// A kind of session. Every method is required.
pub trait Session: Debug + Copy + Send + Sync + 'static {
    /// Properties of the session's targets. Their disks are not remembered.
    fn facts(&self) -> &'static Facts;

    /// The directory that takes the markers of its sessions; it exists.
    fn place(&self, address: &Path) -> PathBuf;

    /// Checks all that can be checked before the session is set up, room included
    /// ([`Examination::check_space`]). Reads only.
    fn check(&self, address: &Path, options: &Options, examination: &mut Examination) -> Step;

    /// Sets it up. `own` carries the marker and takes what must be known to take it down again,
    /// written before it is needed. What is set up is told from any other session's by `own`.
    fn set_up(&self, address: &Path, own: &OwnDir) -> Result<(), DatastoreError>;

    /// The target inside, if it is set up. Reads only.
    fn inner(&self, address: &Path, own: &HeldDir) -> Option<Target>;

    /// Takes down what there is of it, however far it came; that nothing is there is no error.
    fn tear_down(&self, address: &Path, own: &HeldDir) -> Result<(), DatastoreError>;
}

/// A session as a kind of target.
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

/// A session that is not set up.
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

    /// The kind of the inner target checks this, once it is there.
    fn check_content(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    /// As far as the session can tell, among its surroundings.
    fn check_room(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    /// The kind of the inner target checks this, once it is there.
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

/// A session with its marker, set up or about to be.
#[derive(Debug)]
struct Open<S> {
    session: S,
    address: PathBuf,
    place: HeldDir,
    name: CString,
    own: OwnDir,
}

impl<S: Session> Open<S> {
    /// Sets it up, and claims the inner target by all of its own rules.
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

    /// Takes it down; the marker last.
    fn close(self, mark: Mark, removed: &mut Removed) {
        let Self { session, address, place, name, own } = self;
        if let Err(error) = session.tear_down(&address, &own) {
            return removed.failed.push(error);
        }
        let removal = owned::remove(&place, (&name, &own), MARKER_FILE, mark.into_held());
        removed.and(Removed::directory(own.path().to_owned(), removal));
    }
}

/// A session that is set up, with the claimed target inside.
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

    /// The inner target first; what stays there keeps the session, and with it the marker.
    fn remove(self: Box<Self>, mark: Mark) -> Removed {
        let mut removed = self.inner.remove(self.inner_mark);
        if removed.kept.is_empty() && removed.lingering.is_empty() && removed.failed.is_empty() {
            self.open.close(mark, &mut removed);
        }
        removed
    }
}

/// A session that a run left or is using.
struct FoundSession<S> {
    session: S,
    address: PathBuf,
    place: HeldDir,
    item: OwnedDir,
    owned: Owned,
}

impl<S: Session> FoundSession<S> {
    /// The target inside. Before its marker was there nothing was set up.
    fn inner(&self) -> Option<Target> {
        self.item.marker.as_ref()?;
        self.session.inner(&self.address, &self.item.fd)
    }

    /// Objects of this run in the inner target.
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

    /// As at the end of a run: the inner target by its own rules, the session, the marker.
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
