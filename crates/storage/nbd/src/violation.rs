/// Violation of a mandatory rule of the specification, or of a limit. The connection must be
/// closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A message begins with the wrong magic number.
    #[error("{what} begins with {seen:#x}, but must begin with {wanted:#x}")]
    Magic {
        /// Name of the message or field.
        what: &'static str,
        /// Number that was received.
        seen: u64,
        /// Number that was expected.
        wanted: u64,
    },
    /// The client set handshake flags that the server did not offer.
    #[error("client flags {0:#x} have bits that were not offered; offered is 0x3")]
    ClientFlags(u32),
    /// A client without the fixed handshake sent an option other than `EXPORT_NAME`.
    #[error("option {0} from a client that did not announce the fixed newstyle handshake")]
    NotFixed(u32),
    /// The client sent too many options.
    #[error("more than {0} options")]
    Options(u32),
    /// The data of an option is too long to be skipped.
    #[error("option {option} with {length} B; at most {max} B are skipped")]
    OptionLength {
        /// Number of the option.
        option: u32,
        /// Length in bytes.
        length: u32,
        /// Maximum length that is skipped, in bytes.
        max: u32,
    },
    /// An error in `EXPORT_NAME`, which cannot be answered with an error reply.
    #[error("the export is not available, and EXPORT_NAME has no error reply: {0}")]
    Export(&'static str),
    /// Unencrypted bytes follow the request for TLS. They may have been injected, so the connection
    /// is refused.
    #[error("{0} B of plaintext after STARTTLS, possibly injected by a man in the middle")]
    AfterTls(usize),
    /// The payload of a refused write is too long to be discarded.
    #[error("a write of {length} B; at most {max} B can be skipped")]
    Payload {
        /// Length in bytes.
        length: u32,
        /// Maximum payload that is discarded, in bytes.
        max: u32,
    },
    /// A reply of the server violates the protocol.
    #[error("{what}: found {seen}, expected {wanted}")]
    Reply {
        /// Name of the message or field.
        what: &'static str,
        /// Value received.
        seen: String,
        /// Value expected.
        wanted: String,
    },
}

impl Violation {
    pub(crate) fn reply(what: &'static str, seen: impl ToString, wanted: impl ToString) -> Self {
        Self::Reply { what, seen: seen.to_string(), wanted: wanted.to_string() }
    }

    /// Returns an error if `seen` differs from `wanted`.
    pub(crate) fn check(what: &'static str, seen: u64, wanted: u64) -> Result<(), Self> {
        if seen == wanted { Ok(()) } else { Err(Self::Magic { what, seen, wanted }) }
    }
}
