use std::io;
use std::path::Path;

use super::error::StateError;
use super::state::State;
use super::tracker::{neighbours, state_path};

/// The seed of the state that an earlier verification left in a directory; nothing if there is
/// none. A verification of the same disks goes on with it: their blocks carry it. State of a
/// disk with another seed is refused when that disk is opened.
pub fn kept_seed(state_dir: &Path) -> Result<Option<u64>, StateError> {
    let names = neighbours(state_dir);
    let Some(name) = names.iter().min() else { return Ok(None) };
    let state = State::open(&state_path(state_dir, name))?;
    Ok(Some(state.owner().seed))
}

/// Removes the state of all disks in a directory, before they are written without being
/// followed: it would call all that is written then lost.
pub fn forget(state_dir: &Path) -> Result<(), StateError> {
    for name in neighbours(state_dir) {
        let path = state_path(state_dir, &name);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StateError::Io { attempt: "remove", path, source });
            }
            _ => {}
        }
    }
    Ok(())
}
