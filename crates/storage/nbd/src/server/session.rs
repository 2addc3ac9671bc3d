use crate::{Abilities, BlockSizes, Export};

/// What was agreed on: the disk, and how replies look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub(super) export: Export,
    pub(super) is_structured: bool,
    /// Whether the client asked for block sizes, and so has to keep to them.
    pub(super) knows_blocks: bool,
}

/// Longest request that a disk is not divided for. Our choice: 512 parts at most are made of the longest request.
const DIVIDED_MIN: u32 = 64 << 10;

impl Session {
    /// The disk's name.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Whether replies to reads come in chunks.
    #[must_use]
    pub fn is_structured(&self) -> bool {
        self.is_structured
    }

    /// Longest read or write, in bytes. It may be longer than the export takes at once: then the driver divides it.
    ///
    /// A client that did not ask for block sizes may send what holds without them (the specification, "Block size
    /// constraints"), as the kernel's does: up to 32 MiB.
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
