use crate::{Abilities, BlockSizes};

/// Requirements of a client for the negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientDemands {
    /// Name of the requested export.
    pub export: String,
    /// True if the client requires TLS before it sends the name of the export.
    pub tls: bool,
    /// True if the client asks for structured replies. A server without them is accepted.
    pub structured: bool,
}

/// Result of the negotiation with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// Name of the export.
    pub export: String,
    /// Size of the export in bytes.
    pub size: u64,
    /// Features and properties of the export.
    pub abilities: Abilities,
    /// Block sizes of the export.
    pub blocks: BlockSizes,
    /// True if the server answers reads in chunks (structured replies).
    pub is_structured: bool,
}
