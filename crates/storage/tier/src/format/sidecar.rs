use super::block::{BLOCK_BYTES, Reader, Uuid, Writer};
use super::identity::Identity;

/// Size of a sidecar in bytes: two copies. The valid copy with the higher number is current.
pub const SIDECAR_BYTES: usize = 2 * BLOCK_BYTES;
/// Size of a backing store's fingerprint in bytes; only version 1 stored it.
pub const FINGERPRINT_BYTES: usize = 64;

/// First bytes of each copy, in all versions.
pub const SIDECAR_MAGIC: &[u8; 7] = b"TMSIDE\0";
/// Magic number of version 1. A program of version 1 would mistake a block of a later format for an
/// empty sidecar, and serve the disk. But it refuses a file that does not begin with its own magic
/// number, so version 2 has another one.
const MAGIC_1: &[u8; 8] = b"TMSIDE\0\0";
const MAGIC: &[u8; 8] = b"TMSIDE\0\x02";
const FORMAT: u32 = 2;
const NUMBERS_AT: usize = 592;
const IDENTITIES_AT: [usize; 2] = [640, 896];
const HOLDERS_AT: usize = 120;
const HOLDER_BYTES: usize = 96;

/// Maximum number of copies of a log that a sidecar names.
pub const HOLDERS: usize = 4;
/// Size of a holder's address in bytes.
pub const ADDRESS_BYTES: usize = 64;

/// Host with a copy of the owner's log that contains every answered write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Identity of the holder's host.
    pub host: Uuid,
    /// Address under which the holder exports its copies: text, then zeros.
    pub address: [u8; ADDRESS_BYTES],
}

/// State of the bytes on a backing disk without the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidecarState {
    /// The backing disk has all writes.
    Clean,
    /// The owner's log has newer writes. The bytes are an older, consistent state of the disk.
    Dirty,
    /// Several epochs are being written together. Without the log the bytes are inconsistent.
    Applying {
        /// First of these epochs.
        from: u64,
        /// Last of these epochs.
        to: u64,
    },
    /// The owner's log was dropped on purpose: a host that still has the log must not replay it.
    Burnt,
}

/// Sidecar: record of the owner of a backing disk, in a small file or volume beside the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecar {
    /// Identity of the disk.
    pub disk: Uuid,
    /// Generation: the number of owners so far.
    pub generation: u64,
    /// Number of this copy, which rises with each copy written.
    pub seq: u64,
    /// Set that has the disk's log.
    pub owner: Uuid,
    /// Boot of the owner's host during which the sidecar was written.
    pub boot: Uuid,
    /// State of the backing disk's bytes without the log.
    pub state: SidecarState,
    /// Mode in which the disk's writes are answered (`superblock::mode`).
    pub mode: u32,
    /// Last epoch that is completely and durably on the backing disk.
    pub applied: u64,
    /// Holders of a copy of the log, up to [`HOLDERS`].
    pub holders: Vec<Holder>,
    /// Generation of the log with the newest writes, while another host takes the disk over;
    /// otherwise 0.
    pub log_generation: u64,
    /// Key of the owner's reservation of the backing device; 0 without a reservation.
    pub key: u64,
    /// True if only the reservation keeps an earlier owner from writing, so that the reservation
    /// must not be released.
    pub stays: bool,
    /// Size and inode of the backing store, as version 1 stored them; zeros since version 2.
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    /// Identity of the backing store to which this sidecar belongs.
    pub backing: Identity,
    /// Identity of the storage on which the sidecar itself lies. A copy of the sidecar on other
    /// storage is soon outdated.
    pub place: Identity,
    /// Opening of the owner's set that served the disk last ([`super::DiskEntry::opening`]); 0 if
    /// unknown.
    pub opening: u64,
    /// Number of the owner's newest superblock that was durable before this copy; 0 if unknown.
    pub superblock: u64,
    /// Last group of the owner's log that was durable before this copy; 0 if unknown.
    pub log_durable: u64,
    /// Last group of the owner's log whose writes are durable on the backing store. The log begins
    /// behind this group at the latest. So a gap between the two reveals an older sidecar beside an
    /// older backing store.
    pub log_retired: u64,
}

impl Sidecar {
    /// Encodes the sidecar.
    pub fn encode(&self) -> Box<[u8; BLOCK_BYTES]> {
        let (state, from, to) = match self.state {
            SidecarState::Clean => (1, 0, 0),
            SidecarState::Dirty => (2, 0, 0),
            SidecarState::Applying { from, to } => (3, from, to),
            SidecarState::Burnt => (4, 0, 0),
        };
        let mut block = Writer::new();
        block.put(0, MAGIC).u32(8, FORMAT).put(16, &self.disk).u64(32, self.generation);
        block.u64(40, self.seq).put(48, &self.owner).put(64, &self.boot);
        block.u32(80, state).u32(84, self.mode).u64(88, self.applied);
        block.u64(96, from).u64(104, to).put(504, &self.fingerprint);
        let holders = self.holders.iter().take(HOLDERS);
        block.u32(112, u32::try_from(holders.len()).unwrap_or(0)).u64(568, self.log_generation);
        block.u64(576, self.key).u32(584, self.stays.into());
        block.u64(NUMBERS_AT, self.opening).u64(NUMBERS_AT + 8, self.superblock);
        block.u64(NUMBERS_AT + 16, self.log_durable).u64(NUMBERS_AT + 24, self.log_retired);
        for (at, identity) in IDENTITIES_AT.into_iter().zip([&self.backing, &self.place]) {
            identity.encode(&mut block, at);
        }
        for (place, holder) in holders.enumerate() {
            let at = HOLDERS_AT + place * HOLDER_BYTES;
            block.put(at, &holder.host).put(at + 32, &holder.address);
        }
        block.seal().0
    }

    /// Returns the newer of the two valid copies; `None` if neither is valid.
    pub fn newest(bytes: &[u8]) -> Option<Self> {
        let copies = bytes.chunks(BLOCK_BYTES).take(2).filter_map(Self::decode);
        copies.max_by_key(|copy| copy.seq)
    }

    /// Returns the offset at which the copy with this number is written, in bytes. The two places
    /// are used in turn.
    pub const fn place(&self) -> u64 {
        (self.seq % 2) * BLOCK_BYTES as u64
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let block = Reader::open(bytes)?;
        let is_first = block.array(0) == *MAGIC_1 && block.u32(8) == 1;
        if !is_first && (block.array(0) != *MAGIC || block.u32(8) != FORMAT) {
            return None;
        }
        // Bytes that version 1 left zero are an unknown identity and unknown numbers.
        let [backing, place] = IDENTITIES_AT.map(|at| Identity::decode(block, at));
        let holders = usize::try_from(block.u32(112)).ok().filter(|count| *count <= HOLDERS)?;
        let holders = (0..holders).map(|place| HOLDERS_AT + place * HOLDER_BYTES);
        let state = match block.u32(80) {
            1 => SidecarState::Clean,
            2 => SidecarState::Dirty,
            3 => SidecarState::Applying { from: block.u64(96), to: block.u64(104) },
            4 => SidecarState::Burnt,
            _ => return None,
        };
        Some(Self {
            disk: block.array(16),
            generation: block.u64(32),
            seq: block.u64(40),
            owner: block.array(48),
            boot: block.array(64),
            state,
            mode: block.u32(84),
            applied: block.u64(88),
            holders: holders
                .map(|at| Holder { host: block.array(at), address: block.array(at + 32) })
                .collect(),
            log_generation: block.u64(568),
            key: block.u64(576),
            stays: block.u32(584) == 1,
            fingerprint: block.array(504),
            backing,
            place,
            opening: block.u64(NUMBERS_AT),
            superblock: block.u64(NUMBERS_AT + 8),
            log_durable: block.u64(NUMBERS_AT + 16),
            log_retired: block.u64(NUMBERS_AT + 24),
        })
    }
}
