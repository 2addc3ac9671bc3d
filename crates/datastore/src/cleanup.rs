use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use units::Bytes;

use crate::held::HeldDir;
use crate::label::LABEL_LENGTH;
use crate::made::Removal;
use crate::owned::{self, OwnedDir};
use crate::owner::OwnerState;
use crate::{DatastoreError, Refusal, Target, block, file, store};

/// Something of ours that a run left behind or is using.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The sub-directory, the file or the device.
    pub path: PathBuf,
    /// The run; empty when it was killed before it could write its marker.
    pub run_id: String,
    /// Whether the run lives. A device's label does not know its process, so a label is
    /// always [`OwnerState::Dead`]; a live run is noticed by its exclusive use.
    pub state: OwnerState,
    /// Bytes allocated on disk; of a device, the bytes of the label.
    pub bytes: Bytes,
    /// When it was made, RFC 3339; empty as for `run_id`.
    pub created: String,
}

/// Something of ours that was not removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What it is.
    pub owned: Owned,
    /// Why it stays.
    pub reason: String,
}

/// What may be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanupOptions {
    /// Only this run's, and then also when it was made on another host.
    pub run_id: Option<String>,
    /// The identity of a block device whose label may be erased.
    pub destroy_data: Option<String>,
}

/// What was removed and what stays.
#[derive(Debug, Clone, Default)]
pub struct Cleaned {
    /// What is gone.
    pub removed: Vec<Owned>,
    /// What is ours and stays.
    pub kept: Vec<Kept>,
    /// What should be gone and could not be removed; where it is, is among `kept`.
    pub failed: Vec<DatastoreError>,
}

/// Everything of ours at a target; reads only.
pub fn find_owned(target: &Target) -> Result<Vec<Owned>, DatastoreError> {
    match target {
        Target::Directory(path) => {
            let found = scan(path)?.1;
            Ok(found.iter().map(|item| describe(path, item)).collect())
        }
        Target::File(path) => {
            Ok(file::find_marked(path)?.iter().map(|item| describe_file(path, item)).collect())
        }
        Target::Block(path) => {
            Ok(block::find_label(path)?.iter().map(|item| describe_label(path, item)).collect())
        }
    }
}

/// Removes from `target` what dead runs and this process left, and nothing else.
///
/// Of a directory: sub-directories with our valid marker, and only our files in them, never
/// through a symbolic link. A file with our valid marker, unless it existed before. Of a
/// block device: the label, when the device is named by identity and not in use.
pub fn cleanup(target: &Target, options: &CleanupOptions) -> Result<Cleaned, DatastoreError> {
    let mut cleaned = Cleaned::default();
    match target {
        Target::Directory(path) => cleanup_directory(path, options, &mut cleaned)?,
        Target::File(path) => cleanup_file(path, options, &mut cleaned)?,
        Target::Block(path) => cleanup_block(path, options, &mut cleaned)?,
    }
    Ok(cleaned)
}

pub(crate) fn scan(dir: &Path) -> Result<(HeldDir, Vec<OwnedDir>), DatastoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(dir, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::NOENT => Refusal::Missing { path: dir.to_owned() }.into(),
        rustix::io::Errno::NOTDIR => Refusal::WrongKind {
            path: dir.to_owned(),
            found: crate::object::kind_of(dir),
            wanted: "directory",
        }
        .into(),
        error => DatastoreError::io("open directory", dir, error),
    })?;
    let fd = HeldDir::of(fd, dir);
    let found = owned::scan(&fd).map_err(|error| DatastoreError::io("list", dir, error))?;
    Ok((fd, found))
}

pub(crate) fn describe(dir: &Path, item: &OwnedDir) -> Owned {
    let marker = item.marker.as_ref();
    Owned {
        path: dir.join(owned::name_path(&item.name)),
        run_id: marker.map_or_else(String::new, |marker| marker.run_id.clone()),
        state: item.state.clone(),
        bytes: Bytes::new(item.allocated),
        created: marker.map_or_else(String::new, |marker| marker.created.clone()),
    }
}

fn describe_file(path: &Path, item: &file::Marked) -> Owned {
    Owned {
        path: path.to_owned(),
        run_id: item.marker.run_id.clone(),
        state: item.state.clone(),
        bytes: Bytes::new(item.allocated),
        created: item.marker.created.clone(),
    }
}

fn describe_label(path: &Path, label: &crate::label::Label) -> Owned {
    let second = i64::try_from(label.created).unwrap_or(i64::MAX);
    Owned {
        path: path.to_owned(),
        run_id: label.run_id.clone(),
        state: OwnerState::Dead,
        bytes: Bytes::new(LABEL_LENGTH as u64),
        created: jiff::Timestamp::from_second(second)
            .map_or_else(|_| String::new(), |time| time.to_string()),
    }
}

impl CleanupOptions {
    fn concerns(&self, owned: &Owned) -> bool {
        self.run_id.as_ref().is_none_or(|wanted| *wanted == owned.run_id)
    }

    /// Why something stays, whatever it is.
    fn stays(&self, state: &OwnerState) -> Option<String> {
        match state {
            OwnerState::This | OwnerState::Dead => None,
            OwnerState::Alive { pid } => Some(format!("in use by process {pid}")),
            OwnerState::Elsewhere { .. } if self.run_id.is_some() => None,
            OwnerState::Elsewhere { host } => Some(format!(
                "made on host {host}, which cannot be asked; name its run id to remove it"
            )),
        }
    }
}

fn cleanup_directory(
    dir: &Path,
    options: &CleanupOptions,
    cleaned: &mut Cleaned,
) -> Result<(), DatastoreError> {
    let (fd, found) = scan(dir)?;
    for item in found {
        let owned = describe(dir, &item);
        if !options.concerns(&owned) {
            continue;
        }
        if let Some(reason) = options.stays(&owned.state) {
            cleaned.kept.push(Kept { owned, reason });
            continue;
        }
        // A run may be taking it over at this moment.
        let Some(held) = item.lock() else {
            let reason = "another process holds its marker".to_owned();
            cleaned.kept.push(Kept { owned, reason });
            continue;
        };
        let removal = owned::remove(&fd, (&item.name, &item.fd), item.marker_name(), held);
        match stayed(&removal) {
            None => cleaned.removed.push(owned),
            Some(reason) => {
                cleaned.failed.extend(store::failures(&owned.path, removal.failed));
                cleaned.kept.push(Kept { owned, reason });
            }
        }
    }
    Ok(())
}

/// Why a sub-directory stays; each name with the reason it stays for.
fn stayed(removal: &Removal) -> Option<String> {
    let list = |what: &str, names: &[PathBuf]| {
        let names: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let failed: Vec<PathBuf> = removal.failed.iter().map(|(name, _)| name.clone()).collect();
    let reasons: Vec<String> = [
        list("not made by Tilemark, so it stays", &removal.kept),
        list("kept by the file system until it is closed elsewhere", &removal.lingering),
        list("cannot be removed", &failed),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn cleanup_file(
    path: &Path,
    options: &CleanupOptions,
    cleaned: &mut Cleaned,
) -> Result<(), DatastoreError> {
    let Some(item) = file::find_marked(path)? else { return Ok(()) };
    let owned = describe_file(path, &item);
    if !options.concerns(&owned) {
        return Ok(());
    }
    if let Some(reason) = options.stays(&owned.state) {
        cleaned.kept.push(Kept { owned, reason });
    } else if item.remove()? {
        cleaned.removed.push(owned);
    } else {
        let reason = "it existed before the run; only the marker was removed".to_owned();
        cleaned.kept.push(Kept { owned, reason });
    }
    Ok(())
}

fn cleanup_block(
    path: &Path,
    options: &CleanupOptions,
    cleaned: &mut Cleaned,
) -> Result<(), DatastoreError> {
    let Some(label) = block::find_label(path)? else { return Ok(()) };
    let owned = describe_label(path, &label);
    if options.concerns(&owned) && block::cleanup(path, options.destroy_data.as_deref())?.is_some()
    {
        cleaned.removed.push(owned);
    }
    Ok(())
}
