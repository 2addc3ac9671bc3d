use crate::{Abilities, BlockSizes};

/// Demands of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientDemands {
    /// Name of the export.
    pub export: String,
    /// True if the client demands TLS before it names the export.
    pub tls: bool,
    /// True if the client asks for structured replies; a server without them is accepted.
    pub structured: bool,
}

/// Result of the negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// Name of the export.
    pub export: String,
    /// Size in bytes.
    pub size: u64,
    /// Abilities and properties.
    pub abilities: Abilities,
    /// Block sizes.
    pub blocks: BlockSizes,
    /// True if the server answers reads in chunks.
    pub is_structured: bool,
}
