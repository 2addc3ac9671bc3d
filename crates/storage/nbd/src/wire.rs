//! Numbers of the protocol (the specification, "Values").

/// `NBDMAGIC`: the first number that every server sends.
pub(crate) const GREETING: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`: sent by a newstyle server, and before each option.
pub(crate) const OPTION: u64 = 0x4948_4156_454f_5054;
/// Magic number of the oldstyle handshake.
pub(crate) const OLDSTYLE: u64 = 0x0000_4202_8186_1253;
/// Magic number before each reply to an option.
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub(crate) const REQUEST: u32 = 0x2560_9513;
pub(crate) const SIMPLE_REPLY: u32 = 0x6744_6698;
pub(crate) const CHUNK: u32 = 0x668e_33ef;

/// Number of zeroes after the answer to `EXPORT_NAME`, unless both sides agreed to omit them.
pub(crate) const PADDING: usize = 124;
pub(crate) const OPTION_HEADER: usize = 16;
pub(crate) const OPTION_REPLY_HEADER: usize = 20;
pub(crate) const SIMPLE_REPLY_BYTES: usize = 16;
pub(crate) const CHUNK_HEADER: usize = 20;

/// Flags of the handshake.
pub(crate) mod handshake {
    pub(crate) const FIXED_NEWSTYLE: u16 = 1;
    pub(crate) const NO_ZEROES: u16 = 1 << 1;
}

pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const STARTTLS: u32 = 5;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
    pub(crate) const LIST_META_CONTEXT: u32 = 9;
    pub(crate) const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub(crate) mod reply {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    /// Bit that is set in every error reply.
    pub(crate) const ERROR: u32 = 1 << 31;
    pub(crate) const UNSUPPORTED: u32 = ERROR + 1;
    pub(crate) const POLICY: u32 = ERROR + 2;
    pub(crate) const INVALID: u32 = ERROR + 3;
    pub(crate) const PLATFORM: u32 = ERROR + 4;
    pub(crate) const TLS_REQUIRED: u32 = ERROR + 5;
    pub(crate) const UNKNOWN: u32 = ERROR + 6;
    pub(crate) const SHUTDOWN: u32 = ERROR + 7;
    pub(crate) const BLOCK_SIZE_REQUIRED: u32 = ERROR + 8;
    pub(crate) const TOO_BIG: u32 = ERROR + 9;
}

/// Types of information about an export.
pub(crate) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const DESCRIPTION: u16 = 2;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// Types of requests.
pub(crate) mod command {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const DISCONNECT: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const CACHE: u16 = 5;
    pub(crate) const WRITE_ZEROES: u16 = 6;
}

/// Flags of requests.
pub(crate) mod command_flag {
    pub(crate) const FUA: u16 = 1;
    pub(crate) const NO_HOLE: u16 = 1 << 1;
    pub(crate) const NO_FRAGMENT: u16 = 1 << 2;
    pub(crate) const FAST_ZERO: u16 = 1 << 4;
}

/// Flag of the last chunk of a reply.
pub(crate) const CHUNK_DONE: u16 = 1;

/// Types of chunks.
pub(crate) mod chunk {
    pub(crate) const NONE: u16 = 0;
    pub(crate) const DATA: u16 = 1;
    pub(crate) const HOLE: u16 = 2;
    /// Bit that is set in every error chunk.
    pub(crate) const ERROR_BIT: u16 = 1 << 15;
    pub(crate) const ERROR: u16 = ERROR_BIT + 1;
}
