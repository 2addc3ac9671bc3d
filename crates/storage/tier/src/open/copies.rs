//! Writing of both copies of superblocks and sidecars. Both copies must have the same content
//! before any decision relies on it, so that each can replace the other if that one is damaged
//! later. If only the newer copy recorded a freed chunk, or the removal of a holder, one bad sector
//! would bring back the older content.

use super::Media;
use crate::event::{IoError, IoTarget};
use crate::format::{SUPERBLOCK_AT, Sidecar, Superblock};

/// Writes a superblock durably to both places, to place `first` first.
pub(super) fn put_superblock(
    media: &mut dyn Media,
    superblock: &Superblock,
    first: usize,
) -> Result<(), IoError> {
    for copy in [first, 1 - first] {
        media.write(IoTarget::Cache, SUPERBLOCK_AT[copy], &superblock.encode())?;
        media.flush(IoTarget::Cache)?;
    }
    Ok(())
}

/// Writes a sidecar durably to both places. The second copy has the next number, which is also
/// stored in `sidecar`.
pub(super) fn put_sidecar(
    media: &mut dyn Media,
    index: u16,
    sidecar: &mut Sidecar,
) -> Result<(), IoError> {
    let place = IoTarget::Sidecar(index);
    media.write(place, sidecar.place(), &sidecar.encode()[..])?;
    media.flush(place)?;
    sidecar.seq += 1;
    media.write(place, sidecar.place(), &sidecar.encode()[..])?;
    media.flush(place)
}
