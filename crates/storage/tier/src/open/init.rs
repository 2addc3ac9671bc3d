use super::Media;
use super::copies::put_superblock;
use crate::event::{IoError, IoTarget};
use crate::format::{BLOCK, SUPERBLOCK_AT, Uuid, encode_table};
use crate::geometry::Geometry;

/// Creates an empty set on a cache device. The caller must have obtained consent to the loss of its
/// content.
///
/// # Errors
/// If the device fails. It then holds no set, or an empty one.
pub fn init(
    media: &mut dyn Media,
    geometry: Geometry,
    device_bytes: u64,
    set: Uuid,
    host: Uuid,
) -> Result<(), IoError> {
    // No superblock is valid while the rest is being written.
    let nothing = vec![0; crate::format::SUPERBLOCK_BYTES];
    for at in SUPERBLOCK_AT {
        media.write(IoTarget::Cache, at, &nothing)?;
    }
    media.flush(IoTarget::Cache)?;
    let [table_at, _] = geometry.tables_at();
    for index in 0..geometry.table_blocks() {
        media.write(IoTarget::Cache, table_at + index * BLOCK, &encode_table(1, index, &[])[..])?;
    }
    media.flush(IoTarget::Cache)?;
    put_superblock(media, &geometry.first_superblock(device_bytes, set, host), 0)
}
