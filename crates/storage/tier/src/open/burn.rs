use super::Media;
use super::copies::put_sidecar;
use crate::event::{IoError, Place};
use crate::format::{SIDECAR_BYTES, Sidecar, Uuid};
use crate::ownership;

/// Gives up what a lost log has for a disk: its backing store is all there is from now on, and a
/// device that returns with that log is refused. Whether that loss is accepted is the caller's question.
/// Says whose the log was; `None` where no sidecar is there, and nothing is done.
///
/// # Errors
/// What the sidecar's storage could not do.
pub fn give_up(media: &mut dyn Media, index: u16) -> Result<Option<Uuid>, IoError> {
    let place = Place::Sidecar(index);
    let mut bytes = vec![0; SIDECAR_BYTES];
    media.read(place, 0, &mut bytes)?;
    let Some(sidecar) = Sidecar::newest(&bytes) else { return Ok(None) };
    let owner = sidecar.owner;
    put_sidecar(media, index, &mut ownership::give_up(&sidecar))?;
    Ok(Some(owner))
}
