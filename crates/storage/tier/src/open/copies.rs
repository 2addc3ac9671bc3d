//! Writing of both copies of superblocks and sidecars. Both copies must say the same before
//! anything relies on it, so that each can replace the other if it is damaged later. If only the
//! newer copy knew of a freed chunk, or of a holder struck out, one bad sector would bring the
//! older copy back.

use super::Media;
use crate::event::{IoError, IoTarget};
use crate::format::{SUPERBLOCK_AT, Sidecar, Superblock};

/// Makes a superblock durable in both places, in `first` first.
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

/// Makes a sidecar durable in both places. The second copy has the next number, which the sidecar
/// keeps.
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
