//! What is kept in two copies says the same in both before anybody relies on it: one that is damaged later is
//! replaced by the other, whatever was done meanwhile. If only the newer one knew of a chunk that was freed, or of a
//! copy that was struck out, the older one would be believed after one bad sector.

use super::Media;
use crate::event::{IoError, Place};
use crate::format::{SUPERBLOCK_AT, Sidecar, Superblock};

/// Makes a superblock durable in both places, in this one first.
pub(super) fn put_superblock(
    media: &mut dyn Media,
    superblock: &Superblock,
    first: usize,
) -> Result<(), IoError> {
    for copy in [first, 1 - first] {
        media.write(Place::Cache, SUPERBLOCK_AT[copy], &superblock.encode())?;
        media.flush(Place::Cache)?;
    }
    Ok(())
}

/// Makes a sidecar durable in both places; the second copy has the next number, which is its own from then on.
pub(super) fn put_sidecar(
    media: &mut dyn Media,
    index: u16,
    sidecar: &mut Sidecar,
) -> Result<(), IoError> {
    let place = Place::Sidecar(index);
    media.write(place, sidecar.place(), &sidecar.encode()[..])?;
    media.flush(place)?;
    sidecar.seq += 1;
    media.write(place, sidecar.place(), &sidecar.encode()[..])?;
    media.flush(place)
}
