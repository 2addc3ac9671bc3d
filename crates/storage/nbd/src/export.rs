use std::borrow::Cow;

use crate::Abilities;
use crate::limits::STRING_MAX;

/// Block sizes of an export, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSizes {
    minimum: u32,
    preferred: u32,
    maximum: u32,
}

/// Maximum request size in bytes if none was negotiated.
const MAXIMUM: u32 = 32 << 20;

impl BlockSizes {
    /// Block sizes if none were negotiated (the specification, "Block size constraints").
    pub const DEFAULT: Self = Self { minimum: 1, preferred: 4096, maximum: MAXIMUM };

    /// Creates block sizes and checks the bounds of the specification.
    ///
    /// # Errors
    /// If a size is out of bounds.
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

    /// Returns the minimum block size: offsets and lengths are multiples of it.
    #[must_use]
    pub fn minimum(self) -> u32 {
        self.minimum
    }

    /// Returns the preferred size of requests.
    #[must_use]
    pub fn preferred(self) -> u32 {
        self.preferred
    }

    /// Returns the maximum length of a read or write.
    #[must_use]
    pub fn maximum(self) -> u32 {
        self.maximum
    }

    /// Returns true if offset and length are multiples of the minimum block size.
    #[must_use]
    pub fn fit(self, offset: u64, length: u32) -> bool {
        offset.is_multiple_of(u64::from(self.minimum)) && length.is_multiple_of(self.minimum)
    }
}

/// Disk that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    name: String,
    description: String,
    size: u64,
    blocks: BlockSizes,
    abilities: Abilities,
}

/// Reason why a disk cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The name or the description is too long or contains a NUL.
    #[error(
        "{what} of an export has {length} B{nul}; at most {STRING_MAX} B without NUL are allowed"
    )]
    Text {
        /// `the name` or `the description`.
        what: &'static str,
        /// Length of the text in bytes.
        length: usize,
        /// ` with a NUL` if the text has one, else empty.
        nul: &'static str,
    },
    /// The size is not a multiple of the minimum block size, or too large.
    #[error(
        "export {name:?} has {size} B, which is not a multiple of its block of {block} B, or over 2^63"
    )]
    Size {
        /// Name of the export.
        name: String,
        /// Size of the export in bytes.
        size: u64,
        /// Minimum block size in bytes.
        block: u32,
        /// Largest valid size below `size`, in bytes.
        cut: u64,
    },
    /// A block size is out of the specification's bounds.
    #[error("{what} block size is {seen} B; allowed is {allowed}")]
    Block {
        /// `minimum`, `preferred` or `maximum`.
        what: &'static str,
        /// Rejected block size in bytes.
        seen: u32,
        /// Allowed values, in words.
        allowed: &'static str,
    },
}

impl ExportError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Text { .. } => Some("give it a shorter name".into()),
            Self::Size { cut, .. } => Some(format!("cut it to {cut} B").into()),
            Self::Block { .. } => None,
        }
    }
}

impl Export {
    /// Creates an export of `size` bytes.
    ///
    /// # Errors
    /// If the protocol cannot express the name or size.
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

    /// Sets a description for clients that list exports.
    ///
    /// # Errors
    /// If the description is too long or contains a NUL.
    pub fn described(mut self, description: &str) -> Result<Self, ExportError> {
        check_text("the description", description)?;
        description.clone_into(&mut self.description);
        Ok(self)
    }

    /// Returns the name by which clients request the export.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description for people who list exports.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the block sizes of requests.
    #[must_use]
    pub fn blocks(&self) -> BlockSizes {
        self.blocks
    }

    /// Returns the features and properties of the export.
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
