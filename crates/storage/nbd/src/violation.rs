/// The other side broke a rule that the specification calls mandatory, or went beyond a limit: the
/// connection must be closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Something begins with other bytes than it must.
    #[error("{what} begins with {seen:#x}, and must with {wanted:#x}")]
    Magic {
        /// What.
        what: &'static str,
        /// The number there.
        seen: u64,
        /// The number that belongs there.
        wanted: u64,
    },
    /// Flags of a client that no server offered.
    #[error("client flags {0:#x} have bits that were not offered; the offered ones are 0x3")]
    ClientFlags(u32),
    /// A client without the fixed handshake knows one option only.
    #[error("option {0} of a client that has not said that it knows the fixed newstyle handshake")]
    NotFixed(u32),
    /// Options without end.
    #[error("more than {0} options")]
    Options(u32),
    /// An option that is too long to be skipped.
    #[error("option {option} with {length} B; at most {max} B are skipped")]
    OptionLength {
        /// Which.
        option: u32,
        /// Its length.
        length: u32,
        /// What is skipped.
        max: u32,
    },
    /// `EXPORT_NAME` has no way to answer with an error.
    #[error("the export cannot be had, and EXPORT_NAME has no answer that says so: {0}")]
    Export(&'static str),
    /// Bytes in the clear behind the demand for TLS.
    #[error("{0} B in the clear after STARTTLS, which somebody between the two may have put there")]
    AfterTls(usize),
    /// A payload that is too long to be thrown away.
    #[error("a write of {length} B; more than {max} B are not even thrown away")]
    Payload {
        /// Its length.
        length: u32,
        /// What is thrown away.
        max: u32,
    },
    /// A client's view: what the server said does not fit.
    #[error("{what}: {seen} seen, {wanted} wanted")]
    Reply {
        /// What.
        what: &'static str,
        /// What it was.
        seen: String,
        /// What it must be.
        wanted: String,
    },
}

impl Violation {
    pub(crate) fn reply(what: &'static str, seen: impl ToString, wanted: impl ToString) -> Self {
        Self::Reply { what, seen: seen.to_string(), wanted: wanted.to_string() }
    }

    /// An error unless the number is the one that belongs there.
    pub(crate) fn check(what: &'static str, seen: u64, wanted: u64) -> Result<(), Self> {
        if seen == wanted { Ok(()) } else { Err(Self::Magic { what, seen, wanted }) }
    }
}
