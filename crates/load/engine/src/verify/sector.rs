//! Header in the first 40 bytes of every written sector (drawn in `docs/formats/verification.md`).

/// Size of a sector in bytes. Each sector has one header.
pub const SECTOR: usize = 512;

/// Bytes of the header at the start of the sector.
pub const HEADER: usize = 40;

const MAGIC: [u8; 4] = *b"TMvs";

/// Identity shared by all sectors of one disk in one verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// CRC-32 of the disk's name.
    pub disk: u32,
    /// Hash of the verification's seed, which distinguishes its blocks from the blocks of an
    /// earlier run.
    pub generation: u32,
}

impl Identity {
    /// Returns the identity of a disk in the verification with this seed.
    pub fn new(name: &str, seed: u64) -> Self {
        Self { disk: crc32fast::hash(name.as_bytes()), generation: fold(state_machine::mix(seed)) }
    }
}

fn fold(bits: u64) -> u32 {
    let [a, b, c, d, e, f, g, h] = bits.to_le_bytes();
    u32::from_le_bytes([a ^ e, b ^ f, c ^ g, d ^ h])
}

/// Header of one sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Disk and verification to which the sector belongs.
    pub identity: Identity,
    /// Number of the sector: units of 512 B from the start of the disk.
    pub sector: u64,
    /// Version of the sector's write, counted from 1 per disk.
    pub version: u64,
    /// Time at which that write was submitted: nanoseconds since 1970-01-01T00:00:00Z.
    pub written_unix_ns: u64,
}

impl Header {
    /// Writes the header into the first 40 bytes of a sector and seals all 512 bytes with a CRC.
    #[inline]
    pub fn seal(&self, sector: &mut [u8]) {
        sector[0..4].copy_from_slice(&MAGIC);
        sector[8..16].copy_from_slice(&self.sector.to_le_bytes());
        sector[16..24].copy_from_slice(&self.version.to_le_bytes());
        sector[24..32].copy_from_slice(&self.written_unix_ns.to_le_bytes());
        sector[32..36].copy_from_slice(&self.identity.disk.to_le_bytes());
        sector[36..40].copy_from_slice(&self.identity.generation.to_le_bytes());
        let sum = checksum(sector);
        sector[4..8].copy_from_slice(&sum.to_le_bytes());
    }

    fn parse(sector: &[u8]) -> Self {
        Self {
            sector: u64_at(sector, 8),
            version: u64_at(sector, 16),
            written_unix_ns: u64_at(sector, 24),
            identity: Identity { disk: u32_at(sector, 32), generation: u32_at(sector, 36) },
        }
    }
}

/// Result of reading a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Sealed sector, intact.
    Sealed(Header),
    /// Sector that was sealed but changed afterwards. The header is as found, and any of its fields
    /// may be damaged.
    Damaged(Header),
    /// Zeros only.
    Zero,
    /// Bytes that are not sealed.
    Foreign,
}

/// Classifies the content of one sector. `expected` helps to distinguish damage from earlier
/// content.
#[inline]
pub fn look(sector: &[u8], expected: Identity) -> Content {
    if sector[0..4] == MAGIC && u32_at(sector, 4) == checksum(sector) {
        return Content::Sealed(Header::parse(sector));
    }
    look_closer(sector, expected)
}

#[cold]
fn look_closer(sector: &[u8], expected: Identity) -> Content {
    let found = Header::parse(sector);
    if sector.iter().all(|byte| *byte == 0) {
        Content::Zero
    } else if sector[0..4] == MAGIC || found.identity == expected {
        Content::Damaged(found)
    } else {
        Content::Foreign
    }
}

fn checksum(sector: &[u8]) -> u32 {
    crc32fast::hash(&sector[8..SECTOR])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sealed(header: Header) -> Vec<u8> {
        let mut sector = vec![0x5A; SECTOR];
        header.seal(&mut sector);
        sector
    }

    fn header(sector: u64, version: u64) -> Header {
        let identity = Identity::new("tile-1/shop/db/data", 7);
        Header { identity, sector, version, written_unix_ns: 1_700_000_000_000_000_000 }
    }

    proptest! {
        #[test]
        fn a_sealed_sector_reads_back(sector: u64, version: u64) {
            let header = header(sector, version);
            prop_assert_eq!(look(&sealed(header), header.identity), Content::Sealed(header));
        }

        #[test]
        fn any_single_flipped_bit_is_damage(bit in 0_usize..SECTOR * 8) {
            let header = header(9, 3);
            let mut bytes = sealed(header);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(matches!(look(&bytes, header.identity), Content::Damaged(_)));
        }
    }

    #[test]
    fn zeros_and_strangers_are_not_damage() {
        let identity = header(0, 1).identity;
        assert_eq!(look(&[0; SECTOR], identity), Content::Zero);
        assert_eq!(look(&[7; SECTOR], identity), Content::Foreign);
    }
}
