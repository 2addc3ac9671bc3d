use crate::Violation;

/// Reason why the negotiation with a server failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server violated the protocol.
    #[error("the NBD server broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// The server supports only an obsolete handshake.
    #[error("the NBD server speaks the {0}, which has no {1}")]
    TooOld(&'static str, &'static str),
    /// The server refused an option.
    #[error("the NBD server refuses {what} of export {export:?}: {reason}{message}")]
    Refused {
        /// Refused option or request, in words.
        what: &'static str,
        /// Name of the export.
        export: String,
        /// Reason of the refusal, in words.
        reason: &'static str,
        /// Message of the server after `: `, or empty.
        message: String,
    },
}

impl ClientError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooOld(..) => Some("use a server that supports the fixed newstyle handshake"),
            _ => None,
        }
    }
}

/// Reason why a request is not valid for the export. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The export does not support the operation.
    #[error("export {export:?} does not support the operation {operation}")]
    Ability {
        /// Name of the export.
        export: String,
        /// Operation, in words.
        operation: &'static str,
    },
    /// The range does not fit the size and the blocks of the export.
    #[error(
        "{length} B at offset {offset} do not fit export {export:?}. It has {size} B in blocks of \
         {minimum} B and accepts at most {maximum} B in one request"
    )]
    Range {
        /// Name of the export.
        export: String,
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        length: u32,
        /// Size of the export in bytes.
        size: u64,
        /// Minimum block size in bytes.
        minimum: u32,
        /// Maximum size of a read or write in bytes.
        maximum: u32,
    },
}
