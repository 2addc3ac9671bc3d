//! Limits on the input from the other side.

/// Maximum length of an export's name, and of a message, in bytes (the specification,
/// "Conventions").
pub const STRING_MAX: usize = 4096;
/// Maximum size of an option's data that is read, in bytes. It allows a name of the maximum length
/// and dozens of queries. Our choice.
pub const OPTION_MAX: usize = 16 << 10;
/// Maximum size of an option's data that is skipped, in bytes. A longer option ends the connection.
/// Our choice.
pub const OPTION_SKIP_MAX: u32 = 1 << 20;
/// Maximum number of options of one connection; one more ends the connection. `nbdinfo --list`
/// sends a few for each export. Our choice.
pub const OPTIONS_MAX: u32 = 4096;
/// Maximum size of a reply to an option that a client reads, in bytes. Our choice.
pub const OPTION_REPLY_MAX: usize = 16 << 10;
/// Maximum number of replies to one option that a client reads. Our choice.
pub const OPTION_REPLIES_MAX: u32 = 1024;
/// Maximum size of a refused write's payload that is read and discarded, in bytes. According to the
/// specification ("Block size constraints"), shorter lengths are not an attack. A longer payload
/// ends the connection.
pub const PAYLOAD_SKIP_MAX: u32 = 32 << 20;
/// Maximum size of an error chunk's payload that a client reads, in bytes: a message and its frame.
pub const ERROR_CHUNK_MAX: usize = STRING_MAX + 64;
/// Maximum number of separate parts of one read that a client tracks. Our choice.
pub const PARTS_MAX: usize = 4096;
/// Size of the buffer that a driver needs for a handshake, in bytes: one option, or one reply to an
/// option.
pub const HANDSHAKE_BUFFER: usize = 20 + OPTION_MAX;
/// Size of the output of a server's handshake, in bytes, at which the driver must send. The answer
/// to one option may exceed it. Our choice.
pub const HANDSHAKE_OUTPUT: usize = 64 << 10;
/// Size of the buffer that a client's driver needs for replies without their data, in bytes.
pub const REPLY_BUFFER: usize = 20 + ERROR_CHUNK_MAX;
