use super::Media;
use super::copies::put_sidecar;
use crate::event::{IoError, IoTarget};
use crate::format::{SIDECAR_BYTES, Sidecar, Uuid};
use crate::ownership;

/// Gives up the lost log of a disk: from now on its backing store is all there is, and a device
/// that returns with that log is refused. The caller must have asked if the loss is accepted.
/// Returns the owner of the log; `None` if there is no sidecar, and then nothing is done.
///
/// # Errors
/// An error of the sidecar's storage.
pub fn give_up(media: &mut dyn Media, index: u16) -> Result<Option<Uuid>, IoError> {
    let place = IoTarget::Sidecar(index);
    let mut bytes = vec![0; SIDECAR_BYTES];
    media.read(place, 0, &mut bytes)?;
    let Some(sidecar) = Sidecar::newest(&bytes) else { return Ok(None) };
    let owner = sidecar.owner;
    put_sidecar(media, index, &mut ownership::give_up(&sidecar))?;
    Ok(Some(owner))
}
