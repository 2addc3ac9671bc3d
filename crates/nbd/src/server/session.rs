use crate::{Abilities, BlockSizes, Export};

/// What was agreed on: the disk, and how replies look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub(super) export: Export,
    pub(super) is_structured: bool,
}

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

    pub(super) fn can(&self, ability: Abilities) -> bool {
        self.export.abilities().has(ability)
    }

    pub(super) fn blocks(&self) -> BlockSizes {
        self.export.blocks()
    }
}
