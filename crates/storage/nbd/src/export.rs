use crate::Abilities;
use crate::limits::STRING_MAX;

/// Sizes that requests must or should have, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSizes {
    minimum: u32,
    preferred: u32,
    maximum: u32,
}

/// Most bytes of one request where nothing else is agreed on.
const MAXIMUM: u32 = 32 << 20;

impl BlockSizes {
    /// What holds where nobody says anything (the specification, "Block size constraints").
    pub const DEFAULT: Self = Self { minimum: 1, preferred: 4096, maximum: MAXIMUM };

    /// Sizes as the specification allows them.
    ///
    /// # Errors
    /// When it does not.
    pub fn new(minimum: u32, preferred: u32, maximum: u32) -> Result<Self, ExportError> {
        let wrong = |what, seen: u32, allowed| Err(ExportError::Block { what, seen, allowed });
        if !minimum.is_power_of_two() || minimum > 1 << 16 {
            return wrong("minimum", minimum, "a power of two up to 65536");
        }
        if !preferred.is_power_of_two() || preferred < minimum.max(512) {
            return wrong("preferred", preferred, "a power of two from 512 and the minimum up");
        }
        if maximum != u32::MAX && (maximum == 0 || !maximum.is_multiple_of(minimum)) {
            return wrong("maximum", maximum, "a multiple of the minimum, or 4294967295");
        }
        Ok(Self { minimum, preferred, maximum })
    }

    /// Offsets and lengths are multiples of it.
    #[must_use]
    pub fn minimum(self) -> u32 {
        self.minimum
    }

    /// Multiples of it are served best.
    #[must_use]
    pub fn preferred(self) -> u32 {
        self.preferred
    }

    /// No read or write is longer.
    #[must_use]
    pub fn maximum(self) -> u32 {
        self.maximum
    }

    /// Whether a range begins and ends on a block.
    #[must_use]
    pub fn fit(self, offset: u64, length: u32) -> bool {
        offset.is_multiple_of(u64::from(self.minimum)) && length.is_multiple_of(self.minimum)
    }
}

/// A disk as a server offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    name: String,
    description: String,
    size: u64,
    blocks: BlockSizes,
    abilities: Abilities,
}

/// Why a disk cannot be offered so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Its name or description.
    #[error(
        "{what} of an export has {length} B{nul}; at most {STRING_MAX} B without NUL are allowed\n\
         hint: give it a shorter one"
    )]
    Text {
        /// Which of them.
        what: &'static str,
        /// Its length in bytes.
        length: usize,
        /// Said when there is a NUL in it.
        nul: &'static str,
    },
    /// Its size.
    #[error(
        "export {name:?} has {size} B, which is not a multiple of its block of {block} B, or over 2^63\n\
         hint: cut it to {cut} B"
    )]
    Size {
        /// Which export.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// The minimum block in bytes.
        block: u32,
        /// A size that would do.
        cut: u64,
    },
    /// Its block sizes.
    #[error("{what} block size is {seen} B; allowed is {allowed}")]
    Block {
        /// Which of them.
        what: &'static str,
        /// Its value.
        seen: u32,
        /// What it may be.
        allowed: &'static str,
    },
}

impl Export {
    /// A disk of so many bytes.
    ///
    /// # Errors
    /// When name or size cannot be said in the protocol.
    pub fn new(
        name: &str,
        size: u64,
        blocks: BlockSizes,
        abilities: Abilities,
    ) -> Result<Self, ExportError> {
        check_text("the name", name)?;
        let block = blocks.minimum;
        let most = i64::MAX.unsigned_abs();
        if size > most || !size.is_multiple_of(u64::from(block)) {
            let cut = size.min(most) / u64::from(block) * u64::from(block);
            return Err(ExportError::Size { name: name.to_owned(), size, block, cut });
        }
        Ok(Self { name: name.to_owned(), description: String::new(), size, blocks, abilities })
    }

    /// The same with words for people who list exports.
    ///
    /// # Errors
    /// When they are too long.
    pub fn described(mut self, description: &str) -> Result<Self, ExportError> {
        check_text("the description", description)?;
        description.clone_into(&mut self.description);
        Ok(self)
    }

    /// What clients ask for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Words for people.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Sizes of requests.
    #[must_use]
    pub fn blocks(&self) -> BlockSizes {
        self.blocks
    }

    /// What it can do.
    #[must_use]
    pub fn abilities(&self) -> Abilities {
        self.abilities
    }
}

fn check_text(what: &'static str, text: &str) -> Result<(), ExportError> {
    let has_nul = text.contains('\0');
    if text.len() <= STRING_MAX && !has_nul {
        return Ok(());
    }
    Err(ExportError::Text {
        what,
        length: text.len(),
        nul: if has_nul { " with a NUL" } else { "" },
    })
}
