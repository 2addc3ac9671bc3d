use datastore::OwnDir;

use super::error::StateError;
use super::state::{State, entry_name};
use super::tracker::neighbours;

/// Returns the seed of the state that an earlier verification left in a directory; `None` if there
/// is none. A verification of the same disks must continue with this seed, because their blocks
/// carry it. Opening a disk refuses state with another seed.
pub fn kept_seed(state_dir: &OwnDir) -> Result<Option<u64>, StateError> {
    let names = neighbours(state_dir);
    let Some(name) = names.iter().min() else { return Ok(None) };
    let state = State::open(state_dir, name)?;
    Ok(Some(state.owner().seed))
}

/// Removes the state of all disks in a directory. Call it before the disks are written without
/// verification. Otherwise the state would report all later writes as lost.
pub fn forget(state_dir: &OwnDir) -> Result<(), StateError> {
    for name in neighbours(state_dir) {
        let entry = entry_name(&name);
        state_dir.unmake(&entry).map_err(|source| {
            let path = state_dir.path().join(entry.to_string_lossy().as_ref());
            StateError::Io { attempt: "remove", path, source }
        })?;
    }
    Ok(())
}
