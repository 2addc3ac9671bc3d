use crate::{Abilities, BlockSizes, Export};

/// Result of the negotiation: export and form of replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub(super) export: Export,
    pub(super) is_structured: bool,
    /// True if the client requested block sizes, and so must obey them.
    pub(super) knows_blocks: bool,
}

/// Minimum of an export's maximum request size, in bytes, at which longer requests are divided. Our
/// choice: at most 512 parts of a request of 32 MiB.
const DIVIDED_MIN: u32 = 64 << 10;

impl Session {
    /// Returns the export that the client chose.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Returns true if reads are answered in chunks (structured replies).
    #[must_use]
    pub fn is_structured(&self) -> bool {
        self.is_structured
    }

    /// Returns the maximum size of a read or write that the client may send, in bytes. The driver
    /// divides a request that is longer than the export's maximum.
    ///
    /// A client that did not request block sizes may use the defaults (the specification, "Block
    /// size constraints"), up to 32 MiB. The kernel's client does so.
    #[must_use]
    pub fn longest(&self) -> u32 {
        let most = self.blocks().maximum();
        if self.knows_blocks || most < DIVIDED_MIN {
            most
        } else {
            most.max(BlockSizes::DEFAULT.maximum())
        }
    }

    pub(super) fn can(&self, ability: Abilities) -> bool {
        self.export.abilities().has(ability)
    }

    pub(super) fn blocks(&self) -> BlockSizes {
        self.export.blocks()
    }
}
