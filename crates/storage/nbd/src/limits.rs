//! Limits on the other side's input.

/// Longest name of an export, and longest message, in bytes (the specification, "Conventions").
pub const STRING_MAX: usize = 4096;
/// Longest data of an option that is read, in bytes. It fits a name of the greatest length and
/// dozens of queries. Our choice.
pub const OPTION_MAX: usize = 16 << 10;
/// Longest data of an option that is skipped, in bytes. A longer option ends the connection. Our
/// choice.
pub const OPTION_SKIP_MAX: u32 = 1 << 20;
/// Most options of one connection; one more ends the connection. `nbdinfo --list` sends a few for
/// each export. Our choice.
pub const OPTIONS_MAX: u32 = 4096;
/// Longest reply to an option that a client reads, in bytes. Our choice.
pub const OPTION_REPLY_MAX: usize = 16 << 10;
/// Most replies to one option that a client reads. Our choice.
pub const OPTION_REPLIES_MAX: u32 = 1024;
/// Longest payload of a refused write that is read and thrown away, in bytes. The specification
/// ("Block size constraints") calls shorter lengths no attack. A longer payload ends the
/// connection.
pub const PAYLOAD_SKIP_MAX: u32 = 32 << 20;
/// Longest payload of an error chunk that a client reads, in bytes: a message and its frame.
pub const ERROR_CHUNK_MAX: usize = STRING_MAX + 64;
/// Most separate parts of one read that a client tracks. Our choice.
pub const PARTS_MAX: usize = 4096;
/// Buffer that a driver needs for a handshake, in bytes: one option, or one reply to an option.
pub const HANDSHAKE_BUFFER: usize = 20 + OPTION_MAX;
/// Output of a server's handshake, in bytes, after which the driver must send. The answer to one
/// option may exceed it. Our choice.
pub const HANDSHAKE_OUTPUT: usize = 64 << 10;
/// Buffer that a client's driver needs for replies without their data, in bytes.
pub const REPLY_BUFFER: usize = 20 + ERROR_CHUNK_MAX;
