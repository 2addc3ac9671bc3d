//! Device properties and requests of virtio-blk: Virtual I/O Device specification 1.2, section 5.2.

use nbd::{Abilities, Export, Operation};
use virtio_bindings::bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_MQ,
    VIRTIO_BLK_F_RO, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_WRITE_ZEROES,
    VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN,
    VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_WRITE_ZEROES,
};
use virtio_bindings::bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::bindings::virtio_ring::{
    VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC,
};
use vm_memory::GuestMemoryMmap;

use super::chain::{Chain, Malformed};

const SECTOR: u64 = 512;
/// Maximum size of a read or write in bytes, the same as over NBD.
const BYTES_MAX: u64 = 32 << 20;
/// Maximum number of segments of a request, as told to the guest: a queue of 128 less head and
/// status.
const PIECES_MAX: u32 = 126;
/// Maximum size of a discard or zeroing, as told to the guest, in bytes.
const RANGE_MAX: u64 = 1 << 31;
const HEAD_BYTES: usize = 16;
const RANGE_BYTES: usize = 16;
pub(super) const ID_BYTES: usize = 20;
const CONFIG_BYTES: usize = 60;

/// Properties of a disk that are needed to decode a guest's requests.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    name: String,
    size: u64,
    /// Block size in bytes; offsets and lengths are multiples of it.
    block: u64,
    abilities: Abilities,
    /// True if the driver did not negotiate the flush feature. Every write must then be durable
    /// before it is answered.
    is_durable: bool,
}

/// Decoded request of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Operation on the disk, with offset and length in bytes. The data of a write follows the
    /// head.
    Disk { operation: Operation, offset: u64, bytes: u64 },
    /// Request for the disk's name.
    Id,
}

/// Status byte that answers a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status(pub u8);

/// Status byte that answers a successful request.
pub(super) const OK: u8 = 0;
pub(super) const FAILED: Status = Status(1);
pub(super) const UNSUPPORTED: Status = Status(2);

impl From<Malformed> for Status {
    fn from(_: Malformed) -> Self {
        FAILED
    }
}

/// Returns the feature bits that the device offers for this disk.
pub(crate) fn features(export: &Export) -> u64 {
    let mut bits = vec![
        VIRTIO_F_VERSION_1,
        VIRTIO_RING_F_EVENT_IDX,
        VIRTIO_RING_F_INDIRECT_DESC,
        VIRTIO_BLK_F_SIZE_MAX,
        VIRTIO_BLK_F_SEG_MAX,
        VIRTIO_BLK_F_BLK_SIZE,
        VIRTIO_BLK_F_MQ,
    ];
    for (ability, bit) in [
        (Abilities::READ_ONLY, VIRTIO_BLK_F_RO),
        (Abilities::FLUSH, VIRTIO_BLK_F_FLUSH),
        (Abilities::TRIM, VIRTIO_BLK_F_DISCARD),
        (Abilities::WRITE_ZEROES, VIRTIO_BLK_F_WRITE_ZEROES),
    ] {
        if export.abilities().has(ability) {
            bits.push(bit);
        }
    }
    bits.iter().fold(0, |features, bit| features | 1 << bit)
}

/// Returns the configuration space of the device, `struct virtio_blk_config`.
pub(crate) fn config(export: &Export, queues: u16) -> [u8; CONFIG_BYTES] {
    let mut config = [0; CONFIG_BYTES];
    let block = block(export);
    let small = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let piece_max = BYTES_MAX / u64::from(PIECES_MAX) / 4096 * 4096;
    let mut put = |at: usize, value: &[u8]| config[at..at + value.len()].copy_from_slice(value);
    put(0, &(export.size() / SECTOR).to_le_bytes());
    put(8, &small(piece_max).to_le_bytes());
    put(12, &PIECES_MAX.to_le_bytes());
    put(20, &small(block).to_le_bytes());
    put(34, &queues.to_le_bytes());
    // Discards, then zeroings: most sectors, most ranges; alignment, and whether a zeroing may
    // deallocate.
    put(36, &small(RANGE_MAX / SECTOR).to_le_bytes());
    put(40, &1_u32.to_le_bytes());
    put(44, &small(block / SECTOR).to_le_bytes());
    put(48, &small(RANGE_MAX / SECTOR).to_le_bytes());
    put(52, &1_u32.to_le_bytes());
    put(56, &[1]);
    config
}

fn block(export: &Export) -> u64 {
    u64::from(export.blocks().minimum()).max(SECTOR)
}

impl Terms {
    /// Combines the disk's properties with the features that the driver accepted.
    pub fn new(export: &Export, features: u64) -> Self {
        Self {
            name: export.name().to_owned(),
            size: export.size(),
            block: block(export),
            abilities: export.abilities(),
            is_durable: features & 1 << VIRTIO_BLK_F_FLUSH == 0,
        }
    }

    /// Returns the disk's name in the form that a guest gets: cut or padded with zeroes to 20
    /// bytes.
    pub fn id(&self) -> [u8; ID_BYTES] {
        let mut id = [0; ID_BYTES];
        let length = self.name.len().min(ID_BYTES);
        id[..length].copy_from_slice(&self.name.as_bytes()[..length]);
        id
    }

    /// Decodes a chain of descriptors. The caller has checked that the chain has room for the
    /// status.
    pub fn understand(&self, memory: &GuestMemoryMmap, chain: &Chain) -> Result<Ask, Status> {
        let mut head = [0; HEAD_BYTES];
        chain.readable.read(memory, 0, &mut head)?;
        let kind = u32::from_le_bytes(head[..4].try_into().expect("four bytes"));
        let sector = u64::from_le_bytes(head[8..].try_into().expect("eight bytes"));
        let (out, into) = (chain.readable.bytes() - HEAD_BYTES as u64, chain.writable.bytes() - 1);
        let fua = self.is_durable;
        let disk = |operation, bytes| self.disk(operation, sector, bytes);
        match kind {
            VIRTIO_BLK_T_IN if into <= BYTES_MAX => disk(Operation::Read, into),
            VIRTIO_BLK_T_OUT if out <= BYTES_MAX => disk(Operation::Write { fua }, out),
            VIRTIO_BLK_T_IN | VIRTIO_BLK_T_OUT => Err(FAILED),
            VIRTIO_BLK_T_FLUSH => {
                Ok(Ask::Disk { operation: Operation::Flush, offset: 0, bytes: 0 })
            }
            VIRTIO_BLK_T_GET_ID if into >= ID_BYTES as u64 => Ok(Ask::Id),
            VIRTIO_BLK_T_GET_ID => Err(FAILED),
            VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES if out == RANGE_BYTES as u64 => {
                let mut range = [0; RANGE_BYTES];
                chain.readable.read(memory, HEAD_BYTES as u64, &mut range)?;
                self.range(kind == VIRTIO_BLK_T_DISCARD, range)
            }
            VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => Err(FAILED),
            _ => Err(UNSUPPORTED),
        }
    }

    /// Decodes the range of a discard or zeroing, and checks the flag that allows deallocation.
    fn range(&self, is_discard: bool, range: [u8; RANGE_BYTES]) -> Result<Ask, Status> {
        let sector = u64::from_le_bytes(range[..8].try_into().expect("eight bytes"));
        let word = |at: usize| u32::from_le_bytes(range[at..at + 4].try_into().expect("four"));
        let (bytes, flags, fua) = (u64::from(word(8)) * SECTOR, word(12), self.is_durable);
        let ability = if is_discard { Abilities::TRIM } else { Abilities::WRITE_ZEROES };
        // Only zeroing has a flag, and only one.
        if !self.abilities.has(ability) || flags > u32::from(!is_discard) {
            return Err(UNSUPPORTED);
        }
        if bytes > RANGE_MAX {
            return Err(FAILED);
        }
        let operation = if is_discard {
            Operation::Trim { fua }
        } else {
            Operation::WriteZeroes { fua, no_hole: flags == 0, fast: false }
        };
        self.disk(operation, sector, bytes)
    }

    /// Checks an operation against the disk's size, blocks and features.
    fn disk(&self, operation: Operation, sector: u64, bytes: u64) -> Result<Ask, Status> {
        let offset = sector.checked_mul(SECTOR).ok_or(FAILED)?;
        let end = offset.checked_add(bytes).ok_or(FAILED)?;
        let fits = offset.is_multiple_of(self.block) && bytes.is_multiple_of(self.block);
        let is_refused = operation.changes() && self.abilities.has(Abilities::READ_ONLY);
        if bytes == 0 || end > self.size || !fits || is_refused {
            return Err(FAILED);
        }
        Ok(Ask::Disk { operation, offset, bytes })
    }
}
