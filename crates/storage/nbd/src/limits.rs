//! How much of what the other side sends is listened to.

/// Longest name of an export, and longest message, in bytes (the specification, "Conventions").
pub const STRING_MAX: usize = 4096;
/// Longest data of an option that is read, in bytes: a name and as many queries as anyone has.
/// Our choice.
pub const OPTION_MAX: usize = 16 << 10;
/// Longest data of an option that is skipped, in bytes; more ends the connection. Our choice.
pub const OPTION_SKIP_MAX: u32 = 1 << 20;
/// Options of one connection; more end it. `nbdinfo --list` sends a few for each export. Our choice.
pub const OPTIONS_MAX: u32 = 4096;
/// Longest reply to an option that a client reads, in bytes. Our choice.
pub const OPTION_REPLY_MAX: usize = 16 << 10;
/// Replies to one option that a client reads. Our choice.
pub const OPTION_REPLIES_MAX: u32 = 1024;
/// Longest payload of a write that is read and thrown away because the request was refused, in bytes:
/// below this a length is no attack (the specification, "Block size constraints"). A longer one ends
/// the connection.
pub const PAYLOAD_SKIP_MAX: u32 = 32 << 20;
/// Longest payload of an error chunk that a client reads, in bytes: a message and its frame.
pub const ERROR_CHUNK_MAX: usize = STRING_MAX + 64;
/// Separate parts of one read that a client keeps account of. Our choice.
pub const PARTS_MAX: usize = 4096;
/// What a driver must be able to hold back of a handshake, in bytes: one option or reply to one.
pub const HANDSHAKE_BUFFER: usize = 20 + OPTION_MAX;
/// What a server writes of a handshake before it wants it sent, in bytes; the answer to one option may go
/// beyond. Our choice.
pub const HANDSHAKE_OUTPUT: usize = 64 << 10;
/// What a client's driver must be able to hold back of replies, in bytes, data aside.
pub const REPLY_BUFFER: usize = 20 + ERROR_CHUNK_MAX;
