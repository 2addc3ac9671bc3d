use crate::owner::{Owned, OwnerState};
use crate::store::Fate;
use crate::{CleanupOptions, DatastoreError, Target};

/// Object of Tilemark that was not removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptObject {
    /// Object that was not removed.
    pub owned: Owned,
    /// Reason why the object was not removed.
    pub reason: String,
}

/// Result of a cleanup.
#[derive(Debug, Clone, Default)]
pub struct Cleaned {
    /// Objects that were removed.
    pub removed: Vec<Owned>,
    /// Objects of Tilemark that were not removed, with the reason.
    pub kept: Vec<KeptObject>,
    /// Errors of removals that failed. Their objects are in `kept`.
    pub failed: Vec<DatastoreError>,
}

/// Finds all objects of Tilemark at a target; reads only.
pub fn find_owned(target: &Target) -> Result<Vec<Owned>, DatastoreError> {
    let found = target.store().find(target.path())?;
    Ok(found.iter().map(|found| found.owned().clone()).collect())
}

/// Removes the objects that dead runs and this process left at `target`, and nothing else.
///
/// In a directory: sub-directories with our valid marker, and only our files in them, never through
/// a symbolic link. A file: if it has our valid marker; if it existed before, only the marker is
/// removed. On a block device: the label, if the user named the device by identity and it is not in
/// use.
pub fn cleanup(target: &Target, options: &CleanupOptions) -> Result<Cleaned, DatastoreError> {
    let mut cleaned = Cleaned::default();
    for found in target.store().find(target.path())? {
        let owned = found.owned().clone();
        if !options.concerns(&owned) {
            continue;
        }
        let fate = match options.stays(&owned.state) {
            Some(reason) => Fate { stays: Some(reason), failed: Vec::new() },
            None => found.remove(options)?,
        };
        cleaned.failed.extend(fate.failed);
        match fate.stays {
            None => cleaned.removed.push(owned),
            Some(reason) => cleaned.kept.push(KeptObject { owned, reason }),
        }
    }
    Ok(cleaned)
}

impl CleanupOptions {
    fn concerns(&self, owned: &Owned) -> bool {
        self.run_id.as_ref().is_none_or(|wanted| *wanted == owned.run_id)
    }

    /// Returns the reason why an object with an owner in this state stays; `None` if it may be
    /// removed.
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
