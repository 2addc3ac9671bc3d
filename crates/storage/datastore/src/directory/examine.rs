//! Examination of a directory before objects are created in it; reads only.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat};
use rustix::io::Errno;
use units::Bytes;

use super::adopt;
use super::store::DirectoryStore;
use crate::file_system::{FileSystem, space_limit};
use crate::held::{self, HeldDir};
use crate::object::{kind_of, resolved};
use crate::owned::{self, OwnedDir};
use crate::owner::OwnerState;
use crate::preflight::{Examination, Preflight};
use crate::store::{Claim, Located, Step};
use crate::{DatastoreError, Options, Refusal};

/// Examined directory, held open so that a swap of the path cannot redirect later accesses.
#[derive(Debug)]
pub(super) struct Examined {
    dir: HeldDir,
    resolved: PathBuf,
    file_system: Option<FileSystem>,
    /// Sub-directory of an earlier run that is to be taken over.
    adopted: Option<OwnedDir>,
}

impl Examined {
    /// Opens the directory at a path.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let fd = open_directory(path)?;
        let resolved = resolved(&fd, path);
        let dir = HeldDir::of(fd, &resolved);
        Ok(Self { dir, resolved, file_system: None, adopted: None })
    }
}

impl Located for Examined {
    fn what(&self) -> &'static str {
        "directory"
    }

    fn resolved(&self) -> PathBuf {
        self.resolved.clone()
    }

    fn check_surroundings(&mut self, options: &Options, examination: &mut Examination) -> Step {
        let file_system = FileSystem::examine(&self.dir, &self.resolved, examination)?;
        file_system.check(examination, options);
        self.file_system = Some(file_system);
        check_beneath(&self.dir, &self.resolved, examination);
        check_writable(&self.dir, &self.resolved, examination);
        ControlFlow::Continue(())
    }

    fn check_owner(&mut self, options: &Options, examination: &mut Examination) -> Step {
        match &options.adopt {
            Some(run_id) => {
                self.adopted = adopt::check(&self.dir, &self.resolved, run_id, examination);
            }
            None => owned::check_absent(&self.dir, &self.resolved, options, examination),
        }
        ControlFlow::Continue(())
    }

    /// Checks nothing: foreign files are never touched, because all our files are in a
    /// sub-directory.
    fn check_content(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    fn check_room(&mut self, options: &Options, examination: &mut Examination) -> Step {
        if let Some(file_system) = self.file_system.take() {
            let settings = (options, self.adopted.as_ref());
            check_room(&self.dir, file_system, settings, examination);
        }
        ControlFlow::Continue(())
    }

    /// Checks nothing: the sub-directory is created exclusively, or locked before it is taken over.
    fn check_grant(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    fn claim(
        self: Box<Self>,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError> {
        let needed = Bytes::new(preflight.needed_bytes);
        let place = (self.dir, self.resolved);
        match (self.adopted, &options.adopt) {
            (Some(dir), Some(run_id)) => {
                DirectoryStore::adopt(place, dir, (needed, run_id, options))
            }
            _ => DirectoryStore::create(place, needed, options),
        }
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Refusal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT => Refusal::Missing { path: path.to_owned() },
        Errno::NOTDIR => {
            Refusal::WrongKind { path: path.to_owned(), found: kind_of(path), wanted: "directory" }
        }
        error => Refusal::unreadable("open directory", path, error),
    })
}

/// Checks that openat2 works, by which all files below the directory are opened.
fn check_beneath(dir: &HeldDir, resolved: &Path, examination: &mut Examination) {
    let can = held::can_open_beneath(dir);
    let refusal = (!can).then(|| Refusal::NoOpenat2 { path: resolved.to_owned() });
    let found = if can { "possible" } else { "not possible" };
    let rule = ("files can be opened without leaving the directory (openat2)", "possible");
    examination.check("no-openat2", rule, found, refusal);
}

fn check_writable(fd: &HeldDir, resolved: &Path, examination: &mut Examination) {
    let permission = Access::WRITE_OK | Access::EXEC_OK;
    let allowed = accessat(fd, c".", permission, AtFlags::EACCESS);
    let uid = rustix::process::geteuid().as_raw();
    let refusal = match allowed {
        // A read-only mount is refused by its own rule.
        Ok(()) | Err(Errno::ROFS) => None,
        Err(Errno::ACCESS | Errno::PERM) => {
            Some(Refusal::NotWritable { path: resolved.to_owned(), uid })
        }
        Err(error) => Some(Refusal::unreadable("check access to", resolved, error)),
    };
    let found = format!("user {uid} {}", if refusal.is_none() { "may" } else { "may not" });
    examination.check("not-writable", ("the directory may be written to", "may"), found, refusal);
}

fn check_room(
    fd: &HeldDir,
    mut file_system: FileSystem,
    (options, adopted): (&Options, Option<&OwnedDir>),
    examination: &mut Examination,
) {
    let mut others = owned::scan(fd).unwrap_or_default();
    others.retain(|dir| adopted.is_none_or(|adopted| adopted.name != dir.name));
    let leftovers = owned::leftovers(&others);
    if leftovers.reserved > 0 {
        let live = others.iter().filter(|dir| dir.state != OwnerState::Dead).count();
        examination.warn(
            "leftovers",
            format!(
                "{} other tilemark directories ({live} perhaps in use) hold {} here",
                others.len(),
                Bytes::new(leftovers.reserved)
            ),
        );
    }
    file_system.facts.leftover_bytes = leftovers.reserved;
    let free = Bytes::new(file_system.facts.free_bytes);
    examination.preflight.file_system = Some(file_system.facts);
    examination.preflight.device = file_system.device.map(|device| device.facts());
    examination.preflight.write_bytes = examination.preflight.needed_bytes;
    // The allocated space of a directory that is taken over counts as free. At least that much may
    // be used, whatever the limit is.
    let held = Bytes::new(adopted.map_or(0, |dir| dir.allocated));
    let (limit, rule) = space_limit(free + held, leftovers, options.space_max);
    examination.check_space(free, (limit.max(held), rule));
}
