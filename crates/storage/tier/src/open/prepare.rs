use super::Media;
use super::area::LogArea;
use super::attach::{Attached, attach};
use super::errors::{Attachment, OpenError, Session, Skipped};
use super::log_start::read_log;
use super::recover::check_attachments;
use crate::event::IoTarget;
use crate::format::Superblock;
use crate::geometry::Geometry;
use crate::machine::{Prepared, Tier};

impl Tier {
    /// Opens a disk for a running set with this superblock ([`Tier::superblock`]). The state
    /// machine is not needed: only this function changes the set's data of a disk that is not
    /// served. None of the disk's pages is valid. `session` is this opening of the disk. Pass the
    /// result to [`Tier::attach`]. Until then no other disk may be attached, nor this one by
    /// another caller. Also returns damage of the log that causes no loss of a write.
    ///
    /// # Errors
    /// [`OpenError`], as from [`Tier::open`]. Nothing is changed except a torn end of the disk's
    /// log.
    pub fn prepare(
        media: &mut dyn Media,
        superblock: &Superblock,
        session: Session,
        asked: &Attachment,
    ) -> Result<(Prepared, Option<Skipped>), OpenError> {
        let geometry = Geometry::of(superblock);
        check_attachments(superblock, &geometry, std::slice::from_ref(asked))?;
        let entry = superblock.disks[usize::from(asked.index)].as_ref();
        let area = LogArea::read(media, geometry);
        let found = entry.map(|entry| read_log(media, &area, entry)).transpose()?;
        let skipped = found.as_ref().and_then(|found| found.skipped);
        let attached = attach(media, superblock, session, asked, found, u64::MAX)?;
        attached.clear_end(media, &area)?;
        media.flush(IoTarget::Cache)?;
        let Attached { mut disk, spare, .. } = attached;
        // Earlier writes of others may be read from now on, so they must be durable.
        media.flush(IoTarget::Backing(asked.index))?;
        disk.spare = spare;
        Ok((Prepared::new(asked.index, disk), skipped))
    }
}
