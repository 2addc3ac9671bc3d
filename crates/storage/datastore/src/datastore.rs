//! Datastore of any kind, from the first check to the last removal.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::path::Path;

use units::Bytes;

use crate::made::OwnDir;
use crate::mark::Mark;
use crate::preflight::{Examination, Preflight, Warning};
use crate::store::{Claim, Claimed, Lent, Located, Remembers, Step};
use crate::{
    AdoptProblem, DatastoreError, DiskRequest, Fill, HeldDir, Options, Refusal, Removed, Target,
    VirtualDisk, layout,
};

/// Checks a target and reports every rule, broken or not. Reads only.
///
/// `needed` is the sum of the disks' sizes, each rounded up to 1 MiB.
pub fn examine(target: &Target, needed: Bytes, options: &Options) -> Examination {
    look(target, needed, options).0
}

/// Checks a target like [`examine`], and returns the first broken rule as the error. Reads only.
pub fn preflight(target: &Target, needed: Bytes, options: &Options) -> Result<Preflight, Refusal> {
    examine(target, needed, options).into_result()
}

/// Executes all checks of an examination. Returns the located object unless a check refused.
pub(crate) fn look(
    target: &Target,
    needed: Bytes,
    options: &Options,
) -> (Examination, Option<Box<dyn Located>>) {
    let mut examination = Examination::new(&target.to_string(), needed);
    if options.adopt.is_some() && !target.facts().remembers_disks {
        check_kind(target, &mut examination);
    }
    check_run_id(options, &mut examination);
    let rule = target.facts().rule;
    let found = target.store().locate(target.path(), options);
    let ControlFlow::Continue(mut located) = examination.need(rule, found) else {
        return (examination, None);
    };
    examination.check("wrong-kind", rule, located.what(), None);
    let resolved = located.resolved();
    examination.preflight.resolved = resolved.display().to_string();
    if target.facts().is_path {
        note_links(target.path(), &resolved, &mut examination);
    }
    let steps = steps(&mut *located, options, &mut examination);
    (examination, steps.is_continue().then_some(located))
}

fn steps(located: &mut dyn Located, options: &Options, examination: &mut Examination) -> Step {
    located.check_surroundings(options, examination)?;
    located.check_owner(options, examination)?;
    located.check_content(options, examination)?;
    located.check_room(options, examination)?;
    located.check_grant(options, examination)
}

/// Refuses a takeover if the target is not a directory.
fn check_kind(target: &Target, examination: &mut Examination) {
    let problem = AdoptProblem::Kind { kind: target.facts().noun };
    let found = problem.to_string();
    let refusal = Refusal::Adopt { path: target.path().to_owned(), problem };
    let what = "the earlier run's disks may be taken over";
    examination.check("adopt", (what, "a directory"), found, Some(refusal));
}

/// Checks the rule on run ids, which all kinds of target share.
fn check_run_id(options: &Options, examination: &mut Examination) {
    let refusal = (!crate::options::run_id_is_valid(&options.run_id))
        .then(|| Refusal::RunId { run_id: options.run_id.clone() });
    let rule = ("the run id can be a file name", "1 to 100 of A-Z a-z 0-9 - _ .");
    examination.check("run-id", rule, options.run_id.clone(), refusal);
}

/// Adds a warning if the path led through a symbolic link.
fn note_links(path: &Path, resolved: &Path, examination: &mut Examination) {
    if std::path::absolute(path).is_ok_and(|absolute| absolute != resolved) {
        examination.warn(
            "resolved",
            format!("{} has symbolic links, so {} is used", path.display(), resolved.display()),
        );
    }
}

/// Open datastore. Dropping it closes everything and removes nothing. [`cleanup`](crate::cleanup())
/// finds the objects that a run leaves behind.
#[derive(Debug)]
pub struct Datastore {
    preflight: Preflight,
    mark: Mark,
    claimed: Box<dyn Claimed>,
    disks: Vec<VirtualDisk>,
    /// Names of the disks that an earlier run created.
    adopted: Vec<String>,
    capacity: Bytes,
}

impl Datastore {
    /// Checks the target as [`preflight`] does and claims it: sub-directory and marker, file and
    /// marker, or exclusive use and label. The checked object and the claimed object are the same,
    /// even if its name changes in between.
    pub fn open(target: &Target, needed: Bytes, options: &Options) -> Result<Self, DatastoreError> {
        let (examination, located) = look(target, needed, options);
        let mut preflight = examination.into_result()?;
        let located = located.expect("an examination without refusal has its object");
        let Claim { mark, claimed, warnings } = located.claim(&mut preflight, options)?;
        let capacity = Bytes::new(preflight.capacity_bytes);
        let (disks, adopted) = (Vec::new(), Vec::new());
        let mut datastore = Self { preflight, mark, claimed, disks, adopted, capacity };
        datastore.add_warnings(warnings);
        Ok(datastore)
    }

    /// Returns the result of the preflight. Later warnings (no `O_DIRECT`, no allocation in
    /// advance) are added to its list.
    pub fn preflight(&self) -> &Preflight {
        &self.preflight
    }

    /// Returns the warnings of the preflight and of later steps.
    pub fn warnings(&self) -> &[Warning] {
        &self.preflight.warnings
    }

    /// Returns the maximum size of all disks together.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Returns the disks created so far, in the order of their creation.
    pub fn disks(&self) -> &[VirtualDisk] {
        &self.disks
    }

    /// Returns the directory of Tilemark for state beside the disks; only a directory target has
    /// one. Files created through it are removed with the datastore.
    pub fn state_dir(&self) -> Option<&OwnDir> {
        self.claimed.remembers().map(Remembers::state_dir)
    }

    /// Creates a directory for files of other programs, which is removed with the datastore,
    /// including all content. `None` if the target is not a directory.
    ///
    /// # Errors
    ///
    /// If the directory exists or cannot be created.
    pub fn tree(&self, name: &CStr) -> Option<Result<HeldDir, DatastoreError>> {
        self.claimed.remembers().map(|own| own.tree(name))
    }

    /// Returns the path of Tilemark's object: the sub-directory, the file or the device.
    pub fn path(&self) -> &Path {
        self.claimed.path()
    }

    /// Opens disks that another part of the same run created in the same directory, to drive them
    /// from now on in place of that part. The disks still belong to the other part: they are not
    /// counted here, and not removed with this datastore.
    ///
    /// # Errors
    ///
    /// If that part does not exist or has no such disk, or a disk has another size; also for a file
    /// or a device, which have no parts.
    pub fn lent(&self, run_id: &str, requests: &[DiskRequest]) -> Result<Lent, DatastoreError> {
        let missing =
            || DatastoreError::NoPart { run_id: run_id.to_owned(), path: self.path().to_owned() };
        self.claimed.remembers().ok_or_else(missing)?.lent(run_id, requests)
    }

    /// Checks that disks here can share their blocks (reflinks), as linked clones and snapshots do.
    ///
    /// # Errors
    ///
    /// [`DatastoreError::NoReflink`] if they cannot, with the type of the file system.
    pub fn try_link(&self) -> Result<(), DatastoreError> {
        self.claimed.try_link().map_err(|error| match error {
            DatastoreError::NoReflink { path, source, .. } => {
                let facts = self.preflight.file_system.as_ref();
                let what = facts.map(|facts| facts.fs_type.clone());
                DatastoreError::NoReflink { path, what, source }
            }
            other => other,
        })
    }

    /// Returns true if the disks were taken over from an earlier run.
    pub fn is_taken_over(&self) -> bool {
        self.claimed.remembers().is_some_and(Remembers::is_taken_over)
    }

    /// Returns true if an earlier run made the disk.
    pub fn is_adopted(&self, disk: &str) -> bool {
        self.adopted.iter().any(|name| name == disk)
    }

    /// Returns true if a disk of this name exists, opened in this run or left by an earlier one.
    pub fn has_disk(&self, disk: &str) -> bool {
        let is_open = self.disks.iter().any(|open| open.name == disk);
        is_open || self.claimed.remembers().is_some_and(|earlier| earlier.has_disk(disk))
    }

    /// Returns true if an earlier run recorded that it wrote the whole disk with data of these
    /// properties. The seed is not compared. Only a directory keeps such records.
    pub fn is_filled(&self, disk: &VirtualDisk, fill: &Fill) -> bool {
        self.claimed.remembers().is_some_and(|earlier| earlier.is_filled(disk, fill))
    }

    /// Records durably that the whole disk was filled. The record is written atomically. Has no
    /// effect on a file or block target.
    pub fn record_filled(&self, disk: &VirtualDisk, fill: &Fill) -> Result<(), DatastoreError> {
        self.claimed.remembers().map_or(Ok(()), |earlier| earlier.record_filled(disk, fill))
    }

    /// Creates the missing disks, and returns all requested disks in the order of the requests. An
    /// existing disk with the same name and size is returned again, or opened if an earlier run
    /// created it. If a disk does not fit, the disks before it stay.
    pub fn provision(
        &mut self,
        requests: &[DiskRequest],
    ) -> Result<Vec<VirtualDisk>, DatastoreError> {
        requests.iter().map(|request| self.provision_one(request)).collect()
    }

    fn provision_one(&mut self, request: &DiskRequest) -> Result<VirtualDisk, DatastoreError> {
        if let Some(disk) = self.disks.iter().find(|disk| disk.name == request.name) {
            if disk.size == request.size {
                return Ok(disk.clone());
            }
            return Err(DatastoreError::SizeChanged {
                disk: request.name.clone(),
                has: disk.size,
                asked: request.size,
            });
        }
        request.check_alignment(512)?;
        let earlier = self.claimed.remembers().map(|earlier| earlier.open_disk(request));
        if let Some((disk, warnings)) = earlier.transpose()?.flatten() {
            self.add_warnings(warnings);
            self.adopted.push(disk.name.clone());
            self.disks.push(disk.clone());
            return Ok(disk);
        }
        let needed = layout::taken(request.size);
        let available = self.available();
        if needed > available {
            return Err(self.does_not_fit(request, needed, available));
        }
        let (disk, warnings) = self.claimed.create_disk(request)?;
        self.add_warnings(warnings);
        self.disks.push(disk.clone());
        Ok(disk)
    }

    fn does_not_fit(
        &self,
        request: &DiskRequest,
        needed: Bytes,
        available: Bytes,
    ) -> DatastoreError {
        DatastoreError::DoesNotFit {
            disk: request.name.clone(),
            target: self.preflight.target.clone(),
            needed,
            available,
            capacity: self.capacity,
        }
    }

    /// Returns the bytes that may still be provisioned now. The reserve of the file system is
    /// checked again, because others may have filled it since the preflight.
    pub fn available(&self) -> Bytes {
        let used = self.disks.iter().map(|disk| layout::taken(disk.size)).sum();
        let planned = self.capacity.saturating_sub(used);
        planned.min(self.claimed.room())
    }

    /// Adds warnings. Equal warnings of several disks are added only once.
    fn add_warnings(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            if !self.preflight.warnings.contains(&warning) {
                self.preflight.warnings.push(warning);
            }
        }
    }

    /// Removes the datastore like [`Datastore::clear`], and returns the first failed removal as the
    /// error.
    pub fn remove(self) -> Result<Removed, DatastoreError> {
        let mut removed = self.clear();
        if removed.failed.is_empty() { Ok(removed) } else { Err(removed.failed.remove(0)) }
    }

    /// Closes and removes all objects that were created: the sub-directory, the file (unless it
    /// existed before), the label. A device that was only read is not changed. A failed removal is
    /// reported, and the others continue.
    pub fn clear(self) -> Removed {
        drop(self.disks);
        self.claimed.remove(self.mark)
    }
}
