use crate::Violation;

/// Reason why a client gets no disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server broke a rule.
    #[error("the NBD server broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// The server speaks only an obsolete handshake.
    #[error("the NBD server speaks the {0}, which has no {1}")]
    TooOld(&'static str, &'static str),
    /// The server refused an option.
    #[error("the NBD server refuses {what} of export {export:?}: {reason}{message}")]
    Refused {
        /// Option or request, in words.
        what: &'static str,
        /// Name of the export.
        export: String,
        /// Kind of refusal, in words.
        reason: &'static str,
        /// The server's own message behind `: `, or empty.
        message: String,
    },
}

impl ClientError {
    /// Way out, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooOld(..) => Some("use a server that knows the fixed newstyle handshake"),
            _ => None,
        }
    }
}

/// Request that the export does not take. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The export does not offer the operation.
    #[error("export {export:?} does not offer to {operation}")]
    Ability {
        /// Name of the export.
        export: String,
        /// Option or request, in words.
        operation: &'static str,
    },
    /// The range does not fit the export.
    #[error(
        "{length} B from {offset} on do not fit export {export:?}. It has {size} B in blocks of \
         {minimum} B and takes at most {maximum} B at once"
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
        /// Minimum block in bytes.
        minimum: u32,
        /// Longest read or write in bytes.
        maximum: u32,
    },
}
