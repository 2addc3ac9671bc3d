use super::Media;
use super::copies::put_superblock;
use crate::event::{IoError, Place};
use crate::format::{BLOCK, Identity, SUPERBLOCK_AT, SetState, Superblock, Uuid, encode_table};
use crate::geometry::Geometry;

/// Makes an empty set on a cache device. Whether its content may be lost is the caller's question.
///
/// # Errors
/// What the device could not do; then nothing there is a set, or one that is empty.
pub fn init(
    media: &mut dyn Media,
    geometry: Geometry,
    device_bytes: u64,
    set: Uuid,
    host: Uuid,
) -> Result<(), IoError> {
    // No superblock counts while the rest is being made.
    let nothing = vec![0; crate::format::SUPERBLOCK_BYTES];
    for at in SUPERBLOCK_AT {
        media.write(Place::Cache, at, &nothing)?;
    }
    media.flush(Place::Cache)?;
    let [table_at, _] = geometry.tables_at();
    for index in 0..geometry.table_blocks() {
        media.write(Place::Cache, table_at + index * BLOCK, &encode_table(1, index, &[])[..])?;
    }
    media.flush(Place::Cache)?;
    put_superblock(media, &first_superblock(geometry, device_bytes, set, host), 0)
}

/// What an empty set says of itself. A group of an earlier set cannot be taken for one of this: it has another name.
pub(crate) fn first_superblock(
    geometry: Geometry,
    device_bytes: u64,
    set: Uuid,
    host: Uuid,
) -> Superblock {
    let [table_at, _] = geometry.tables_at();
    Superblock {
        set,
        host,
        seq: 1,
        device_bytes,
        page_bytes: geometry.page_bytes,
        chunk_bytes: geometry.chunk_bytes,
        first_chunk: geometry.first_chunk,
        chunks: geometry.chunks,
        page_chunks: geometry.page_chunks,
        state: SetState::Clean,
        opens: 0,
        table_at,
        table_seq: 1,
        pool_chunk: geometry.page_chunks,
        pool_seq: 1,
        pool_durable: 0,
        has_tags: true,
        has_numbers: true,
        // The first opening says where the set lies.
        place: Identity::default(),
        disks: vec![None; crate::format::DISKS],
    }
}
