//! Interface that every kind of target implements.
//!
//! A kind is one type that implements [`Store`] and one line in `kinds`. There are four objects:
//! the object [located](Located) at an address and held open, the object [claimed](Claim) from it,
//! and, for `cleanup` and `verify`, the objects of Tilemark that were [found](RunLeftover).
//!
//! Every method is required and none has a default, so a kind that does not implement a rule of
//! `docs/safety.md` does not compile. If a rule does not apply to a kind, its method checks nothing
//! and says why.
//!
//! The callers, not the kinds, keep these invariants: the steps of an examination are called in the
//! order of [`Located`] and write nothing. Nothing is claimed after a refusal. The claimed object
//! is the examined object. A found object is removed only if its marker shows that its run has
//! ended. A [`Mark`] and an [`Owned`] can be created only from a marker.

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
    /// Word before the colon in a target's text: ASCII letters, digits and dashes, beginning with a
    /// letter.
    pub word: &'static str,
    /// Noun for messages, for example `block device`.
    pub noun: &'static str,
    /// First rule, and the allowed value: ("the target is a directory", "an existing directory").
    pub rule: (&'static str, &'static str),
    /// True if the address is a path of this host. Such paths are made absolute, and symbolic links
    /// in them are reported.
    pub is_path: bool,
    /// True if a later run finds the disks of an earlier one by their names.
    pub remembers_disks: bool,
    /// True if every disk is an open file of its own.
    pub is_file_per_disk: bool,
    /// True if the target may have content that no run wrote.
    pub has_content: bool,
}

/// Kind of target.
pub trait Store: Debug + Send + Sync {
    /// Returns the properties of every target of this kind.
    fn facts(&self) -> &'static Facts;

    /// Finds the object at the address, or the place to create it, and holds it open, if it is of
    /// this kind. All later checks use the object opened here. No object is opened that might react
    /// to being opened, and nothing is changed.
    fn locate(&self, address: &Path, options: &Options) -> Result<Box<dyn Located>, Refusal>;

    /// Finds all objects of Tilemark at the address, also those of live runs. Reads only.
    fn find(&self, address: &Path) -> Result<Vec<Box<dyn RunLeftover>>, DatastoreError>;
}

/// Decision if an examination continues. If it ends early, the refusal is recorded.
pub type Step = ControlFlow<()>;

/// Object at an address, held open. The check methods are called in the order given here and write
/// nothing.
pub trait Located {
    /// Returns the kind of the object, in words.
    fn what(&self) -> &'static str;

    /// Returns the path after all symbolic links, or the address if the object has no path.
    fn resolved(&self) -> PathBuf;

    /// Checks that the storage below, and all objects that share blocks with it, are not in use and
    /// may be written and filled.
    fn check_surroundings(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks that the object may be used: it does not exist, or it is Tilemark's by a marker whose
    /// run has ended, or the user has named it by identity or allowed to overwrite it. Checks that
    /// no other process uses it.
    fn check_owner(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks that no content of others would be lost.
    fn check_content(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks the room. Sets the capacity and the bytes to be written in the preflight.
    fn check_room(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Checks that the system would grant the locks and rights that [`Located::claim`] needs. The
    /// claim itself decides.
    fn check_grant(&mut self, options: &Options, examination: &mut Examination) -> Step;

    /// Claims the examined object, and no other: marks and locks it, and repeats the checks of
    /// properties that may have changed. Only called if nothing was refused. On an error no object
    /// of Tilemark is left.
    fn claim(
        self: Box<Self>,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError>;
}

/// Target that was claimed for a run.
#[derive(Debug)]
pub struct Claim {
    /// Proof of mark and lock; returned when everything is removed.
    pub mark: Mark,
    /// Storage in which disks are created.
    pub claimed: Box<dyn Claimed>,
    /// Warnings of the claim.
    pub warnings: Vec<Warning>,
}

/// Storage in which disks are created. Dropping it closes everything and removes nothing.
pub trait Claimed: Debug + Send + Sync {
    /// Returns the path of Tilemark's object, for messages.
    fn path(&self) -> &Path;

    /// Returns the bytes that may be assigned to disks now.
    fn room(&self) -> Bytes;

    /// Creates a disk that overlaps no other, and allocates all its space if the storage can.
    fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError>;

    /// Tests with two small files if disks can share blocks (reflink), and removes these files.
    fn try_link(&self) -> Result<(), DatastoreError>;

    /// Returns the interface to the disks of earlier runs, if the storage records them.
    fn remembers(&self) -> Option<&dyn Remembers>;

    /// Removes all objects that were created, and nothing else.
    fn remove(self: Box<Self>, mark: Mark) -> Removed;
}

/// Storage that records its disks by name, with state beside them.
pub trait Remembers {
    /// Returns the directory of Tilemark beside the disks.
    fn state_dir(&self) -> &OwnDir;

    /// Creates a directory beside the disks for files that programs of another user write. That
    /// user may pass through the directories of Tilemark above it, but not list them.
    fn tree(&self, name: &CStr) -> Result<HeldDir, DatastoreError>;

    /// Returns true if the disks were taken over from an earlier run.
    fn is_taken_over(&self) -> bool;

    /// Opens a disk that an earlier run created; `None` if there is none of that name.
    fn open_disk(
        &self,
        request: &DiskRequest,
    ) -> Result<Option<(VirtualDisk, Vec<Warning>)>, DatastoreError>;

    /// Opens disks of another part of the same run, with the state beside them. The disks still
    /// belong to that part.
    fn lent(&self, run_id: &str, requests: &[DiskRequest]) -> Result<Lent, DatastoreError>;

    /// Returns true if a disk of this name exists.
    fn has_disk(&self, disk: &str) -> bool;

    /// Returns true if `disk` is recorded as filled with data of these properties.
    fn is_filled(&self, disk: &VirtualDisk, fill: &Fill) -> bool;

    /// Records that the whole of `disk` is written and durable.
    fn record_filled(&self, disk: &VirtualDisk, fill: &Fill) -> Result<(), DatastoreError>;
}

/// Disks of another part of the same run, which the borrower neither counts nor removes.
#[derive(Debug)]
pub struct Lent {
    /// Directory of that part's state beside its disks.
    pub state_dir: OwnDir,
    /// Opened disks, in the order of the requests.
    pub disks: Vec<VirtualDisk>,
}

/// Object of Tilemark that a run left behind or is using, held open.
pub trait RunLeftover {
    /// Returns the description of the object, with the state of its run.
    fn owned(&self) -> &Owned;

    /// Returns the disks of the run, sorted by name; empty if the storage does not record them.
    fn disks(&self) -> Result<Vec<DiskRequest>, DatastoreError>;

    /// Opens the disks and the state that are left, for reading only.
    fn open(&self) -> Result<Left, DatastoreError>;

    /// Removes the object. Only called for a run that has ended, or a run of this process. A kind
    /// with locks takes the lock first, and leaves objects that another process has locked.
    fn remove(self: Box<Self>, options: &CleanupOptions) -> Result<Fate, DatastoreError>;
}

/// Objects that a run left, open for reading only.
#[derive(Debug)]
pub enum Left {
    /// Disks that are recorded by name, with their state.
    Disks {
        /// Directory of the state beside the disks, if the run made one.
        state_dir: Option<HeldDir>,
        /// Disks of the run, sorted by name.
        disks: Vec<VirtualDisk>,
    },
    /// Single file or device. A list outside the target has the ranges of its disks.
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
