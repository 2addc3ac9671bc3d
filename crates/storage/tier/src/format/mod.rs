//! Formats on the cache device and beside a backing disk, byte by byte.
//!
//! `docs/formats/tier.md` shows them. All numbers are little-endian. Every metadata block of 4,096
//! bytes has its own checksum. A block with a wrong checksum is never used.

mod block;
mod group;
mod identity;
mod label;
mod sidecar;
mod superblock;
mod table;

pub use block::{BLOCK, BLOCK_BYTES, Uuid, block_sum, payload_sum};
pub use group::{Flags, GROUP_RECORDS, Head, Kind, NO_CHUNK, Record};
pub use identity::{IDENTITY_NAME_MAX, Identity, Match};
pub use label::{LABEL_BYTES, Label, held_at};
pub use sidecar::{
    ADDRESS_BYTES, FINGERPRINT_BYTES, HOLDERS, Holder, SIDECAR_BYTES, SIDECAR_MAGIC, Sidecar,
    SidecarState,
};
pub use superblock::{
    DISKS, DiskEntry, FORMAT, SUPERBLOCK_AT, SUPERBLOCK_BYTES, SetState, Superblock,
    SuperblockError, mode,
};
pub use table::{PAGE_BLOCKS, SlotEntry, TABLE_ENTRIES, decode_table, encode_table, table_number};
