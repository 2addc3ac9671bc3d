use crate::Violation;

/// Why a client has no disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server broke a rule.
    #[error("the NBD server broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// It speaks only what was given up long ago.
    #[error(
        "the NBD server speaks the {0}, which has no {1}\nhint: use a server that knows the fixed newstyle handshake"
    )]
    TooOld(&'static str, &'static str),
    /// It said no.
    #[error("the NBD server refuses {what} of export {export:?}: {reason}{message}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// Of which export.
        export: String,
        /// The kind of answer.
        reason: &'static str,
        /// What it says itself, after a colon.
        message: String,
    },
}

/// A request that this export does not take; nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It has no such operation.
    #[error("export {export:?} does not offer to {operation}")]
    Ability {
        /// Which export.
        export: String,
        /// What was asked.
        operation: &'static str,
    },
    /// The range.
    #[error(
        "{length} B from {offset} on do not fit export {export:?}, which has {size} B in blocks of \
         {minimum} B and takes at most {maximum} B at once"
    )]
    Range {
        /// Which export.
        export: String,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Bytes of the export.
        size: u64,
        /// Its smallest block.
        minimum: u32,
        /// Most bytes at once.
        maximum: u32,
    },
}
