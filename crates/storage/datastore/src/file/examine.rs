//! Examination of a file target before it is overwritten or created; reads only.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use units::Bytes;

use super::located::{Existing, Located};
use super::store;
use crate::file_system::{FileSystem, space_limit};
use crate::graph::{Graph, Relative};
use crate::kernel::{OpenElsewhere, open_elsewhere};
use crate::label::RESERVED;
use crate::owner::OwnerState;
use crate::preflight::{Examination, Preflight};
use crate::signature::{self, Signature, UNKNOWN};
use crate::store::{Claim, Step};
use crate::{DatastoreError, Options, Refusal, in_use, mounts, openers, owned};

/// File target under examination.
#[derive(Debug)]
pub(super) struct Examined {
    located: Located,
    file_system: Option<FileSystem>,
}

impl From<Located> for Examined {
    fn from(located: Located) -> Self {
        Self { located, file_system: None }
    }
}

impl crate::store::Located for Examined {
    fn what(&self) -> &'static str {
        if self.located.existing.is_some() { "regular file" } else { "none yet" }
    }

    fn resolved(&self) -> PathBuf {
        self.located.path.clone()
    }

    fn check_surroundings(&mut self, options: &Options, examination: &mut Examination) -> Step {
        let Located { dir, asked, .. } = &self.located;
        let file_system = FileSystem::examine(dir, asked, examination)?;
        if options.write {
            file_system.check(examination, options);
        }
        self.file_system = Some(file_system);
        ControlFlow::Continue(())
    }

    fn check_owner(&mut self, options: &Options, examination: &mut Examination) -> Step {
        let Located { path, existing, .. } = &self.located;
        if let Some(existing) = existing.as_ref().filter(|_| options.write) {
            check_existing(existing, path, options, examination);
        }
        ControlFlow::Continue(())
    }

    fn check_content(&mut self, options: &Options, examination: &mut Examination) -> Step {
        let Located { path, existing, .. } = &self.located;
        let foreign = existing.as_ref().filter(|existing| existing.marker.is_none());
        if let Some(existing) = foreign.filter(|_| options.write) {
            check_content(existing, path, examination);
        }
        ControlFlow::Continue(())
    }

    fn check_room(&mut self, options: &Options, examination: &mut Examination) -> Step {
        if options.write {
            examination.preflight.write_bytes = examination.preflight.needed_bytes;
        }
        if let Some(file_system) = self.file_system.take() {
            check_room(&self.located, file_system, options, examination);
        }
        ControlFlow::Continue(())
    }

    /// Checks nothing: an earlier check tested by a lease if the file is open elsewhere, and the
    /// test is repeated when the file is opened for writing.
    fn check_grant(&mut self, _: &Options, _: &mut Examination) -> Step {
        ControlFlow::Continue(())
    }

    fn claim(
        self: Box<Self>,
        preflight: &mut Preflight,
        options: &Options,
    ) -> Result<Claim, DatastoreError> {
        store::claim(self.located, preflight, options)
    }
}

fn check_existing(
    existing: &Existing,
    path: &Path,
    options: &Options,
    examination: &mut Examination,
) {
    check_owner(existing, path, options, examination);
    let links = u32::try_from(existing.stat.st_nlink).unwrap_or(u32::MAX);
    let refusal = (links != 1).then(|| Refusal::HardLinks { path: path.to_owned(), links });
    examination.check(
        "hard-links",
        ("the file has no further hard links", "1"),
        links.to_string(),
        refusal,
    );
    let relatives = Graph::read().relatives(existing.place());
    check_swap(&relatives, path, examination);
    check_users(existing, &relatives, path, examination);
}

fn check_owner(existing: &Existing, path: &Path, options: &Options, examination: &mut Examination) {
    let rule = ("the file is ours, or may be overwritten", "our marker, or --overwrite-file");
    let size = Bytes::new(existing.stat.st_size.unsigned_abs());
    let (found, refusal) = match &existing.marker {
        Some(marker) => (format!("marker of run {}", marker.run_id), None),
        None if options.overwrite_file => ("no marker; overwriting is allowed".to_owned(), None),
        None => {
            let refusal = Refusal::NotOurs { path: path.to_owned(), size };
            ("no marker".to_owned(), Some(refusal))
        }
    };
    if existing.marker.is_none() && options.overwrite_file {
        examination
            .warn("overwrite", format!("the content of {} ({size}) is lost", path.display()));
    }
    examination.check("file-not-ours", rule, found, refusal);
}

fn check_swap(relatives: &[Relative], path: &Path, examination: &mut Examination) {
    let rule = ("the file is not swapped to", "none");
    let (found, refusal) = match in_use::swapped(relatives) {
        Ok(Some(_)) => ("active swap", Some(Refusal::Swap { path: path.to_owned() })),
        Ok(None) => ("none", None),
        Err(error) => ("unknown", Some(Refusal::unreadable("read", "/proc/swaps", error))),
    };
    examination.check("swap", rule, found, refusal);
}

fn check_users(
    existing: &Existing,
    relatives: &[Relative],
    path: &Path,
    examination: &mut Examination,
) {
    let owner = existing.marker.as_ref().map(|marker| marker.state(&existing.file));
    let user = match owner {
        Some(OwnerState::Alive { pid }) => Some(format!("tilemark process {pid}")),
        Some(OwnerState::Elsewhere { host }) => Some(format!("a tilemark run on host {host}")),
        _ => in_use::holder(relatives)
            .map(|(_, device)| format!("block device {device}"))
            .or_else(|| mounted(relatives, examination))
            .or_else(|| opened(existing, path, examination)),
    };
    let refusal = user.map(|user| Refusal::FileInUse { path: path.to_owned(), user });
    let found = if refusal.is_some() { "in use" } else { "not in use" };
    examination.check("file-in-use", ("nobody else uses the file", "nobody"), found, refusal);
}

/// Returns the mount point of the file if it is mounted without a loop device.
fn mounted(relatives: &[Relative], examination: &mut Examination) -> Option<String> {
    let all = mounts::all().map_err(|error| {
        let text = format!("what is mounted cannot be read: {error}");
        examination.warn("mounts-unseen", text);
    });
    let (_, point, _) = in_use::mounted(relatives, &all.ok()?)?;
    Some(format!("the mount at {point}"))
}

/// Finds processes that have the file open. The kernel reports if there is one, and `/proc` tells
/// which.
fn opened(existing: &Existing, path: &Path, examination: &mut Examination) -> Option<String> {
    let openers = || openers::of(&[existing.place()]).found.pop();
    let process = |opener: openers::Opener| format!("process {}", opener.process);
    match open_elsewhere(&existing.file) {
        OpenElsewhere::Yes => Some(openers().map_or_else(|| "another process".to_owned(), process)),
        OpenElsewhere::No => None,
        OpenElsewhere::Unknown(why) => {
            let found = openers().map(process);
            if found.is_none() {
                examination.warn(
                    "lease-unavailable",
                    format!("it is unknown whether {} is open elsewhere: {why}", path.display()),
                );
            }
            found
        }
    }
}

fn check_content(existing: &Existing, path: &Path, examination: &mut Examination) {
    let rule = ("the file holds no image and no file system", "none");
    let size = existing.stat.st_size.unsigned_abs();
    match read_content(&existing.file, size) {
        Ok(found) => {
            let found = found.filter(|found| found.name != UNKNOWN);
            let words = found.as_ref().map_or("none", |found| found.name);
            let refusal = found.as_ref().map(|found| Refusal::FileContent {
                path: path.to_owned(),
                signature: found.name.to_owned(),
                offset: found.offset,
            });
            examination.check("file-content", rule, words, refusal);
        }
        Err(error) => {
            let refusal = Refusal::unreadable("read", path, error);
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
        }
    }
}

fn read_content(file: &File, size: u64) -> std::io::Result<Option<Signature>> {
    let length = usize::try_from(size.min(RESERVED)).expect("at most 8 MiB");
    let mut first = vec![0; length];
    file.read_exact_at(&mut first, 0)?;
    let mut last = vec![0; length];
    file.read_exact_at(&mut last, size - length as u64)?;
    Ok(signature::recognise(&first, &last, size))
}

fn check_room(
    located: &Located,
    mut file_system: FileSystem,
    options: &Options,
    examination: &mut Examination,
) {
    let stat = located.existing.as_ref().map(|existing| &existing.stat);
    let size = Bytes::new(stat.map_or(0, |stat| stat.st_size.unsigned_abs()));
    let allocated = stat.map_or(0, |stat| u64::try_from(stat.st_blocks).unwrap_or(0) * 512);
    let leftovers = owned::leftovers(&owned::scan(&located.dir).unwrap_or_default());
    file_system.facts.leftover_bytes = leftovers.reserved;
    let free = Bytes::new(file_system.facts.free_bytes);
    examination.preflight.file_system = Some(file_system.facts);
    examination.preflight.device = file_system.device.map(|device| device.facts());
    let limit = if options.write {
        let (more, rule) = space_limit(free, leftovers, None);
        let limit = more + Bytes::new(allocated);
        match options.space_max {
            Some(max) if max < limit => (max, format!("space-max {max}")),
            _ => (limit, rule),
        }
    } else {
        (size, format!("the file's size {size}"))
    };
    examination.check_space(free, limit);
}
