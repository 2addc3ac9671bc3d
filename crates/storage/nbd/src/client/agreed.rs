use crate::{Abilities, BlockSizes};

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The export's name.
    pub export: String,
    /// Nothing is said of it before TLS is there.
    pub tls: bool,
    /// Replies to reads in chunks, where the server has them.
    pub structured: bool,
}

/// What the two agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The export's name.
    pub export: String,
    /// Bytes.
    pub size: u64,
    /// What it can do.
    pub abilities: Abilities,
    /// Sizes of requests.
    pub blocks: BlockSizes,
    /// Whether replies to reads come in chunks.
    pub is_structured: bool,
}
