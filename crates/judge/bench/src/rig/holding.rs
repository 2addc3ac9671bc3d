//! A datastore that a rig owns, with its verification state.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use datastore::{Datastore, DiskList, DiskRequest, HeldDir, OwnDir, Removed, VirtualDisk};

use crate::error::BenchError;

/// A datastore, and its verification state if it is verified.
#[derive(Debug)]
pub(super) struct Holding {
    pub store: Datastore,
    state: Option<State>,
}

/// Directory of the verification state.
#[derive(Debug)]
struct State {
    dir: OwnDir,
    /// Set if the state is not stored beside the disks.
    outside: Option<Outside>,
}

/// Separate directory of the verification state.
#[derive(Debug)]
struct Outside {
    base: HeldDir,
    name: CString,
    disks: DiskList,
    listed: usize,
}

impl State {
    fn make(path: &Path) -> std::io::Result<Self> {
        let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidFilename);
        let base = path.parent().ok_or_else(invalid)?;
        let name = path.file_name().ok_or_else(invalid)?;
        let name = CString::new(name.as_bytes()).map_err(|_| invalid())?;
        std::fs::create_dir_all(base)?;
        let base = HeldDir::open(base)?;
        let dir = OwnDir::make(&base, &name)?;
        let disks = DiskList::create(&dir)?;
        Ok(Self { dir, outside: Some(Outside { base, name, disks, listed: 0 }) })
    }
}

impl Holding {
    /// Takes a datastore without verification.
    pub const fn plain(store: Datastore) -> Self {
        Self { store, state: None }
    }

    /// Takes a datastore with verification. The state is stored beside the disks. If the datastore
    /// can only hold disks (a file, a device), the state is in `state_dir`, which is created and
    /// later removed.
    pub fn verified(store: Datastore, state_dir: PathBuf) -> Result<Self, BenchError> {
        let state = match store.state_dir() {
            Some(beside) => State { dir: beside.clone(), outside: None },
            None => match State::make(&state_dir) {
                Ok(state) => state,
                Err(source) => {
                    store.clear();
                    return Err(BenchError::StateDir { path: state_dir, source });
                }
            },
        };
        Ok(Self { store, state: Some(state) })
    }

    /// Returns the directory of the verification state, if there is one.
    pub fn state_dir(&self) -> Option<&OwnDir> {
        self.state.as_ref().map(|state| &state.dir)
    }

    /// Creates or finds disks.
    pub fn provision(&mut self, requests: &[DiskRequest]) -> Result<Vec<VirtualDisk>, BenchError> {
        let provisioned = self.store.provision(requests)?;
        let outside = self.state.as_mut().and_then(|state| state.outside.as_mut());
        if let Some(outside) = outside {
            // After kill -9, verification finds the disks by this list.
            for disk in &self.store.disks()[outside.listed..] {
                outside.disks.add(disk).map_err(|source| BenchError::StateDir {
                    path: outside.base.path().to_owned(),
                    source,
                })?;
            }
            outside.listed = self.store.disks().len();
        }
        Ok(provisioned)
    }

    /// Returns the paths of the disks, and of the state if it is elsewhere.
    pub fn evidence(&self) -> impl Iterator<Item = PathBuf> {
        let outside = self.state.as_ref().filter(|state| state.outside.is_some());
        let state = outside.map(|state| state.dir.path().to_owned());
        std::iter::once(self.store.path().to_owned()).chain(state)
    }

    /// Removes verification state that is not beside the disks.
    pub fn remove_state(&mut self, removed: &mut Removed) {
        forget(self.state.take(), removed);
    }

    /// Removes disks and state.
    pub fn clear(self) -> Removed {
        let Self { store, state } = self;
        let mut removed = store.clear();
        forget(state, &mut removed);
        removed
    }
}

fn forget(state: Option<State>, removed: &mut Removed) {
    if let Some(State { dir, outside: Some(outside) }) = state {
        let Outside { base, name, disks, .. } = outside;
        drop(disks);
        removed.outside(dir, &base, &name);
    }
}
