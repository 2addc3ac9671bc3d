//! Label in the first 4 KiB of a block device of Tilemark. `docs/formats/block-label.md` describes
//! it byte by byte; the constants here and that description change together.

use units::Bytes;

/// Size of the label in bytes.
pub(crate) const LABEL_LENGTH: usize = 4096;
/// Bytes at each end of a device that hold no disk. Signatures of other software lie there. So the
/// ends stay empty except for the label, also after our use.
pub(crate) const RESERVED: u64 = 8 << 20;

/// Magic number. The last four bytes reveal a transfer that changed line ends, as in PNG's
/// signature.
const MAGIC: [u8; 16] = *b"TILEMARK\0LABEL\r\n";
const VERSION: u32 = 1;
const RUN_ID: std::ops::Range<usize> = 64..192;
const CRC_AT: usize = LABEL_LENGTH - 4;

/// Label of the run that used a block device last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// Size of the device when the label was written. On a device of another size the label is not
    /// valid.
    pub device_size: Bytes,
    /// Time of creation, in seconds since 1970-01-01 UTC.
    pub created: u64,
    pub run_id: String,
}

impl Label {
    /// Creates a label with the present time.
    pub fn new(device_size: Bytes, run_id: &str) -> Self {
        let created = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
        Self { device_size, created, run_id: run_id.to_owned() }
    }

    /// Encodes the label as the bytes on the device.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; LABEL_LENGTH];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &MAGIC);
        put(16, &VERSION.to_le_bytes());
        put(20, &4096_u32.to_le_bytes());
        put(24, &self.device_size.get().to_le_bytes());
        put(32, &self.created.to_le_bytes());
        put(40, &RESERVED.to_le_bytes());
        put(48, &data_end(self.device_size).to_le_bytes());
        let length = u16::try_from(self.run_id.len()).expect("a run id has at most 100 bytes");
        put(56, &length.to_le_bytes());
        put(RUN_ID.start, self.run_id.as_bytes());
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Decodes a label from the first bytes of a device of `device_size`. Every byte must equal the
    /// output of [`Label::encode`]; otherwise the label is not Tilemark's.
    pub fn decode(first: &[u8], device_size: Bytes) -> Option<Self> {
        let bytes = first.get(..LABEL_LENGTH)?;
        let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let length = usize::from(u16::from_le_bytes(bytes.get(56..58)?.try_into().ok()?));
        let run_id = bytes.get(RUN_ID)?.get(..length)?;
        let label = Self {
            device_size: Bytes::new(u64_at(24)?),
            created: u64_at(32)?,
            run_id: String::from_utf8(run_id.to_vec()).ok()?,
        };
        let valid = crate::options::run_id_is_valid(&label.run_id)
            && label.device_size == device_size
            && label.encode() == bytes;
        valid.then_some(label)
    }
}

/// Returns the offset after the last byte of the data area.
pub(crate) fn data_end(device_size: Bytes) -> u64 {
    device_size.get().saturating_sub(RESERVED).max(RESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Bytes = Bytes::new(1 << 30);

    fn label() -> Label {
        Label { device_size: SIZE, created: 1_800_000_000, run_id: "run-1".to_owned() }
    }

    #[test]
    fn the_bytes_are_those_of_the_format_document() {
        let bytes = label().encode();
        assert_eq!(&bytes[..16], b"TILEMARK\0LABEL\r\n");
        assert_eq!(bytes[16..24], [1, 0, 0, 0, 0, 16, 0, 0]);
        assert_eq!(bytes[24..32], (1_u64 << 30).to_le_bytes());
        assert_eq!(bytes[32..40], 1_800_000_000_u64.to_le_bytes());
        assert_eq!(bytes[40..48], (8_u64 << 20).to_le_bytes());
        assert_eq!(bytes[48..56], ((1_u64 << 30) - (8 << 20)).to_le_bytes());
        assert_eq!(bytes[56..64], [5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(&bytes[64..70], b"run-1\0");
        assert_eq!(bytes[4092..], crc32fast::hash(&bytes[..4092]).to_le_bytes());
    }

    #[test]
    fn a_label_copied_to_a_device_of_another_size_is_not_valid() {
        assert_eq!(Label::decode(&label().encode(), SIZE), Some(label()));
        assert_eq!(Label::decode(&label().encode(), Bytes::new(1 << 31)), None);
        assert_eq!(Label::decode(&[0; 4096], SIZE), None);
        assert_eq!(Label::decode(&[], SIZE), None);
    }

    proptest! {
        #[test]
        fn one_changed_bit_anywhere_makes_it_invalid(at in 0_usize..4096, bit in 0_u32..8) {
            let mut bytes = label().encode();
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(Label::decode(&bytes, SIZE), None);
        }

        #[test]
        fn every_label_round_trips(size: u64, created: u64, run_id in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}") {
            let label = Label { device_size: Bytes::new(size), created, run_id };
            prop_assert_eq!(Label::decode(&label.encode(), Bytes::new(size)), Some(label));
        }
    }
}
