use crate::format::{
    BLOCK, DISKS, Identity, SUPERBLOCK_AT, SetState, Superblock, TABLE_ENTRIES, Uuid,
};

/// Minimum number of chunks for logs: two for the pool's log, one spare, two for a disk.
const LOG_CHUNKS_MIN: u32 = 5;
/// Minimum chunk size, in bytes.
const CHUNK_MIN: u32 = 32 << 10;

/// Requested layout of a new set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Usable size of the cache device, in bytes.
    pub device_bytes: u64,
    /// Size of a page in bytes, a power of two from 4 to 64 KiB. FAST Cache has 64.
    pub page_bytes: u32,
    /// Size of a chunk in bytes, a multiple of the page size, from 32 KiB to 1 GiB.
    pub chunk_bytes: u32,
    /// Share of the chunks that is used for logs, 1 to 90 percent.
    pub log_percent: u8,
}

impl Plan {
    /// Creates a plan with pages of 64 KiB, chunks of 16 MiB, and a tenth of the chunks for logs.
    pub fn new(device_bytes: u64) -> Self {
        Self { device_bytes, page_bytes: 64 << 10, chunk_bytes: 16 << 20, log_percent: 10 }
    }

    /// Divides the device into the largest possible chunks, starting at 16 MiB and halving. Each of
    /// `disks` disks must have a log, and logs must not exceed their share. Large chunks waste
    /// space on a small device, because the minimum number of log chunks is fixed.
    ///
    /// # Errors
    /// [`GeometryError`], if even the smallest chunks do not fit.
    pub fn fitted(self, disks: usize) -> Result<Geometry, GeometryError> {
        let mut plan = Self { chunk_bytes: 16 << 20, ..self };
        loop {
            let made = Geometry::new(plan);
            let is_last = plan.chunk_bytes / 2 < plan.page_bytes.max(CHUNK_MIN);
            match made {
                Ok(geometry) if geometry.disks_max() >= disks => {
                    let logs = u64::from(geometry.chunks - geometry.page_chunks);
                    if is_last
                        || logs * 100 <= u64::from(geometry.chunks) * u64::from(plan.log_percent)
                    {
                        return Ok(geometry);
                    }
                }
                Ok(geometry) if is_last => {
                    return Err(GeometryError::Disks { disks, most: geometry.disks_max() });
                }
                Err(error) if is_last => return Err(error),
                Ok(_) | Err(_) => {}
            }
            plan.chunk_bytes /= 2;
        }
    }
}

/// Reason why a device cannot be divided as planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// The page size is not allowed.
    #[error("page size {0} B is not a power of two from 4 KiB to 64 KiB")]
    Page(u32),
    /// The chunk size is not allowed.
    #[error("chunk size {0} B is not a multiple of the page size from 32 KiB to 1 GiB")]
    Chunk(u32),
    /// The share of logs is not allowed.
    #[error("{0} % for logs are not from 1 to 90 %")]
    LogPercent(u8),
    /// The device is too small.
    #[error("a cache device of {bytes} B is too small: these sizes need at least {needed} B")]
    Small {
        /// Size of the device in bytes.
        bytes: u64,
        /// Needed size in bytes.
        needed: u64,
    },
    /// There is no room for this many logs.
    #[error("{disks} disks are more than the {most} for whose logs a set of this size has room")]
    Disks {
        /// Requested number of disks.
        disks: usize,
        /// Maximum number of disks.
        most: usize,
    },
}

/// Layout of a cache device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Size of a page in bytes.
    pub page_bytes: u32,
    /// Size of a chunk in bytes.
    pub chunk_bytes: u32,
    /// Address of the first chunk.
    pub first_chunk: u64,
    /// Number of chunks.
    pub chunks: u32,
    /// Number of chunks that hold pages; the others hold logs.
    pub page_chunks: u32,
}

impl Geometry {
    /// Returns the superblock of an empty set. A group of an earlier set on the device is not taken
    /// for a group of this set, because it names another set.
    pub(crate) fn first_superblock(self, device_bytes: u64, set: Uuid, host: Uuid) -> Superblock {
        let [table_at, _] = self.tables_at();
        Superblock {
            set,
            host,
            seq: 1,
            device_bytes,
            page_bytes: self.page_bytes,
            chunk_bytes: self.chunk_bytes,
            first_chunk: self.first_chunk,
            chunks: self.chunks,
            page_chunks: self.page_chunks,
            state: SetState::Clean,
            opens: 0,
            table_at,
            table_seq: 1,
            pool_chunk: self.page_chunks,
            pool_seq: 1,
            pool_durable: 0,
            has_tags: true,
            has_numbers: true,
            // The first opening records where the set lies.
            place: Identity::default(),
            disks: vec![None; DISKS],
        }
    }

    /// Divides a device as planned.
    ///
    /// # Errors
    /// [`GeometryError`], with the requested value and the allowed range.
    pub fn new(plan: Plan) -> Result<Self, GeometryError> {
        let Plan { device_bytes, page_bytes, chunk_bytes, log_percent } = plan;
        if !page_bytes.is_power_of_two() || !(4096..=65536).contains(&page_bytes) {
            return Err(GeometryError::Page(page_bytes));
        }
        if !(CHUNK_MIN..=1 << 30).contains(&chunk_bytes) || chunk_bytes % page_bytes != 0 {
            return Err(GeometryError::Chunk(chunk_bytes));
        }
        if !(1..=90).contains(&log_percent) {
            return Err(GeometryError::LogPercent(log_percent));
        }
        let mut geometry =
            Self { page_bytes, chunk_bytes, first_chunk: 0, chunks: 0, page_chunks: 0 };
        // The table's size depends on the number of pages, and that number on where the table ends.
        // So the largest number of chunks that fits is searched.
        let most = u32::try_from(device_bytes / u64::from(chunk_bytes)).unwrap_or(u32::MAX);
        for chunks in (0..=most).rev() {
            let logs = u64::from(chunks) * u64::from(log_percent) / 100;
            let logs = u32::try_from(logs).unwrap_or(u32::MAX).max(LOG_CHUNKS_MIN);
            geometry.chunks = chunks;
            geometry.page_chunks = chunks.saturating_sub(logs);
            let tables = SUPERBLOCK_AT[1] + (1 << 20) + 2 * geometry.table_bytes();
            geometry.first_chunk = tables.next_multiple_of(1 << 20);
            let end = geometry.first_chunk + u64::from(chunks) * u64::from(chunk_bytes);
            if geometry.page_chunks == 0 {
                let needed =
                    end.max((3 << 20) + u64::from(LOG_CHUNKS_MIN + 1) * u64::from(chunk_bytes));
                return Err(GeometryError::Small { bytes: device_bytes, needed });
            }
            if end <= device_bytes && geometry.slots() <= 1 << 28 {
                break;
            }
        }
        Ok(geometry)
    }

    /// Returns the layout of an existing set.
    pub fn of(superblock: &Superblock) -> Self {
        Self {
            page_bytes: superblock.page_bytes,
            chunk_bytes: superblock.chunk_bytes,
            first_chunk: superblock.first_chunk,
            chunks: superblock.chunks,
            page_chunks: superblock.page_chunks,
        }
    }

    /// Returns the number of pages that fit.
    pub fn slots(&self) -> u32 {
        self.page_chunks * (self.chunk_bytes / self.page_bytes)
    }

    /// Returns the number of blocks of a page.
    pub fn page_blocks(&self) -> u64 {
        u64::from(self.page_bytes) / BLOCK
    }

    /// Returns the address of a slot.
    pub fn slot_at(&self, slot: u32) -> u64 {
        self.first_chunk + u64::from(slot) * u64::from(self.page_bytes)
    }

    /// Returns the address of a chunk.
    pub fn chunk_at(&self, chunk: u32) -> u64 {
        self.first_chunk + u64::from(chunk) * u64::from(self.chunk_bytes)
    }

    /// Returns the chunk that holds this address.
    pub fn chunk_of(&self, at: u64) -> u32 {
        u32::try_from((at - self.first_chunk) / u64::from(self.chunk_bytes)).unwrap_or(u32::MAX)
    }

    /// Returns the number of blocks of a table.
    pub fn table_blocks(&self) -> u64 {
        u64::from(self.slots()).div_ceil(TABLE_ENTRIES as u64)
    }

    /// Returns the size of a table, in bytes.
    pub fn table_bytes(&self) -> u64 {
        self.table_blocks() * BLOCK
    }

    /// Returns the addresses of the two tables.
    pub fn tables_at(&self) -> [u64; 2] {
        let first = SUPERBLOCK_AT[1] + (1 << 20);
        [first, first + self.table_bytes()]
    }

    /// Returns the maximum number of disks with a log: each needs two chunks, the pool's log needs
    /// two, and one chunk is always in transit.
    pub fn disks_max(&self) -> usize {
        ((self.chunks - self.page_chunks).saturating_sub(3) as usize / 2).min(DISKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_and_nothing_overlaps_for_any_size() {
        for mib in [8_u64, 9, 33, 100, 1000, 10_240, 200 << 10] {
            let plan = Plan { chunk_bytes: 256 << 10, ..Plan::new(mib << 20) };
            let geometry = Geometry::new(plan).expect("large enough");
            assert!(geometry.tables_at()[1] + geometry.table_bytes() <= geometry.first_chunk);
            assert!(geometry.chunk_at(geometry.chunks) <= plan.device_bytes);
            assert!(geometry.slot_at(geometry.slots()) <= geometry.chunk_at(geometry.page_chunks));
            let used = geometry.chunk_at(geometry.chunks);
            assert!(
                plan.device_bytes - used <= (2 << 20) + 2 * BLOCK * 8,
                "{mib} MiB: {used} used"
            );
        }
    }

    #[test]
    fn chunks_fit_the_disks_and_leave_the_pages_their_part() {
        for (mib, disks) in [(22_u64, 1), (64, 1), (1000, 8), (10_240, 63), (200 << 10, 63)] {
            let plan = Plan::new(mib << 20);
            let geometry = plan.fitted(disks).expect("large enough");
            assert!(geometry.disks_max() >= disks, "{mib} MiB: {geometry:?}");
            let pages = geometry.chunk_at(geometry.page_chunks) - geometry.first_chunk;
            assert!(pages * 10 >= (plan.device_bytes - (5 << 20)) * 8, "{mib} MiB: {geometry:?}");
        }
        let large = Plan::new(200 << 30).fitted(63).expect("large enough");
        assert_eq!(large.chunk_bytes, 16 << 20);
        let refused = Plan::new(21 << 20).fitted(60).expect_err("too many");
        assert!(matches!(refused, GeometryError::Disks { disks: 60, most: 1..60 }), "{refused}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_may() {
        let said = |plan| Geometry::new(plan).expect_err("refused").to_string();
        let plan = Plan::new(1 << 30);
        assert!(said(Plan { page_bytes: 12_288, ..plan }).contains("12288 B"));
        assert!(said(Plan { chunk_bytes: 100_000, ..plan }).contains("100000 B"));
        assert!(said(Plan { log_percent: 0, ..plan }).contains("0 %"));
        assert!(said(Plan { device_bytes: 50 << 20, ..plan }).contains("too small"));
    }
}
