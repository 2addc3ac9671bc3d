//! Examination of a device before it may be written; reads only.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use units::Bytes;

use super::content::{check_ends, check_middle};
use super::node::{Identity, check_unchanged, device_of, not_opened, open_node};
use super::store::BlockStore;
use crate::claim::claim;
use crate::graph::Relative;
use crate::label::{LABEL_LENGTH, RESERVED, data_end};
use crate::object::{reopen, resolved};
use crate::preflight::{Examination, Preflight};
use crate::store::{Claim, Located, Step};
use crate::sysfs::Device;
use crate::{DatastoreError, Options, Refusal, in_use};

/// Examined device. The node is held open, so a swap of the path cannot redirect the opening.
#[derive(Debug)]
pub(super) struct Examined {
    node: OwnedFd,
    device: Device,
    path: PathBuf,
    /// Devices that share blocks with the device.
    relatives: Vec<Relative>,
    /// Identity of the device that was examined.
    identity: Option<Identity>,
}

impl Examined {
    /// Finds the device behind a path without opening it.
    pub fn find(path: &Path) -> Result<Self, Refusal> {
        let node = open_node(path)?;
        let device = device_of(&node, path)?;
        Ok(Self { node, device, path: path.to_owned(), relatives: Vec::new(), identity: None })
    }
}

impl Located for Examined {
    fn what(&self) -> &'static str {
        "block device"
    }

    fn resolved(&self) -> PathBuf {
        resolved(&self.node, &self.path)
    }

    /// Checks without opening the device, so that it also reports without permission to open.
    fn check_surroundings(&mut self, options: &Options, examination: &mut Examination) -> Step {
        examination.preflight.device = Some(self.device.facts());
        if !options.write {
            return ControlFlow::Continue(());
        }
        self.relatives = in_use::check(&self.device, &self.path, examination);
        let refusal = self
            .device
            .is_read_only()
            .then(|| Refusal::ReadOnlyDevice { device: self.path.clone() });
        let found = if refusal.is_some() { "read-only" } else { "writable" };
        examination.check("device-read-only", ("it can be written", "writable"), found, refusal);
        ControlFlow::Continue(())
    }

    fn check_owner(&mut self, options: &Options, examination: &mut Examination) -> Step {
        if options.write {
            let given = options.destroy_data.as_deref();
            check_identity(&self.device, &self.path, given, examination);
        }
        ControlFlow::Continue(())
    }

    fn check_content(&mut self, options: &Options, examination: &mut Examination) -> Step {
        let file = reopen(&self.node, OFlags::RDONLY)
            .map_err(|error| Refusal::unreadable("open", &self.path, error));
        let mut file = examination.need(("the device can be read", "readable"), file)?;
        // Reading the whole device takes seconds, so a device that is refused anyway is only read
        // at its ends.
        let look = if examination.refusals.is_empty() { Look::Whole } else { Look::Ends };
        if options.write {
            check_inside(&mut file, look, &self.path, examination);
        }
        self.identity = Some(Identity::of(&mut file, &self.device));
        ControlFlow::Continue(())
    }

    fn check_room(&mut self, options: &Options, examination: &mut Examination) -> Step {
        check_room(self.identity.as_ref().map_or(0, |seen| seen.size), options, examination);
        ControlFlow::Continue(())
    }

    fn check_grant(&mut self, options: &Options, examination: &mut Examination) -> Step {
        if options.write {
            self.check_exclusive(examination);
        }
        ControlFlow::Continue(())
    }

    /// Opens the device exclusively, and repeats the checks on the opened device.
    fn claim(
        mut self: Box<Self>,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError> {
        let identity = self.identity.clone().expect("the content was looked at");
        let flags = if options.write { OFlags::RDWR | OFlags::EXCL } else { OFlags::RDONLY };
        let mut file = reopen(&self.node, flags)
            .map_err(|error| DatastoreError::from(not_opened("open", &self.path, error)))?;
        let mut again = Examination::new(&preflight.target, Bytes::new(preflight.needed_bytes));
        again.preflight.resolved.clone_from(&preflight.resolved);
        check_unchanged(&identity, &mut file, &self.path, &mut again);
        // Neither of the two ever breaks off.
        let _ = self.check_surroundings(options, &mut again);
        let _ = self.check_owner(options, &mut again);
        let mut claims = Vec::new();
        if options.write {
            claims = claim(&file, &self.device, &self.relatives, &self.path)?;
            check_inside(&mut file, Look::Ends, &self.path, &mut again);
        }
        check_room(size_of(&mut file), options, &mut again);
        preflight.capacity_bytes = again.into_result()?.capacity_bytes;
        BlockStore::claim((&self.node, &identity), (file, claims), (&self.path, preflight, options))
    }
}

impl Examined {
    /// Opens the device exclusively as a test, and closes it again. The kernel also knows mounts,
    /// volumes and arrays that no table shows (blkdev_get, `O_EXCL` without `O_CREAT`). Does the
    /// same for devices below, and for the lock.
    fn check_exclusive(&self, examination: &mut Examination) {
        let claimed = match reopen(&self.node, OFlags::RDONLY | OFlags::EXCL) {
            Ok(file) => claim(&file, &self.device, &self.relatives, &self.path).map(drop),
            Err(error) => Err(not_opened("open exclusively", &self.path, error)),
        };
        let refusal = claimed.err();
        let found = refusal.as_ref().map_or_else(|| "granted".to_owned(), ToString::to_string);
        let id = refusal.as_ref().map_or("busy", Refusal::id);
        let rule =
            ("exclusive use (O_EXCL) and the lock (flock), also of what lies below", "granted");
        examination.check(id, rule, found, refusal);
    }
}

/// Extent of the search for foreign content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Both ends, and a sample of the middle.
    Whole,
    /// Only the ends, right after an examination of the whole.
    Ends,
}

/// Checks the rules on the device's content.
fn check_inside(file: &mut File, look: Look, path: &Path, examination: &mut Examination) {
    let size = size_of(file);
    let label = check_ends(file, size, path, examination);
    if look == Look::Whole {
        check_middle(file, size, label.as_ref(), path, examination);
    }
    examination.preflight.write_bytes = examination.preflight.needed_bytes + LABEL_LENGTH as u64;
}

/// Returns the size of the open device in bytes; 0 if it is unknown.
fn size_of(file: &mut File) -> u64 {
    file.seek(SeekFrom::End(0)).unwrap_or(0)
}

fn check_room(size: u64, options: &Options, examination: &mut Examination) {
    let room = Bytes::new(data_end(Bytes::new(size)).saturating_sub(RESERVED))
        .round_down(crate::layout::UNIT);
    let limit = match options.space_max {
        Some(max) if max < room => (max, format!("space-max {max}")),
        _ => (room, format!("{} less 8 MiB at each end", Bytes::new(size))),
    };
    examination.check_space(Bytes::new(size), limit);
}

/// Checks the identity rule: the user must have given one of the device's own names.
pub(super) fn check_identity(
    device: &Device,
    path: &Path,
    given: Option<&str>,
    examination: &mut Examination,
) {
    let choices = device.identities();
    let bare = given.map(|given| given.strip_prefix("/dev/disk/by-id/").unwrap_or(given));
    let refusal = match (given, bare) {
        (Some(_), Some(bare)) if choices.iter().any(|choice| choice == bare) => None,
        (Some(given), _) => Some(Refusal::IdentityMismatch {
            device: path.to_owned(),
            given: given.to_owned(),
            choices: choices.clone(),
        }),
        (None, _) => {
            Some(Refusal::IdentityMissing { device: path.to_owned(), choices: choices.clone() })
        }
    };
    let id = if given.is_some() { "identity-mismatch" } else { "identity-missing" };
    let limit = if choices.is_empty() {
        "none: the device has no unique name".to_owned()
    } else {
        format!("one of \"{}\"", choices.join("\", \""))
    };
    let found = given.unwrap_or("nothing given").to_owned();
    examination.check(id, ("the device is named by identity", &limit), found, refusal);
}
