use crc_fast::{CrcAlgorithm, checksum};

/// Size of a block in bytes, as a type for addresses.
pub const BLOCK: u64 = 4096;
/// Size of a block in bytes, as a type for lengths.
pub const BLOCK_BYTES: usize = 4096;

/// Offset of a block's checksum, which covers all bytes before it.
const SUM_AT: usize = 4088;

/// Sixteen bytes that identify a set, a host or a disk.
pub type Uuid = [u8; 16];

/// Returns the checksum of data within one block: CRC-32C (RFC 3720, B.4).
pub fn block_sum(data: &[u8]) -> u32 {
    u32::try_from(checksum(CrcAlgorithm::Crc32Iscsi, data)).unwrap_or(u32::MAX)
}

/// Returns the checksum of a payload: CRC-64/NVME (NVM Express NVM command set 1.0, 5.2.1.3.4).
pub fn payload_sum(data: &[u8]) -> u64 {
    checksum(CrcAlgorithm::Crc64Nvme, data)
}

/// Writer of a block, field by field.
pub(super) struct Writer {
    pub(super) bytes: Box<[u8; BLOCK_BYTES]>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { bytes: Box::new([0; BLOCK_BYTES]) }
    }

    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(super) fn u16(&mut self, at: usize, value: u16) -> &mut Self {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, at: usize, value: u32) -> &mut Self {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, at: usize, value: u64) -> &mut Self {
        self.put(at, &value.to_le_bytes())
    }

    /// Finishes the block. Returns the block and its checksum.
    pub(super) fn seal(mut self) -> (Box<[u8; BLOCK_BYTES]>, u64) {
        let sum = payload_sum(&self.bytes[..SUM_AT]);
        self.u64(SUM_AT, sum);
        (self.bytes, sum)
    }
}

/// Reader of a block with a valid checksum.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) sum: u64,
}

impl<'a> Reader<'a> {
    /// Checks a block and creates its reader. `None` if the checksum is wrong or bytes are missing.
    pub(super) fn open(bytes: &'a [u8]) -> Option<Self> {
        let bytes = bytes.get(..BLOCK_BYTES)?;
        let sum = payload_sum(&bytes[..SUM_AT]);
        let reader = Self { bytes, sum };
        (reader.u64(SUM_AT) == sum).then_some(reader)
    }

    pub(super) fn array<const N: usize>(self, at: usize) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[at..at + N]);
        array
    }

    pub(super) fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    pub(super) fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_published_check_values() {
        // "123456789" in the catalogue of parametrised CRC algorithms (G. Cook).
        assert_eq!(block_sum(b"123456789"), 0xe306_9283);
        assert_eq!(payload_sum(b"123456789"), 0xae8b_1486_0a79_9888);
    }

    #[test]
    fn a_block_with_any_byte_changed_is_not_opened() {
        let mut writer = Writer::new();
        writer.u64(16, 7);
        let (mut bytes, sum) = writer.seal();
        assert_eq!(Reader::open(&bytes[..]).map(|r| (r.u64(16), r.sum)), Some((7, sum)));
        for at in [0, 16, 4087, 4095] {
            bytes[at] ^= 1;
            assert!(Reader::open(&bytes[..]).is_none(), "byte {at}");
            bytes[at] ^= 1;
        }
        assert!(Reader::open(&bytes[..4095]).is_none());
    }
}
