//! What a kind of target must be able to do.
//!
//! A kind is one type that implements [`Store`] and one line in `kinds`. Four objects follow one
//! another: what was [located](Located) at an address and is held open, what was
//! [claimed](Claim) of it, and, for `cleanup` and `verify`, what was [found](Found) of ours.
//!
//! What it refuses: every method is required and none has a default, so that a kind without an
//! answer to a rule of `docs/safety.md` does not compile. Where nothing can go wrong, a kind
//! says so in words.
//!
//! Invariants, kept by those who call and not left to a kind: the steps of an examination are
//! taken in the order of [`Located`] and write nothing; nothing is claimed after a refusal; what
//! is claimed is the object that was examined; what was found is removed only if its marker says
//! that its run has ended. A [`Mark`] and an [`Owned`] can be had from a marker only.

use std::ffi::CStr;
use std::fmt::Debug;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use units::Bytes;

use crate::held::HeldDir;
use crate::made::OwnDir;
use crate::mark::Mark;
use crate::owner::Owned;
use crate::preflight::{Examination, Preflight, Warning};
use crate::removed::Removed;
use crate::{CleanupOptions, DatastoreError, DiskRequest, Fill, Options, Refusal, VirtualDisk};

/// Properties of every target of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// In front of the colon: ASCII letters, digits and dashes, beginning with a letter.
    pub word: &'static str,
    /// In messages: `block device`.
    pub noun: &'static str,
    /// The first rule, and what it allows: ("the target is a directory", "an existing directory").
    pub rule: (&'static str, &'static str),
    /// True if the address is a path of this host. Paths are made absolute, and their links are
    /// shown.
    pub is_path: bool,
    /// True if a later run finds the disks of an earlier one by their names.
    pub remembers_disks: bool,
    /// True if every disk is an open file of its own.
    pub is_file_per_disk: bool,
    /// True if the target may have content that no run made.
    pub has_content: bool,
}

/// A kind of target.
pub trait Store: Debug + Send + Sync {
    /// Properties of every target of this kind.
    fn facts(&self) -> &'static Facts;

    /// Finds and holds what is at the address, or the place for it, if it is of this kind. What
    /// was opened here is what everything after is asked of; nothing is opened that might act
    /// on being opened, and nothing is changed.
    fn locate(&self, address: &Path, options: &Options) -> Result<Box<dyn Located>, Refusal>;

    /// Everything of ours at the address, live runs' too. Reads only.
    fn find(&self, address: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError>;
}

/// Decision whether an examination goes on. If it breaks off, the refusal is recorded.
pub type Step = ControlFlow<()>;

/// Object at an address, held open. The steps are taken in this order and write nothing.
pub trait Located {
    /// Kind of the object, in words.
    fn what(&self) -> &'static str;

    /// Path after all symbolic links; the address if the object has no path.
    fn resolved(&self) -> PathBuf;

    /// Checks that the storage below, and all that shares blocks with the object, is not in use and
    /// may be written and filled.
    fn check_surroundings(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks that the object may be used: absent, ours by a marker whose run has ended, named by
    /// identity, or given up by the user. Checks that no other process uses it.
    fn check_owner(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks that no content would be lost.
    fn check_content(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks the room; sets capacity and bytes to be written of the preflight.
    fn check_room(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks that the system would grant what [`Located::claim`] will ask for. The claim has the
    /// last word.
    fn check_grant(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Claims what was examined, and no other object: marks it, locks it, and asks again what
    /// may have changed. Only called when nothing refuses. On an error nothing of ours is left.
    fn claim(
        self: Box<Self>,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError>;
}

/// Target that was claimed for a run.
#[derive(Debug)]
pub struct Claim {
    /// Proof of mark and lock; given back when all is removed.
    pub mark: Mark,
    /// Storage of which disks are made.
    pub claimed: Box<dyn Claimed>,
    /// Warnings of the claim.
    pub warnings: Vec<Warning>,
}

/// Storage of which disks are made. Dropping it closes everything and removes nothing.
pub trait Claimed: Debug + Send + Sync {
    /// Path of all that is ours, for messages.
    fn path(&self) -> &Path;

    /// Bytes that may be given to disks now.
    fn room(&self) -> Bytes;

    /// Makes a disk that overlaps no other, with all its space where that can be reserved.
    fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError>;

    /// Tries whether disks can share blocks (reflink) with two small files of ours, and removes
    /// them.
    fn try_link(&self) -> Result<(), DatastoreError>;

    /// Interface to the disks of earlier runs, if they are remembered.
    fn remembers(&self) -> Option<&dyn Remembers>;

    /// Removes everything that was made, and nothing else.
    fn remove(self: Box<Self>, mark: Mark) -> Removed;
}

/// Disks that are known again, and state beside them.
pub trait Remembers {
    /// A directory of ours beside the disks.
    fn state_dir(&self) -> &OwnDir;

    /// Makes a directory beside the disks for content that programs of another user make. That user
    /// may pass the directories of ours above it, and see nothing of them.
    fn tree(&self, name: &CStr) -> Result<HeldDir, DatastoreError>;

    /// Returns true if the disks were taken over from an earlier run.
    fn is_taken_over(&self) -> bool;

    /// Opens a disk that an earlier run made; `None` if there is none of that name.
    fn open_disk(
        &self,
        request: &DiskRequest,
    ) -> Result<Option<(VirtualDisk, Vec<Warning>)>, DatastoreError>;

    /// Opens disks of another part of the same run, with its state beside them; they stay that part's.
    fn lent(&self, run_id: &str, requests: &[DiskRequest]) -> Result<Lent, DatastoreError>;

    /// Returns true if a disk of this name exists.
    fn has_disk(&self, disk: &str) -> bool;

    /// Returns true if `disk` is recorded as filled with such data.
    fn is_filled(&self, disk: &VirtualDisk, fill: &Fill) -> bool;

    /// Records that all of `disk` is written and durable.
    fn record_filled(&self, disk: &VirtualDisk, fill: &Fill) -> Result<(), DatastoreError>;
}

/// Disks of another part of the same run, which neither counts nor removes them.
#[derive(Debug)]
pub struct Lent {
    /// Directory of the part's state beside its disks.
    pub state_dir: OwnDir,
    /// The disks, as they were asked for.
    pub disks: Vec<VirtualDisk>,
}

/// Something of ours that a run left behind or is using, held as it was found.
pub trait RunLeftover {
    /// Owner, with the state of its run.
    fn owned(&self) -> &Owned;

    /// Disks of the run by name; none if they are not remembered.
    fn disks(&self) -> Result<Vec<DiskRequest>, DatastoreError>;

    /// Opens what is left, for reading only.
    fn open(&self) -> Result<Left, DatastoreError>;

    /// Removes it. Only called for a run that has ended, or one of this process; a kind that
    /// knows a lock takes it first, and leaves what another holds.
    fn remove(self: Box<Self>, options: &CleanupOptions) -> Result<Fate, DatastoreError>;
}

/// Objects that a run left, open for reading only.
#[derive(Debug)]
pub enum Left {
    /// Disks that are known by name, with their state.
    Disks {
        /// Directory of the state beside the disks, if the run made one.
        state_dir: Option<HeldDir>,
        /// The disks, by name.
        disks: Vec<VirtualDisk>,
    },
    /// A single object. A list among the runs has the ranges of the disks.
    Whole(File),
}

/// Result of removing an object.
#[derive(Debug, Default)]
pub struct Fate {
    /// Reason why the object or a part of it stays; `None` if it is gone.
    pub stays: Option<String>,
    /// Errors of objects that could not be removed.
    pub failed: Vec<DatastoreError>,
}
