use super::Media;
use super::copies::put_sidecar;
use crate::event::{IoError, IoTarget};
use crate::format::{SIDECAR_BYTES, Sidecar, Uuid};
use crate::ownership;

/// Drops the lost log of a disk for ever: from now on only its backing store is valid, and a device
/// that returns with that log is refused. The caller must have obtained consent to the loss.
/// Returns the owner of the log. If there is no sidecar, does nothing and returns `None`.
///
/// # Errors
/// If the sidecar cannot be read or written.
pub fn give_up(media: &mut dyn Media, index: u16) -> Result<Option<Uuid>, IoError> {
    let place = IoTarget::Sidecar(index);
    let mut bytes = vec![0; SIDECAR_BYTES];
    media.read(place, 0, &mut bytes)?;
    let Some(sidecar) = Sidecar::newest(&bytes) else { return Ok(None) };
    let owner = sidecar.owner;
    put_sidecar(media, index, &mut ownership::give_up(&sidecar))?;
    Ok(Some(owner))
}
