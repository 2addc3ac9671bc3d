use super::block::{Reader, Writer};

/// Size of an identity in a block, in bytes: its length and a flag, then its name.
pub(super) const IDENTITY_BYTES: usize = 256;
/// Maximum length of a name that is stored, in bytes.
pub const IDENTITY_NAME_MAX: usize = IDENTITY_BYTES - 2;

/// Flag in the length field of an identity that is lasting.
const LASTING: u16 = 1 << 15;

/// Identity of the storage on which a file or device lies, such as `wwid:naa.5000c500a1b2c3d4`.
///
/// Kernel names like `/dev/sdb` may change at a reboot; an identity does not. The name is empty if
/// none is known, as in formats before version 2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Text that identifies the storage and that people can read, up to [`IDENTITY_NAME_MAX`]
    /// bytes.
    pub name: String,
    /// True if the storage keeps this name after a reboot of the host.
    pub is_lasting: bool,
}

/// Result of comparing the stored identity with the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// Both names belong to the same storage.
    Same,
    /// The names belong to different storage.
    Other,
    /// Undecided: one of the two names is unknown or not lasting.
    Unknown,
}

impl Identity {
    /// Compares this stored identity with the identity that is found now.
    pub fn compare(&self, found: &Self) -> Match {
        match () {
            () if self.name.is_empty() || found.name.is_empty() => Match::Unknown,
            () if self.name == found.name => Match::Same,
            () if self.is_lasting && found.is_lasting => Match::Other,
            () => Match::Unknown,
        }
    }

    pub(super) fn encode(&self, block: &mut Writer, at: usize) {
        // A longer name is cut at a character, so that it stays text.
        let end = (0..=self.name.len().min(IDENTITY_NAME_MAX))
            .rev()
            .find(|end| self.name.is_char_boundary(*end))
            .unwrap_or(0);
        let length = u16::try_from(end).unwrap_or(0);
        block.u16(at, if self.is_lasting { length | LASTING } else { length });
        block.put(at + 2, &self.name.as_bytes()[..end]);
    }

    pub(super) fn decode(block: Reader<'_>, at: usize) -> Self {
        let length = block.u16(at);
        let bytes: [u8; IDENTITY_NAME_MAX] = block.array(at + 2);
        let name = bytes.get(..usize::from(length & !LASTING)).unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        Self { name, is_lasting: length & LASTING != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, is_lasting: bool) -> Identity {
        Identity { name: name.to_owned(), is_lasting }
    }

    #[test]
    fn names_decide_and_only_lasting_ones_tell_two_apart() {
        let wwid = identity("wwid:naa.1", true);
        assert_eq!(wwid.compare(&wwid), Match::Same);
        assert_eq!(wwid.compare(&identity("wwid:naa.2", true)), Match::Other);
        assert_eq!(wwid.compare(&identity("boot:1:diskseq:2", false)), Match::Unknown);
        assert_eq!(Identity::default().compare(&wwid), Match::Unknown);
    }

    #[test]
    fn long_name_is_cut_at_a_character() {
        let mut block = Writer::new();
        identity(&"é".repeat(200), true).encode(&mut block, 64);
        let (bytes, _) = block.seal();
        let read = Identity::decode(Reader::open(&bytes[..]).expect("sealed"), 64);
        assert_eq!(read, identity(&"é".repeat(127), true));
    }
}
