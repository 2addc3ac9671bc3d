use super::block::{BLOCK_BYTES, Reader, Writer};

/// Maximum number of 4 KiB blocks of a page; smaller pages use only the first of them.
pub const PAGE_BLOCKS: usize = 16;
/// Number of slots that one block of the table describes.
pub const TABLE_ENTRIES: usize = 42;

const ENTRY_BYTES: usize = 96;
const FREE: u64 = u64::MAX;

/// Content of a slot of the cache device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotEntry {
    /// Number of the page on its disk.
    pub page: u64,
    /// Index of the disk.
    pub disk: u16,
    /// Valid blocks of the page, one bit each, starting with the first block.
    pub valid: u16,
    /// Position in the order of last use, oldest first.
    pub age: u32,
    /// Attachment of the disk ([`super::DiskEntry::tag`]).
    pub tag: u32,
    /// Last group of the disk's log whose writes the page includes.
    pub log_seq: u64,
    /// Checksums of the page's blocks.
    pub sums: Box<[u32; PAGE_BLOCKS]>,
}

/// Returns the number of a table: the `count`th that an opening writes, counted from 0 and modulo
/// 2^20.
///
/// If a program stops, it may leave a table that no superblock names, at the address where the next
/// opening writes its first table. The number contains the opening, so an old block that reappears
/// there is distinguished from a new one.
pub fn table_number(opening: u64, count: u64) -> u64 {
    opening << 20 | count & 0xf_ffff
}

/// Encodes block `index` of a table: up to [`TABLE_ENTRIES`] slots, `None` for an empty slot.
///
/// # Panics
/// If there are more slots than that.
pub fn encode_table(seq: u64, index: u64, slots: &[Option<SlotEntry>]) -> Box<[u8; BLOCK_BYTES]> {
    assert!(slots.len() <= TABLE_ENTRIES, "{} slots do not fit into a block", slots.len());
    let mut block = Writer::new();
    for place in 0..TABLE_ENTRIES {
        let at = place * ENTRY_BYTES;
        let Some(slot) = slots.get(place).and_then(Option::as_ref) else {
            block.u64(at, FREE);
            continue;
        };
        block.u64(at, slot.page).u32(at + 8, slot.disk.into()).u16(at + 12, slot.valid);
        block.u32(at + 16, slot.age).u32(at + 20, slot.tag).u64(at + 24, slot.log_seq);
        for (index, sum) in slot.sums.iter().enumerate() {
            block.u32(at + 32 + 4 * index, *sum);
        }
    }
    block.u64(4032, seq).u64(4040, index);
    block.seal().0
}

/// Decodes block `index` of table `seq`. `None` if the block belongs to another table or index, or
/// is damaged.
pub fn decode_table(seq: u64, index: u64, bytes: &[u8]) -> Option<Vec<Option<SlotEntry>>> {
    let block = Reader::open(bytes)?;
    if (block.u64(4032), block.u64(4040)) != (seq, index) {
        return None;
    }
    Some((0..TABLE_ENTRIES).map(|place| decode_slot(block, place * ENTRY_BYTES)).collect())
}

fn decode_slot(block: Reader<'_>, at: usize) -> Option<SlotEntry> {
    let page = block.u64(at);
    if page == FREE {
        return None;
    }
    let mut sums = Box::new([0; PAGE_BLOCKS]);
    for (index, sum) in sums.iter_mut().enumerate() {
        *sum = block.u32(at + 32 + 4 * index);
    }
    Some(SlotEntry {
        page,
        disk: u16::try_from(block.u32(at + 8)).ok()?,
        valid: block.u16(at + 12),
        age: block.u32(at + 16),
        tag: block.u32(at + 20),
        log_seq: block.u64(at + 24),
        sums,
    })
}
